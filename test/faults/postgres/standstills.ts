import assert from 'node:assert/strict'
import { LEASE_MS, RENEW_EVERY_MS } from '../../../src/core/dispatch/workers/lease.ts'
import type { WorkerId } from '../../../src/core/ids.ts'
import type { LedgerInput } from '../../support/ledger/ledger-input.ts'
import { preferredWorker } from '../../support/preferred-worker.ts'
import type { LaneHistory } from './lane-watch.ts'

/** A worker was killed, paused or cut off at this time. */
export interface Loss {
  readonly at: number
  /** When it was back; absent if it never was. */
  readonly until?: number
  readonly worker: WorkerId
}

interface Standstill {
  readonly connection: string
  /** From this time on a message waited, and no worker that could have moved the lane held it. */
  readonly from: number
  readonly to: number
  readonly ms: number
}

/** The data of a run that are checked. */
export interface Seen {
  readonly input: LedgerInput
  readonly history: LaneHistory
  readonly losses: readonly Loss[]
}

// Enough for the messages that one lane may have tried in vain.
const SHOWN_ATTEMPTS = 4

interface Move {
  readonly at: number
  /** Before this time there was nothing to move. */
  readonly possibleFrom: number
}

/**
 * How long lanes stood still although a message waited, longest first. An attempt that begins or ends moves its lane. The time
 * counts from the last loss of the holder, or of the worker that should have taken over: each of two successive losses has its
 * own time for recovery.
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

/** Fails, with the history of the lane, if one stood still for longer than this. Returns the longest time in milliseconds. */
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

/** The last attempts in the lane before it moved again, and the results of their messages. */
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
    // A fetch that a pause broke is tried again after 5 s, and may wait for hosts that do not answer. Meanwhile no holder can
    // move the lane.
    const possibleFrom = Math.max(acceptedAt.get(messageId) ?? startedAt, mediaEndedAt ?? 0)
    moves.push({ at: startedAt, possibleFrom: Math.min(possibleFrom, startedAt) })
    if (endedAt !== null) moves.push({ at: endedAt, possibleFrom: startedAt })
  }
  for (const moves of lanes.values()) moves.sort((a, b) => a.at - b.at)
  return lanes
}

// A claim that was under way when its worker was killed is committed a moment later.
const ON_ITS_WAY_MS = 1_000

function isHolder(history: LaneHistory, connection: string, { at, worker }: Loss): boolean {
  return [at, at + ON_ITS_WAY_MS].some((moment) => history.holderAt(connection, moment) === worker)
}

// For this long other workers may believe that it lives.
const BELIEVED_MS = LEASE_MS + RENEW_EVERY_MS
const CHECK_EVERY_MS = 500

/** Whether the other workers left the lane to this worker although it was dead. */
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
