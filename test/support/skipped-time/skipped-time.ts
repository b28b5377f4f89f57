import { once } from 'node:events'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

export const SOCKET_VARIABLE = 'SKIPPED_TIME_SOCKET'
const PRELOAD = new URL('follow-orders.ts', import.meta.url).href

export type Order =
  /** How much has been skipped since the process began, once it is done. */
  | { readonly do: 'skip'; readonly toMs: number }
  /** Time goes on by itself. */
  | { readonly do: 'go-on' }
  | { readonly do: 'measure' }

/** Of one thread once all was freed that can be, in bytes. */
export interface Memory {
  /** Node's number of it; 0: the main one. */
  readonly thread: number
  readonly heapUsed: number
  /** Outside of the heap, but held by its objects. */
  readonly external: number
}

/** Of each thread, the main one first. */
export type Answer = readonly (Memory | 'done')[]

/** The time of one process, which can be made to skip in all its threads. What becomes due meanwhile is called once, skip by skip. */
export class SkippedTime {
  readonly environment: Readonly<Record<string, string>>
  readonly #path: string
  #socket: Socket | null = null
  #answers: AsyncIterator<string> | null = null
  #skippedMs = 0

  /** `folder`: of the test's own. */
  constructor(folder: string) {
    this.#path = join(folder, 'time')
    this.environment = { NODE_OPTIONS: `--import=${PRELOAD}`, [SOCKET_VARIABLE]: this.#path }
  }

  /** Once the process is ready. */
  async connect(): Promise<void> {
    this.#socket = createConnection(this.#path)
    await once(this.#socket, 'connect')
    this.#answers = createInterface({ input: this.#socket })[Symbol.asyncIterator]()
  }

  /** Resolves when each thread has called what became due, and has had a turn to write what follows. */
  async skip(ms: number): Promise<void> {
    this.#skippedMs += ms
    await this.#order({ do: 'skip', toMs: this.#skippedMs })
  }

  /** After skips: timers wait for what is left of their time. */
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
