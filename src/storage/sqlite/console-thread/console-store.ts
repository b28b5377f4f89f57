import { getCompileCacheDir } from 'node:module'
import { dirname, extname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { commandPrefix } from '../../../core/command-line.ts'
import { CONSOLE_AREAS, type ConsoleArea } from '../../../core/ports/console/console-areas.ts'
import type { ConsoleStore } from '../../../core/ports/console/console-store.ts'
import type { StorageError } from '../../../core/ports/lanes.ts'
import { type FromThread, type ToThread, unpackError, withBuffers } from './console-messages.ts'

interface ConsoleThreadOptions {
  readonly path: string
  /** Why the service itself cannot write at present. */
  readonly findError: () => StorageError | null
  /** An error in the background or of the thread itself. The work continues. */
  readonly onError: (error: unknown) => void
  /** Five minutes when left out; for tests. */
  readonly endsAfterIdleMs?: number
}

// The thread takes some 40 MB, which is wasted while no browser has the console open.
const ENDS_AFTER_IDLE_MS = 5 * 60_000

interface OpenCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/**
 * The console's store in a thread of its own.
 *
 *            first call         thread died, or five minutes without a call
 *   IDLE ───────────────▶ RUNNING ───────────────▶ IDLE
 *                            │ close
 *                            ▼
 *                          CLOSED
 *
 * - Calls that are open when the thread dies are rejected: it is unknown whether a change was made, as after a crash.
 * - Each call finds a thread: the next one after a death starts another.
 */
export class ConsoleThread {
  readonly store: ConsoleStore
  readonly #options: ConsoleThreadOptions
  readonly #open = new Map<number, OpenCall>()
  #worker: Worker | null = null
  #ended: Promise<unknown> = Promise.resolve()
  #idle: NodeJS.Timeout | null = null
  #lastCall = 0
  #isClosed = false

  constructor(options: ConsoleThreadOptions) {
    this.#options = options
    const areas = CONSOLE_AREAS.map((area) => [area, this.#proxyOf(area)] as const)
    this.store = Object.fromEntries(areas) as unknown as ConsoleStore
  }

  /** How many calls have not been answered yet. */
  openQueries(): number {
    return this.#open.size
  }

  /** Does nothing: the background jobs of the thread run while the console is in use, and for a while after. */
  start(): void {}

  rest(): void {
    if (this.#idle) clearTimeout(this.#idle)
    if (this.#open.size > 0) {
      this.#watchIdle()
      return
    }
    this.#letGo()
    this.#worker = null
  }

  /** Resolves when open calls have been answered and the database is closed. May be called twice. */
  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#idle) clearTimeout(this.#idle)
    this.#letGo()
    await this.#ended
  }

  /** Ends the thread as a crash would; for tests. */
  async kill(): Promise<void> {
    this.#worker?.ref()
    await this.#worker?.terminate()
  }

  #letGo(): void {
    // The caller waits for its end, and without this an idle process would exit first.
    this.#worker?.ref()
    this.#post({ kind: 'close' })
  }

  #proxyOf(area: ConsoleArea): object {
    return new Proxy(
      {},
      {
        get: (_, verb) => {
          // Otherwise `await` would take the area itself for a promise.
          if (typeof verb !== 'string' || verb === 'then') return undefined
          return (...args: readonly unknown[]) => this.#call(area, verb, args)
        },
      },
    )
  }

  #call(area: ConsoleArea, verb: string, args: readonly unknown[]): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error('The console has been closed'))
    this.#worker ??= this.#startWorker()
    this.#watchIdle()
    const call = ++this.#lastCall
    return new Promise((resolve, reject) => {
      this.#open.set(call, { resolve, reject })
      this.#worker?.ref()
      try {
        this.#post({ kind: 'call', call, area, verb, args, error: this.#options.findError() })
      } catch (error) {
        // Values that cannot be cloned cannot be sent.
        this.#open.delete(call)
        throw error
      }
    })
  }

  #watchIdle(): void {
    if (this.#idle) clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.rest(), this.#options.endsAfterIdleMs ?? ENDS_AFTER_IDLE_MS).unref()
  }

  #post(message: ToThread): void {
    this.#worker?.postMessage(message)
  }

  #startWorker(): Worker {
    // Node keeps it in a folder of the one that it was given.
    const compiled = getCompileCacheDir()
    // Beside this file, in the sources and in a build.
    const worker = new Worker(new URL(`./console-thread-main${extname(import.meta.url)}`, import.meta.url), {
      workerData: {
        path: this.#options.path,
        compileCache: compiled === undefined ? null : dirname(compiled),
        commandPrefix: commandPrefix(),
      },
      name: 'console',
      // A query that needs more than this ends the thread, and not the process that accepts.
      resourceLimits: { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 256 },
    })
    const ended = Promise.withResolvers<void>()
    this.#ended = Promise.all([this.#ended, ended.promise])
    let cause: Error | null = null
    worker.on('message', (message: FromThread) => {
      if (message.kind === 'thrown' && message.call === null) cause = unpackError(message.thrown)
      else this.#receive(message)
    })
    worker.on('error', (error: Error) => {
      cause = error
    })
    worker.on('exit', () => {
      ended.resolve()
      // No call was open when the thread was released, and another thread may run by now.
      if (this.#worker !== worker) return
      this.#worker = null
      this.#rejectOpen(cause)
    })
    // While no call is open, the thread does not keep the process alive.
    worker.unref()
    return worker
  }

  #receive(message: FromThread): void {
    if (message.kind === 'error') {
      this.#options.onError(unpackError(message.thrown))
      return
    }
    const open = this.#open.get(message.call ?? 0)
    this.#open.delete(message.call ?? 0)
    if (this.#open.size === 0 && !this.#isClosed) this.#worker?.unref()
    if (message.kind === 'value') open?.resolve(withBuffers(message.value))
    else open?.reject(unpackError(message.thrown))
  }

  #rejectOpen(cause: Error | null): void {
    const reason = cause ?? new Error('The thread of the console has ended before it answered')
    if (cause || this.#open.size > 0) this.#options.onError(reason)
    const open = [...this.#open.values()]
    this.#open.clear()
    for (const { reject } of open) reject(reason)
  }
}
