import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export const SOCKET_VARIABLE = 'SKIPPED_TIME_SOCKET'
const PRELOAD = new URL('follow-orders.ts', import.meta.url).href

export type Order =
  /** Skip until this much time has been skipped since the process began. */
  | { readonly do: 'skip'; readonly toMs: number }
  /** Let real time go on. */
  | { readonly do: 'go-on' }
  | { readonly do: 'measure' }

/** The memory of one thread in bytes, after all that can be freed was freed. */
export interface Memory {
  /** Node's number of the thread; 0: the main thread. */
  readonly thread: number
  readonly heapUsed: number
  /** Memory outside of the heap that objects of the heap hold. */
  readonly external: number
}

/** The answers of all threads, the main thread's first. */
export type Answer = readonly (Memory | 'done')[]

/** The time of one process, which can skip in all its threads. A timer that comes due during a skip fires once after it. */
export class SkippedTime {
  readonly environment: Readonly<Record<string, string>>
  readonly #path: string
  #socket: Socket | null = null
  #answers: AsyncIterator<string> | null = null
  #skippedMs = 0

  /** `folder`: a folder of the test. */
  constructor(folder: string) {
    this.#path = join(folder, 'time')
    this.environment = { NODE_OPTIONS: `--import=${PRELOAD}`, [SOCKET_VARIABLE]: this.#path }
  }

  /** Call it once the process is ready. */
  async connect(): Promise<void> {
    this.#socket = createConnection(this.#path)
    await once(this.#socket, 'connect')
    this.#answers = createInterface({ input: this.#socket })[Symbol.asyncIterator]()
  }

  /** Resolves when each thread has fired its due timers, and has had a turn to run what follows. */
  async skip(ms: number): Promise<void> {
    this.#skippedMs += ms
    await this.#order({ do: 'skip', toMs: this.#skippedMs })
  }

  /** Ends the skips: timers then wait for the rest of their time. */
  async goOn(): Promise<void> {
    await this.#order({ do: 'go-on' })
  }

  async measure(): Promise<readonly Memory[]> {
    return (await this.#order({ do: 'measure' })) as readonly Memory[]
  }

  close(): void {
    this.#socket?.destroy()
  }

  async #order(order: Order): Promise<Answer> {
    this.#socket?.write(`${JSON.stringify(order)}\n`)
    const line = await this.#answers?.next()
    if (!line || line.done) throw new Error('The process whose time skips has ended')
    return JSON.parse(line.value) as Answer
  }
}
