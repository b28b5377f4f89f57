import { createHash } from 'node:crypto'
import type { ConnectionId, Instant } from '../../core/ids.ts'
import type { ChannelEvents } from '../../core/ports/channel.ts'
import type { ChannelState, MemoryEntry } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { byTurns, takeInTurns } from './by-turns.ts'
import { DueLoop, isFull, MOST_FOUND, QUERY_EVERY_MS } from './due-loop.ts'

/** One report about a message, as it waits to be applied. */
export interface ReportOf<Report> {
  readonly connectionId: ConnectionId
  readonly report: Report
  /** When it came from the network. */
  readonly receivedAt: Instant
}

interface ReportQueueParts<Report> {
  readonly memory: ChannelState
  readonly clock: Clock
  /** Applies one report. `later`: it is too early, so it is tried again. It is also tried again when this rejects. */
  readonly apply: (given: ReportOf<Report>, events: ChannelEvents) => Promise<'done' | 'later'>
  /** Null if this version cannot read it. Such a report must not stop those after it. */
  readonly read: (value: unknown) => Report | null
  /** Called with a report that was too early for so long that it is dropped. */
  readonly onGivenUp: (report: Report) => void
}

/** The kind of ChannelState in which they wait. */
const REPORT_KIND = 'callback'
// Storage commits all that comes in one turn together, and sending must not wait long for that commit.
const MOST_AT_ONCE = 100
// Networks report for days. What is too early for that long will never find its attempt ended.
const GIVE_UP_AFTER_MS = 7 * 24 * 3_600_000
// Most attempts end within this, and then there is nothing to wait for any more.
const SHORTEST_WAIT_MS = 200
// An attempt may stay open for as long as its lane stands still. Trying more often than this gains nothing.
const LONGEST_WAIT_MS = 60_000
// A first report often comes before the outcome of our own call is recorded, and would be too early then.
const LEFT_FOR_THE_CALL_MS = 50
// The most in one entry. A query reads up to 200 entries, so 200 full ones are 3 MB.
const MOST_CHARACTERS = 16_384

interface Stored {
  readonly reports: readonly unknown[]
  /** Which process takes it at once; null: any of them. */
  readonly taker: string | null
  readonly receivedAt: Instant
  /** How often it was tried before. */
  readonly tries: number
}

interface Entry<Report> {
  readonly position: number
  readonly connectionId: ConnectionId
  readonly stored: Stored
  readonly reports: readonly Report[]
}

/**
 * Reports about messages, durable from the moment they came in, whichever process applies them.
 *
 *   stored ──▶ offered to its message ──▶ applied, or about no message of ours ──▶ removed
 *                    │ too early: its attempt is still open
 *                    └──▶ stored anew for a later try
 *
 * - Connections take turns, each with its share of a query: an account that signs many reports must not hold up the others.
 * - Nothing waits behind what is too early: it goes to the back, with a time.
 * - A report is removed only once it is applied. A process that dies before leaves it to the others, and applying it twice is
 *   harmless: a report is known by its content.
 */
export class ReportQueue<Report> {
  readonly #parts: ReportQueueParts<Report>
  readonly #loop: DueLoop

  constructor(parts: ReportQueueParts<Report>) {
    this.#parts = parts
    this.#loop = new DueLoop(parts.clock, (events) => this.#applyDue(events))
  }

  start(events: ChannelEvents): void {
    this.#loop.start(events)
  }

  /** Resolves once nothing is being applied any more; what is left is found by others. Harmless twice or before start. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** Durable when it resolves; rejects with `StorageUnavailable`, and then some of it may be stored, which is harmless. */
  async store(connectionId: ConnectionId, reports: readonly Report[]): Promise<void> {
    const now = this.#parts.clock.now()
    await this.#store(connectionId, reports, { receivedAt: now, tries: 0, remindAt: now + LEFT_FOR_THE_CALL_MS })
    this.#loop.poke()
  }

  async #store(
    connectionId: ConnectionId,
    reports: readonly Report[],
    { remindAt, ...of }: Pick<Stored, 'receivedAt' | 'tries'> & { readonly remindAt: Instant },
  ): Promise<void> {
    const taker = this.#loop.taker()
    const additions = partsOf(reports).map((part) => {
      // A report that waits already is not stored twice: the key of an entry is a hash of its content.
      const key = createHash('sha256')
        .update(JSON.stringify([part, of.tries]))
        .digest('base64url')
      const stored: Stored = { ...of, reports: part, taker }
      return this.#parts.memory.add(REPORT_KIND, {
        connectionId,
        key,
        value: JSON.stringify(stored),
        at: remindAt,
        remindAt,
      })
    })
    await Promise.all(additions)
  }

  /** Returns after how many milliseconds there may be more. */
  async #applyDue(events: ChannelEvents): Promise<number> {
    const { memory, clock } = this.#parts
    const found = await memory.dueByTurns(REPORT_KIND, clock.now(), MOST_FOUND)
    const ours = found.flatMap((entry) => this.#readOurs(entry))
    const entries = takeInTurns(ours, ({ reports }) => reports.length)
    const all = byTurns(
      entries.flatMap((entry) =>
        entry.reports.map((report) => ({ ...entry, report, connectionId: entry.connectionId })),
      ),
    )
    let soonestMs = QUERY_EVERY_MS
    for (let from = 0; from < all.length; from += MOST_AT_ONCE) {
      const waits = await Promise.all(all.slice(from, from + MOST_AT_ONCE).map((one) => this.#apply(one, events)))
      soonestMs = Math.min(soonestMs, ...waits)
    }
    await Promise.all(entries.map(({ position }) => memory.remove(REPORT_KIND, position)))
    return entries.length < ours.length || isFull(found, entries) ? 0 : soonestMs
  }

  #readOurs({ position, connectionId, at, value }: MemoryEntry): readonly Entry<Report>[] {
    const stored = readStored(value)
    if (this.#loop.isLeftToOther(stored.taker, at)) return []
    const reports = stored.reports.flatMap((report) => this.#parts.read(report) ?? [])
    return [{ position, connectionId, stored, reports }]
  }

  /** Returns after how many milliseconds it is tried again; infinite when it is done. */
  async #apply(
    { connectionId, report, stored: { receivedAt, tries } }: Entry<Report> & { readonly report: Report },
    events: ChannelEvents,
  ): Promise<number> {
    const { clock, apply, onGivenUp } = this.#parts
    // What storage refuses is tried again too, and must not stop the others.
    const end = await apply({ connectionId, report, receivedAt }, events).catch(() => 'later' as const)
    if (end === 'done') return Number.POSITIVE_INFINITY
    const now = clock.now()
    if (now - receivedAt > GIVE_UP_AFTER_MS) {
      onGivenUp(report)
      return Number.POSITIVE_INFINITY
    }
    // Half as long as it has waited already: in time for what ends soon, and cheap for what does not.
    const waitMs = Math.round(Math.min(Math.max((now - receivedAt) / 2, SHORTEST_WAIT_MS), LONGEST_WAIT_MS))
    await this.#store(connectionId, [report], { receivedAt, tries: tries + 1, remindAt: now + waitMs })
    return waitMs
  }
}

function readStored(value: string): Stored {
  const none: Stored = { reports: [], taker: null, receivedAt: 0, tries: 0 }
  try {
    const stored = JSON.parse(value) as Stored
    return Array.isArray(stored.reports) ? stored : none
  } catch {
    return none
  }
}

/** In their order, each part not much larger than the limit. */
function partsOf<Report>(reports: readonly Report[]): readonly (readonly Report[])[] {
  const parts: Report[][] = []
  let characters = MOST_CHARACTERS
  for (const report of reports) {
    const { length } = JSON.stringify(report)
    if (characters + length > MOST_CHARACTERS) {
      parts.push([])
      characters = 0
    }
    parts.at(-1)?.push(report)
    characters += length
  }
  return parts
}
