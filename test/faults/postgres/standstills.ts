import { preferredWorker } from '../../../src/core/dispatch/share.ts'
import { CLAIM_LASTS_MS, RENEW_EVERY_MS } from '../../../src/core/dispatch/worker-claim.ts'
import type { WorkerId } from '../../../src/core/ids.ts'
import type { LedgerInput } from '../../support/ledger/ledger-input.ts'
import type { LaneHistory } from './lane-watch.ts'

/** The moment at which a worker was killed, paused or cut off. */
export interface Loss {
  readonly at: number
  readonly worker: WorkerId
}

export interface Standstill {
  readonly connection: string
  /** From when something waited and nobody who could have moved the lane held it. */
  readonly from: number
  readonly to: number
  readonly ms: number
}

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
export function findStandstills(input: LedgerInput, history: LaneHistory, losses: readonly Loss[]): Standstill[] {
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

function movesOf({ messages, attempts = [] }: LedgerInput): Map<string, Move[]> {
  const acceptedAt = new Map(messages.map((message) => [message.id, message.acceptedAt]))
  const lanes = new Map<string, Move[]>()
  for (const { messageId, connection, startedAt, endedAt } of attempts) {
    const moves = lanes.get(connection) ?? []
    lanes.set(connection, moves)
    moves.push({ at: startedAt, possibleFrom: acceptedAt.get(messageId) ?? startedAt })
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
const BELIEVED_MS = CLAIM_LASTS_MS + RENEW_EVERY_MS
const LOOK_EVERY_MS = 500

/** Whether the lane was left to this worker by the others, although it was dead. */
function isHeir(
  connection: string,
  { at, worker }: Loss,
  { history, losses }: { readonly history: LaneHistory; readonly losses: readonly Loss[] },
): boolean {
  const id = history.of(connection)[0]?.connectionId
  if (id === undefined) return false
  const lostAt = new Map(losses.map((loss) => [loss.worker, loss.at]))
  for (let moment = at; moment <= at + BELIEVED_MS; moment += LOOK_EVERY_MS) {
    const believed = history.workers.filter(
      (other) => other.since <= moment && (lostAt.get(other.id) ?? Number.POSITIVE_INFINITY) + BELIEVED_MS > moment,
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
