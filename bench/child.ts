import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The calls that a process of the bench answers, by name. */
export type Calls = Readonly<Record<string, (input: never) => unknown>>

type Input<Call> = Call extends (input: infer Given) => unknown ? Given : never
type Answer<Call> = Call extends (input: never) => infer Result ? Awaited<Result> : never

interface Question {
  readonly id: number
  readonly name: string
  readonly input: unknown
}

interface Reply {
  readonly id: number
  readonly answer?: unknown
  readonly error?: string
}

interface Waiting {
  readonly resolve: (answer: never) => void
  readonly reject: (error: Error) => void
}

const ENDS_WITHIN_MS = 30_000

/** Answers the calls of the process that forked this one, and exits when that process ends. */
export function answerParent(calls: Calls): void {
  process.on('message', ({ id, name, input }: Question) => {
    const call = calls[name] as ((input: unknown) => unknown) | undefined
    Promise.resolve()
      .then(() => call?.(input))
      .then(
        (answer) => process.send?.({ id, answer } satisfies Reply),
        (error: unknown) => process.send?.({ id, error: error instanceof Error ? (error.stack ?? '') : String(error) }),
      )
  })
  // When the bench ends in any way, its processes end too.
  process.on('disconnect', () => process.exit(1))
}

/** A process of the bench that can be called. */
export class Child<Known extends Calls> {
  readonly #process: ChildProcess
  readonly #waiting = new Map<number, Waiting>()
  readonly #ended: Promise<void>
  #asked = 0

  /** `file` is beside this one; `flags` are Node's. */
  constructor(
    file: string,
    { flags = [], environment = {} }: { flags?: readonly string[]; environment?: object } = {},
  ) {
    this.#process = fork(fileURLToPath(new URL(file, import.meta.url)), {
      execArgv: [...flags],
      // Settings in the environment of the bench must not change what is measured.
      env: { PATH: process.env['PATH'], ...environment },
    })
    this.#process.on('message', (reply: Reply) => {
      const waiting = this.#waiting.get(reply.id)
      this.#waiting.delete(reply.id)
      if (reply.error === undefined) waiting?.resolve(reply.answer as never)
      else waiting?.reject(new Error(`${file}: ${reply.error}`))
    })
    this.#ended = new Promise((resolve) => {
      this.#process.once('exit', (code, signal) => {
        for (const waiting of this.#waiting.values())
          waiting.reject(new Error(`${file} ended: ${signal ?? String(code)}`))
        this.#waiting.clear()
        resolve()
      })
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  ask<Name extends keyof Known & string>(name: Name, input: Input<Known[Name]>): Promise<Answer<Known[Name]>> {
    this.#asked += 1
    const id = this.#asked
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#process.send({ id, name, input } satisfies Question)
    })
  }

  /** Stopping twice is harmless. */
  async stop(): Promise<void> {
    this.#process.kill('SIGTERM')
    const force = setTimeout(() => this.#process.kill('SIGKILL'), ENDS_WITHIN_MS)
    await this.#ended
    clearTimeout(force)
  }
}
