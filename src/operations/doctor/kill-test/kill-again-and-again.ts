import { setTimeout as pause } from 'node:timers/promises'
import { type AdministrationSession, openAdministration } from '../../../server/wiring/open-administration.ts'
import type { Examination } from '../examination.ts'
import { Callers } from './callers.ts'
import { type Arrival, checkLedger, type LedgerResult } from './check-ledger.ts'
import type { ServiceChild } from './service-child.ts'
import type { TestPlace } from './test-place.ts'

// New ones each round: on PostgreSQL a lane that its killed worker held stands still for some seconds, and in each round
// something is to be on its way when the kill comes.
export const LANES_PER_ROUND = 4
const LEAST_UPTIME_MS = 300
const MOST_UPTIME_MS = 2_200
// Some kills come while it starts, when it takes up what the kill before has left.
const SHARE_WHILE_STARTING = 0.25
const STARTING_MS = 600
const DRAINED_WITHIN_MS = 120_000
const CHECK_EVERY_MS = 200
const LEAST_ANSWERED = 20
const ANSWERED_WITHIN_MS = 20_000
const AGAIN_MS = 20

interface KillRun extends Pick<Examination, 'signal' | 'onProgress'> {
  readonly place: TestPlace
  readonly service: ServiceChild
  readonly rounds: number
}

/** The figures of the test. */
export interface KillFigures {
  readonly ledger: LedgerResult
  readonly kills: number
  /** From a kill to the next call that was answered with 200, at worst. */
  readonly slowestAnswerMs: number
  /** From the last start until nothing waited any more. */
  readonly drainedAfterMs: number
}

/** The test itself, on a place that was made for it. */
export async function killAgainAndAgain(run: KillRun): Promise<KillFigures> {
  const { place, service, rounds, signal, onProgress } = run
  const callers = new Callers({ token: place.token, urlOf: () => service.url, signal })
  const killedAt: number[] = []
  const kill = async () => {
    killedAt.push(performance.now())
    await service.kill()
  }
  for (let round = 0; round < rounds; round++) {
    service.spawn()
    await service.ready(signal)
    const lanes = place.lanes.slice(round * LANES_PER_ROUND, (round + 1) * LANES_PER_ROUND)
    for (const lane of lanes) callers.add(lane)
    await untilAnswered(callers, signal)
    await pause(between(LEAST_UPTIME_MS, MOST_UPTIME_MS), undefined, { signal })
    await kill()
    if (Math.random() < SHARE_WHILE_STARTING) {
      service.spawn()
      await pause(between(1, STARTING_MS), undefined, { signal })
      await kill()
    }
    const figures = `killed ${killedAt.length} times, ${callers.answered.length} messages accepted`
    onProgress(`kill test: round ${round + 1} of ${rounds}, ${figures}`)
  }
  service.spawn()
  const startedAt = performance.now()
  await service.ready(signal)
  await callers.stop()
  onProgress('kill test: waiting until all of it is sent')
  const ledger = await readLedger(run, callers)
  const answers = callers.answered.map(({ at }) => at)
  return {
    ledger,
    kills: killedAt.length,
    slowestAnswerMs: Math.max(...killedAt.map((at) => Math.min(...answers.filter((answer) => answer > at)) - at)),
    drainedAfterMs: performance.now() - startedAt,
  }
}

/** On a slow machine the time before a kill might else be over before anything was accepted. */
async function untilAnswered(callers: Callers, signal: AbortSignal): Promise<void> {
  const wanted = callers.answered.length + LEAST_ANSWERED
  const until = performance.now() + ANSWERED_WITHIN_MS
  while (callers.answered.length < wanted && performance.now() < until) await pause(AGAIN_MS, undefined, { signal })
}

async function readLedger({ place, service, signal }: KillRun, callers: Callers): Promise<LedgerResult> {
  const session = await openAdministration(place.settings, { create: false })
  try {
    await untilDrained(session, signal)
    await service.stop()
    const unconfirmed = await session.administration.listUnresolved(null)
    return checkLedger({
      acknowledged: callers.answered,
      arrivals: await readArrivals(session),
      unconfirmedIds: new Set(unconfirmed.map(({ id }) => id)),
    })
  } finally {
    await session.close()
  }
}

/** What is left after a while counts as lost, because it reached no recipient. */
async function untilDrained({ administration }: AdministrationSession, signal: AbortSignal): Promise<void> {
  const until = performance.now() + DRAINED_WITHIN_MS
  while (performance.now() < until) {
    const connections = await administration.listConnections(null)
    if (connections.every(({ waiting }) => waiting === 0)) return
    await pause(CHECK_EVERY_MS, undefined, { signal })
  }
}

async function readArrivals({ inbox }: AdministrationSession): Promise<Arrival[]> {
  const arrivals: Arrival[] = []
  for await (const { connection, text } of inbox({ accountId: null, number: null, limit: null }))
    arrivals.push({ lane: connection, number: Number(text) })
  return arrivals
}

function between(least: number, most: number): number {
  return least + Math.random() * (most - least)
}
