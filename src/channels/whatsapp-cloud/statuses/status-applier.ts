import type { ConnectionId, Instant, MessageId } from '../../../core/ids.ts'
import type { ChannelEvents, Evidence } from '../../../core/ports/channel.ts'
import type { ChannelConnections } from '../../../core/ports/channel-connections.ts'
import type { ChannelState, MemoryEntry } from '../../../core/ports/channel-state.ts'
import type { Clock } from '../../../core/ports/clock.ts'
import type { CallbackEvent } from '../../../core/ports/journal.ts'
import { byTurns, takeInTurns } from '../../receipts/by-turns.ts'
import { DueLoop, isFull, MOST_FOUND, QUERY_EVERY_MS } from '../../receipts/due-loop.ts'
import { Echoes } from '../../receipts/echoes.ts'
import { WHATSAPP_CLOUD } from '../name.ts'
import { applyStatus } from './apply-status.ts'
import type { NumberNews, WindowNews } from './connection-news.ts'
import { Repeats } from './repeats.ts'
import { costOf } from './report-cost.ts'
import { REPORT_KIND, readStoredReports, type StoredReports } from './reported.ts'
import { type Postponed, storePostponed } from './store-postponed.ts'

interface StatusApplierParts {
  readonly memory: ChannelState
  readonly connections: ChannelConnections
  readonly windows: WindowNews
  readonly numbers: NumberNews
  readonly clock: Clock
  readonly note: (event: CallbackEvent) => void
}

// Storage commits all that comes in one turn together, and sending must not wait long for that commit.
const MOST_AT_ONCE = 100
// As long as Meta itself would go on.
const GIVE_UP_AFTER_MS = 7 * 24 * 3_600_000

const NOTHING: StoredReports = {
  statuses: [],
  writers: [],
  numbers: [],
  others: [],
  taker: null,
  receivedAt: 0,
  tries: 0,
}

interface Entry {
  readonly position: number
  readonly connectionId: ConnectionId
  readonly stored: StoredReports
}

/**
 * Applies what the receivers have stored, of this process and of others.
 *
 *   stored ──▶ offered to its message ──▶ applied, or about no message of ours ──▶ removed
 *                    │ too early: its attempt is still open
 *                    └──▶ stored anew for a later try, and the attempt's echo kept
 *
 * - Connections take turns, each with its share of a query: an account that signs many reports must not hold up the others.
 * - Nothing waits behind what is too early: it goes to the back, with a time.
 * - A report is removed only once all of it is applied. A process that dies before leaves it to the others, and applying it
 *   twice is harmless: a report is known by its content.
 */
export class StatusApplier {
  readonly #parts: StatusApplierParts
  readonly #echoes: Echoes
  readonly #repeats: Repeats
  readonly #loop: DueLoop

  constructor(parts: StatusApplierParts) {
    this.#parts = parts
    this.#echoes = new Echoes(parts.memory)
    this.#repeats = new Repeats(parts.memory)
    this.#loop = new DueLoop(parts.clock, (events) => this.#applyDue(events))
  }

  start(events: ChannelEvents): void {
    this.#loop.start(events)
  }

  /** Resolves once nothing is being applied any more; what is left is found by others. Harmless twice or before start. */
  stop(): Promise<void> {
    return this.#loop.stop()
  }

  /** What others leave to this process for a while; null while it applies nothing. */
  taker(): string | null {
    return this.#loop.taker()
  }

  /** Something was stored in this process. Cheap, and harmless before start. */
  poke(): void {
    this.#loop.poke()
  }

  /** Whether a callback has shown that Meta took this attempt. Never throws. */
  async findEcho(open: Parameters<Echoes['find']>[0]): Promise<Evidence> {
    // Storage logs by itself that it is away. It is asked again.
    return this.#echoes.find(open).catch(() => ({ kind: 'nothing-yet' }) as const)
  }

  /** Returns after how many milliseconds there may be more. */
  async #applyDue(events: ChannelEvents): Promise<number> {
    const { memory, clock } = this.#parts
    const found = await memory.dueByTurns(REPORT_KIND, clock.now(), MOST_FOUND)
    const ours = found.flatMap((entry) => this.#readOurs(entry))
    const entries = takeInTurns(ours, ({ stored }) => costOf(stored))
    // First the recipients who have written to us, which opens their windows; then the refusals that came after.
    await this.#applyOthers(entries)
    const again = await this.#applyStatuses(events, entries)
    const soonestMs = await storePostponed(memory, again, { taker: this.#loop.taker(), now: clock.now() })
    await Promise.all(entries.map(({ position }) => memory.remove(REPORT_KIND, position)))
    if (entries.length < ours.length || isFull(found, entries)) return 0
    return Math.min(soonestMs, QUERY_EVERY_MS)
  }

  #readOurs({ position, connectionId, at, value }: MemoryEntry): readonly Entry[] {
    const stored = readStoredReports(value)
    if (!stored) {
      this.#parts.note({ event: 'callback.ignored', channel: WHATSAPP_CLOUD, reason: 'entry_unreadable', count: 1 })
      return [{ position, connectionId, stored: NOTHING }]
    }
    return this.#loop.isLeftToOther(stored.taker, at) ? [] : [{ position, connectionId, stored }]
  }

  /** Returns what is to be tried again. */
  async #applyStatuses(events: ChannelEvents, entries: readonly Entry[]): Promise<readonly Postponed[]> {
    const all = byTurns(
      entries.flatMap(({ connectionId, stored }) =>
        stored.statuses.map((status): Postponed => ({ ...stored, connectionId, status })),
      ),
    )
    const visited = new Set<MessageId>()
    const again: Postponed[] = []
    for (let from = 0; from < all.length; from += MOST_AT_ONCE) {
      const some = all.slice(from, from + MOST_AT_ONCE)
      const areDone = await Promise.all(some.map((status) => this.#applyStatus(events, status, visited)))
      again.push(...some.filter((_, i) => !areDone[i]))
    }
    return again
  }

  /** False when it is to be tried again. */
  async #applyStatus(events: ChannelEvents, given: Postponed, visited: Set<MessageId>): Promise<boolean> {
    const { connections, windows, clock } = this.#parts
    const now = clock.now()
    const parts = { events, connections, windows, echoes: this.#echoes, repeats: this.#repeats, visited }
    // What storage refuses is tried again too, and must not stop the others.
    const end = await applyStatus(parts, given, now).catch(() => 'too-early' as const)
    const isGivenUp = now - given.receivedAt > GIVE_UP_AFTER_MS
    if (end === 'too-early' && !isGivenUp) return false
    const { kind } = given.status
    this.#parts.note({
      event: 'callback.applied',
      channel: WHATSAPP_CLOUD,
      kind,
      end: end === 'too-early' ? 'given-up' : end,
    })
    return true
  }

  /** Reports about recipients and numbers: in order for each connection, and all connections side by side. */
  async #applyOthers(entries: readonly Entry[]): Promise<void> {
    const groups = Map.groupBy(entries, ({ connectionId }) => connectionId)
    await Promise.all(
      [...groups.values()].map(async (group) => {
        for (const entry of group) await this.#applyOthersOf(entry)
      }),
    )
  }

  async #applyOthersOf({ connectionId, stored }: Entry): Promise<void> {
    const { windows, numbers } = this.#parts
    const { writers, numbers: changes, receivedAt } = stored
    // A time that lies ahead would count as newer than later reports.
    const timeOf = (at: Instant | null) => Math.min(at ?? receivedAt, receivedAt)
    await windows.reopenAll(
      connectionId,
      writers.map(({ from, at }) => ({ recipient: from, at: timeOf(at) })),
    )
    for (const change of changes) await numbers.record(connectionId, { ...change, at: timeOf(change.at) })
  }
}
