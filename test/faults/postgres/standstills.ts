import assert from 'node:assert/strict'
import { LEASE_MS, RENEW_EVERY_MS } from '../../../src/core/dispatch/workers/lease.ts'
import type { WorkerId } from '../../../src/core/ids.ts'
import type { LedgerInput } from '../../support/ledger/ledger-input.ts'
import { preferredWorker } from '../../support/preferred-worker.ts'
import type { LaneHistory } from './lane-watch.ts'

/** The moment at which a worker was killed, paused or cut off. */
export interface Loss {
  readonly at: number
  /** When it was back; absent when it never was. */
  readonly until?: number
  readonly worker: WorkerId
}

interface Standstill {
  readonly connection: string
  /** From when something waited and no worker that could have moved the lane held it. */
  readonly from: number
  readonly to: number
  readonly ms: number
}

/** What a run has left to be checked. */
export interface Seen {
  readonly input: LedgerInput
  readonly history: LaneHistory
  readonly losses: readonly Loss[]
}

// Enough for those that one lane may have tried in vain.
const SHOWN_ATTEMPTS = 4

interface Move {
  readonly at: number
  /** Before it there was nothing to move. */
  readonly possibleFrom: number
}

/**
 * How long lanes stood still although something waited in them, longest first. An attempt that begins or ends moves its
 * lane. Counted from the last time that its holder was lost, or the one who should have taken it over: two losses one
 * after the other have each its own time to be made good.
 */
export function findStandstills({ input, history, losses }: Seen): Standstill[] {
  return [...movesOf(input)]
    .flatMap(([connection, moves]) =>
      moves.map(({ at, possibleFrom }, index) => {
        const begins = Math.max(moves[index - 1]?.at ?? 0, possibleFrom)
        const between = losses.filter((loss) => loss.at > begins && loss.at < at)
        const own = between.filter(
          (loss) => isHolder(history, connection, loss) || isHeir(connection, loss, { history, losses }),
        )
        const from = Math.max(begins, ...own.map((loss) => loss.at))
        return { connection, from, to: at, ms: Math.max(0, at - from) }
      }),
    )
    .toSorted((a, b) => b.ms - a.ms)
}

/** Fails with what happened to the lane when one stood still for longer than this. Returns the longest, in milliseconds. */
export function assertNoStandstill(mostMs: number, seen: Seen): number {
  const [longest] = findStandstills(seen)
  if (!longest) return 0
  assert.ok(longest.ms <= mostMs, `A lane stood still for ${longest.ms} ms:\n${describe(longest, seen)}`)
  return longest.ms
}

function describe(standstill: Standstill, { input, history, losses }: Seen): string {
  const { connection, from, to } = standstill
  const isNear = (at: number) => at > from - BELIEVED_MS && at < to + CHECK_EVERY_MS
  const changes = history.of(connection).map(({ at, owner }) => ({ at, what: `held by ${owner ?? 'no worker'}` }))
  const lost = losses.flatMap(({ at, until, worker }) => [
    { at, what: `lost ${worker}` },
    ...(until === undefined ? [] : [{ at: until, what: `back ${worker}` }]),
  ])
  const came = history.workers.map(({ since, id }) => ({ at: since, what: `new ${id}` }))
  const entries = [...changes, ...lost, ...came, { at: from, what: 'STANDS STILL' }, { at: to, what: 'MOVES' }]
  return [...entries.filter(({ at }) => isNear(at)), ...printAttempts(standstill, input)]
    .toSorted((a, b) => a.at - b.at)
    .map(({ at, what }) => `  ${at - from} ms: ${what}`)
    .join('\n')
}

/** The last attempts that touched the lane before it moved again, and what became of their messages. */
function printAttempts({ connection, to }: Standstill, { messages, attempts = [] }: LedgerInput) {
  const own = attempts.filter((attempt) => attempt.connection === connection && attempt.startedAt <= to)
  return own.slice(-SHOWN_ATTEMPTS).flatMap(({ messageId, number, startedAt, endedAt, outcome }) => {
    const message = messages.find(({ id }) => id === messageId)
    const which = `attempt ${number} of the message to ${message?.to}, ${message?.state} ${message?.reason ?? ''}`
    return [
      { at: message?.acceptedAt ?? startedAt, what: `accepted: ${messageId}` },
      { at: startedAt, what: `began: ${which} (${messageId})` },
      { at: endedAt ?? to, what: `ended: ${outcome ?? 'not yet'} (${messageId})` },
    ]
  })
}

function movesOf({ messages, attempts = [] }: LedgerInput): Map<string, Move[]> {
  const acceptedAt = new Map(messages.map((message) => [message.id, message.acceptedAt]))
  const lanes = new Map<string, Move[]>()
  for (const { messageId, connection, startedAt, endedAt, mediaEndedAt } of attempts) {
    const moves = lanes.get(connection) ?? []
    lanes.set(connection, moves)
    // A fetch that a pause broke is tried again after 5 s, and may wait for hosts that do not answer: no holder moves a
    // lane meanwhile.
    const possibleFrom = Math.max(acceptedAt.get(messageId) ?? startedAt, mediaEndedAt ?? 0)
    moves.push({ at: startedAt, possibleFrom: Math.min(possibleFrom, startedAt) })
    if (endedAt !== null) moves.push({ at: endedAt, possibleFrom: startedAt })
  }
  for (const moves of lanes.values()) moves.sort((a, b) => a.at - b.at)
  return lanes
}

// A claim that was on its way when its worker was killed is committed a moment later.
const ON_ITS_WAY_MS = 1_000

function isHolder(history: LaneHistory, connection: string, { at, worker }: Loss): boolean {
  return [at, at + ON_ITS_WAY_MS].some((moment) => history.holderAt(connection, moment) === worker)
}

// As long as others may believe that it lives.
const BELIEVED_MS = LEASE_MS + RENEW_EVERY_MS
const CHECK_EVERY_MS = 500

/** Whether the lane was left to this worker by the others, although it was dead. */
function isHeir(
  connection: string,
  { at, worker }: Loss,
  { history, losses }: { readonly history: LaneHistory; readonly losses: readonly Loss[] },
): boolean {
  const id = history.of(connection)[0]?.connectionId
  if (id === undefined) return false
  for (let moment = at; moment <= at + BELIEVED_MS; moment += CHECK_EVERY_MS) {
    const believed = history.workers.filter(
      (other) => other.since <= moment && !losses.some((loss) => loss.worker === other.id && isForgotten(loss, moment)),
    )
    if (
      preferredWorker(
        id,
        believed.map((other) => other.id),
      ) === worker
    )
      return true
  }
  return false
}

function isForgotten({ at, until = Number.POSITIVE_INFINITY }: Loss, moment: number): boolean {
  return moment >= at + BELIEVED_MS && moment < until
}
