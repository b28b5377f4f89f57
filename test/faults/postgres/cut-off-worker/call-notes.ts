import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Names the file in which a worker records its calls, for `note-calls.ts`. */
export const CALLS_VARIABLE = 'FAULT_CALLS'

const PRELOAD = new URL('note-calls.ts', import.meta.url).href

interface NotedCall {
  /** By the wall clock. */
  readonly at: number
  /** The sender number. */
  readonly connection: string
}

/** The calls of the channel that one worker has begun. */
export class CallNotes {
  readonly #file: string

  constructor(folder: string, worker: number) {
    this.#file = join(folder, `calls-${worker}`)
  }

  /** The environment that makes the worker record them. */
  get environment(): Readonly<Record<string, string>> {
    return { NODE_OPTIONS: `--import=${PRELOAD}`, [CALLS_VARIABLE]: this.#file }
  }

  /** Empty before the first call. */
  read(): NotedCall[] {
    if (!existsSync(this.#file)) return []
    const lines = readFileSync(this.#file, 'utf8').trim().split('\n')
    return lines.map((line) => {
      const [at = '', connection = ''] = line.split(' ')
      return { at: Number(at), connection }
    })
  }
}
