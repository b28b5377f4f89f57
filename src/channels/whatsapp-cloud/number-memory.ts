import type { ConnectionId, Instant } from '../../core/ids.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { NumberNews, NumberReport } from './statuses/connection-news.ts'

const KIND = 'number'
/** One for each fact, and one that is just being replaced. */
const MOST_ENTRIES = 20
/** What Meta's throughput upgrade comes to (its page “Throughput”). */
const HIGH_THROUGHPUT = 1_000
// How much later than this process another one may know what a callback has reported.
const READ_AGAIN_AFTER_MS = 30_000

/** What Meta has reported about a number by callback since the connection was verified. Null: nothing. */
export interface NumberFacts {
  /** Recipients block or report the number: it is sent from more slowly. */
  readonly isFlagged: boolean
  /** Messages a second. */
  readonly throughputPerSecond: number | null
  /** How many people may be written to first in 24 hours, as Meta words it, such as TIER_1K. */
  readonly messagingLimit: string | null
  /** What happened to the business account last, as Meta words it, such as ACCOUNT_RESTRICTION. */
  readonly accountEvent: string | null
}

const NOTHING_REPORTED: NumberFacts = {
  isFlagged: false,
  throughputPerSecond: null,
  messagingLimit: null,
  accountEvent: null,
}

interface Known {
  readonly facts: NumberFacts
  readonly readMonotonic: number
}

/** Changes that Meta reports of numbers. In storage, because the process that hears of one need not be the one that sends. */
export class NumberMemory implements NumberNews {
  readonly #memory: ChannelState
  readonly #clock: Clock
  readonly #known = new Map<ConnectionId, Known>()
  readonly #reading = new Set<ConnectionId>()

  constructor(memory: ChannelState, clock: Clock) {
    this.#memory = memory
    this.#clock = clock
  }

  async read(connectionId: ConnectionId): Promise<NumberFacts> {
    const read = await readNumberFacts(this.#memory, connectionId, null)
    this.#known.set(connectionId, { facts: read, readMonotonic: this.#clock.monotonic() })
    return read
  }

  /** What this process knows, without waiting. If that is old, it is read again in the background. */
  peek(connectionId: ConnectionId): NumberFacts {
    const known = this.#known.get(connectionId)
    if (!known || this.#clock.monotonic() - known.readMonotonic >= READ_AGAIN_AFTER_MS) this.#readBehind(connectionId)
    return known?.facts ?? NOTHING_REPORTED
  }

  /** Durable when it resolves. An older report does not undo a newer one, so repeats and wrong order are harmless. */
  async record(connectionId: ConnectionId, report: NumberReport): Promise<void> {
    const { at } = report
    for (const [key, value] of Object.entries(changedBy(report))) {
      const entry = { connectionId, key, value: JSON.stringify(value), at }
      if (await this.#memory.add(KIND, entry)) continue
      const before = await this.#memory.find(KIND, connectionId, key)
      if (before && before.at >= at) continue
      if (before) await this.#memory.remove(KIND, before.position)
      await this.#memory.add(KIND, entry)
    }
    this.#known.delete(connectionId)
  }

  #readBehind(connectionId: ConnectionId): void {
    if (this.#reading.has(connectionId)) return
    this.#reading.add(connectionId)
    this.read(connectionId)
      // Storage logs by itself that it is away.
      .catch(() => {})
      .finally(() => this.#reading.delete(connectionId))
  }
}

/** What was reported after this moment; null: ever. */
export async function readNumberFacts(
  memory: Pick<ChannelState, 'list'>,
  connectionId: ConnectionId,
  after: Instant | null,
): Promise<NumberFacts> {
  const facts: Record<string, unknown> = { ...NOTHING_REPORTED }
  const entries = await memory.list(KIND, { connectionId, after: 0, limit: MOST_ENTRIES })
  for (const { key, value, at } of entries)
    if (Object.hasOwn(NOTHING_REPORTED, key) && (after === null || at > after)) facts[key] = JSON.parse(value)
  return facts as unknown as NumberFacts
}

function changedBy({ quality, throughput, messagingLimit, account }: NumberReport): Partial<NumberFacts> {
  return {
    ...(quality && { isFlagged: quality === 'FLAGGED' }),
    ...(throughput && { throughputPerSecond: HIGH_THROUGHPUT }),
    ...(messagingLimit !== undefined && { messagingLimit }),
    ...(account !== undefined && { accountEvent: account }),
  }
}
