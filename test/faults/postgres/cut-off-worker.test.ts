import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import type { WorkerId } from '../../../src/core/ids.ts'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom, type Random } from '../../support/black-box/random.ts'
import { openTestFolder } from '../../support/black-box/test-folder.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { PostgresServer } from '../../support/postgres/postgres-server.ts'
import { type Side, TcpProxy } from '../../support/tcp-proxy.ts'
import { answeredWithinMs, loadPauseMs, readRounds, readSeed, takenOverWithinMs, timeLimitMs } from '../run-length.ts'
import { CallNotes } from './cut-off-worker/call-notes.ts'
import { describeDistribution, waitForDistribution } from './lane-distribution.ts'
import { type LaneHistory, LaneWatch } from './lane-watch.ts'
import { assertNoStandstill, findStandstills, type Loss } from './standstills.ts'
import { TimedClient } from './timed-client.ts'

const rounds = readRounds({ brief: 1, quick: 1 })
const seed = readSeed()
// Two workers lose the database in different ways, one has a slow connection all the time, and the last one a good one.
const CUT = [0, 1]
const SLOW = 2
const GOOD = 3
const WORKERS = 4
const SETTINGS = ['--set', 'latency=30ms']
const OWN_CONNECTIONS = 3
const CONNECTIONS = 27
const HOLES: readonly (readonly Side[])[] = [['client', 'server'], ['server'], ['client']]
// In each direction, so a query takes 200 to 800 ms longer.
const SLOW_MS = [100, 400] as const
const SLOW_CHANGES_EVERY_MS = 300
const DISTRIBUTED_WITHIN_MS = 40_000
const TAKEN_OVER_WITHIN_MS = takenOverWithinMs()
// A heartbeat whose answer is lost may still arrive. Then the claim lasts one interval longer.
const LATE_HEARTBEAT_MS = 4_000
// A claim lasts 15 s from the last heartbeat, and its holder stops calling 3 s before.
const CALLS_FOR_AT_MOST_MS = 12_000
// A request waits 5 s for storage, and overdue requests are checked every quarter of that.
const ANSWERED_WITHIN_MS = answeredWithinMs()
const BACK_WITHIN_MS = 15_000
const CALLS_WITHIN_MS = 15_000

describe('workers that lose only their connection to PostgreSQL', () => {
  it(
    `G2 G3 G5 G6 G11: answer 503, stop calling in time, are replaced by others, and recover by themselves`,
    async () => {
      const world = await openCutOffWorld()
      const { cluster, proxies, notes } = world
      try {
        const watch = await LaneWatch.open(cluster.server)
        const loads = startLoads(cluster)
        const slowing = slowDown(proxies[SLOW]!, createRandom(seed))
        const losses: Loss[] = []
        const cuts: CutFacts[] = []
        for (let round = 0; round < rounds; round += 1) {
          await waitForDistribution(cluster, WORKERS, DISTRIBUTED_WITHIN_MS)
          const cut = await cutBoth(world, watch, { round, clients: loads.clients })
          losses.push(...cut.losses)
          cuts.push(cut.facts)
        }
        const distribution = await waitForDistribution(cluster, WORKERS, DISTRIBUTED_WITHIN_MS)
        slowing.stop()
        proxies[SLOW]!.heal()

        await Promise.all(loads.all.map((load) => load.stop()))
        const { counts, states, input } = await checkRun(
          cluster,
          loads.all.flatMap(({ requests }) => requests),
        )
        const seen = { input, history: await watch.history(), losses }
        const late = findLateCalls(cluster, seen.history, notes)
        printTable('workers cut off from PostgreSQL', {
          ...{ rounds, seed, ...counts, ...states, standstillMs: findStandstills(seen)[0]?.ms ?? 0 },
          ...worstOf(cuts),
          'calls noted': late.noted,
          'late calls': late.found.length,
          'lanes of each in the end': describeDistribution(distribution),
        })
        assert.deepEqual(late.found, [])
        assertNoStandstill(TAKEN_OVER_WITHIN_MS + LATE_HEARTBEAT_MS, seen)
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})

interface CutOffWorld {
  readonly cluster: Cluster
  /** The connections of all workers except the last. */
  readonly proxies: readonly TcpProxy[]
  readonly notes: readonly CallNotes[]
  close(): Promise<void>
}

async function openCutOffWorld(): Promise<CutOffWorld> {
  const folder = openTestFolder()
  const server = await PostgresServer.open()
  const proxies = await Promise.all([...CUT, SLOW].map(() => TcpProxy.open(server.port)))
  const notes = Array.from({ length: WORKERS }, (_, worker) => new CallNotes(folder.path, worker))
  const closeRest = async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()))
    await server.close()
    folder.remove()
  }
  try {
    const cluster = await openCluster({
      workers: WORKERS,
      connections: CONNECTIONS,
      connectionArguments: SETTINGS,
      server,
      urlOf: (worker, url) => proxies[worker]?.through(url) ?? url,
      environmentOf: (worker) => notes[worker]!.environment,
    })
    const close = async () => {
      for (const proxy of proxies) proxy.heal()
      await cluster.close()
      await closeRest()
    }
    return { cluster, proxies, notes, close }
  } catch (error) {
    await closeRest()
    throw error
  }
}

/** Each worker except the good one gets some connections whose messages are accepted only there. */
function startLoads({ connections, clientOf }: Cluster) {
  const clients = Array.from({ length: WORKERS }, (_, worker) => new TimedClient(clientOf(worker)))
  const all = clients.map((client, worker) => {
    const first = worker * OWN_CONNECTIONS
    const own = connections.slice(first, worker === GOOD ? undefined : first + OWN_CONNECTIONS)
    return new Load({
      client,
      connections: own,
      pauseMs: loadPauseMs(80),
      keyedShare: worker === GOOD ? 0.4 : 0,
      seed: seed + worker,
    })
  })
  for (const load of all) load.start()
  return { all, clients }
}

function slowDown(proxy: TcpProxy, random: Random) {
  const timer = setInterval(() => {
    proxy.delayMs = random.between(...SLOW_MS)
  }, SLOW_CHANGES_EVERY_MS)
  return { stop: () => clearInterval(timer) }
}

interface CutFacts {
  readonly takenOverMs: number
  readonly calledForMs: number
  readonly answeredMs: number
  readonly backMs: number
}

async function cutBoth(
  { cluster, proxies, notes }: CutOffWorld,
  watch: LaneWatch,
  { round, clients }: { readonly round: number; readonly clients: readonly TimedClient[] },
) {
  const workers = await Promise.all(CUT.map((worker) => watch.workerOf(cluster.services[worker]!.pid)))
  await waitForCalls(notes)
  const at = Date.now()
  const cutAt = performance.now()
  for (const worker of CUT) proxies[worker]!.blackHole(...HOLES[(round + worker) % HOLES.length]!)
  await setTimeout(500)
  const takenOverMs = await waitForTakeover({ cluster, watch, workers: workers.map((worker) => worker!), at })
  for (const worker of CUT) assert.ok(await cluster.services[worker]!.isAlive(), 'It is not even reached by HTTP')

  const until = Date.now()
  const healedAt = performance.now()
  for (const worker of CUT) proxies[worker]!.endBlackHole()
  await waitUntil(
    'both accept again',
    async () => CUT.every((worker) => Number.isFinite(clients[worker]!.firstAckAfter(healedAt))),
    {
      withinMs: BACK_WITHIN_MS,
    },
  )
  const facts = {
    takenOverMs,
    calledForMs: Math.max(...CUT.map((worker) => lastCallBefore(notes[worker]!, until) - at)),
    answeredMs: Math.max(...CUT.map((worker) => assessAnswers(clients[worker]!, cutAt, healedAt))),
    backMs: Math.max(...CUT.map((worker) => clients[worker]!.firstAckAfter(healedAt))),
  }
  assert.ok(facts.calledForMs <= CALLS_FOR_AT_MOST_MS, `Calls went on for ${facts.calledForMs} ms`)
  return { facts, losses: workers.map((worker) => ({ at, until, worker: worker! })) }
}

/** Waits until the workers that will be cut off have begun to call: otherwise nothing would show that they stop. */
async function waitForCalls(notes: readonly CallNotes[]): Promise<void> {
  const from = Date.now()
  const isAtWork = async () => CUT.every((worker) => lastCallBefore(notes[worker]!, Number.POSITIVE_INFINITY) >= from)
  await waitUntil('both workers call the channel', isAtWork, { deadlineMs: CALLS_WITHIN_MS })
}

interface Takeover {
  readonly cluster: Cluster
  readonly watch: LaneWatch
  readonly workers: readonly WorkerId[]
  /** When they were cut off. */
  readonly at: number
}

/**
 * Waits until others hold all lanes of these workers in which a message waits, and returns how long that took. A lane without
 * messages need not move.
 */
async function waitForTakeover({ cluster, watch, workers, at }: Takeover): Promise<number> {
  const findTakeover = async () => {
    const waiting = await findWaiting(cluster)
    const history = await watch.history()
    const lanes = workers.map((worker) =>
      history.heldBy(worker, at).map((number) => ({ number, takenAt: history.takenFrom(worker, number, at) })),
    )
    const isDone = lanes.every(
      (held) =>
        held.some(({ takenAt }) => takenAt !== null) &&
        held.every(({ number, takenAt }) => takenAt !== null || !waiting.has(number)),
    )
    return isDone && Math.max(...lanes.flat().map(({ takenAt }) => takenAt ?? at)) - at
  }
  const withinMs = TAKEN_OVER_WITHIN_MS + LATE_HEARTBEAT_MS
  try {
    return await waitUntil('others have taken the lanes of both over', findTakeover, { withinMs, everyMs: 200 })
  } catch (error) {
    throw new Error(describeStuck(await watch.history(), workers, at), { cause: error })
  }
}

/** The sender numbers whose lanes have a waiting message. */
async function findWaiting({ cli }: Cluster): Promise<ReadonlySet<string>> {
  const listed = await cli.json<{ number: string; waiting: number }[]>('connection', 'list')
  return new Set(listed.filter(({ waiting }) => waiting > 0).map(({ number }) => number))
}

/** What happened to each lane that was not taken over: still held, released, or passed between the two. */
function describeStuck(history: LaneHistory, workers: readonly WorkerId[], at: number): string {
  const stuck = workers.flatMap((worker) =>
    history
      .heldBy(worker, at)
      .filter((connection) => history.takenFrom(worker, connection, at) === null)
      .map((connection) => {
        const owners = history.of(connection).map((change) => `${change.owner ?? 'no worker'} at ${change.at - at} ms`)
        return `${connection}, held by ${worker}: ${owners.slice(-4).join(', ')}`
      }),
  )
  return `These lanes were not taken over (times from the cut):\n${stuck.join('\n')}`
}

/** Asserts that every request meanwhile was answered in time, and none with 200. Returns the longest wait. */
function assessAnswers({ calls }: TimedClient, cutAt: number, healedAt: number): number {
  const meanwhile = calls.filter(({ startedAt, endedAt }) => startedAt > cutAt && endedAt < healedAt)
  const slowestMs = Math.max(...meanwhile.map(({ startedAt, endedAt }) => endedAt - startedAt))
  assert.ok(meanwhile.length > 0, 'No request was answered while the line was cut')
  assert.deepEqual(
    meanwhile.filter(({ answer }) => answer.kind === 'acked'),
    [],
  )
  assert.ok(slowestMs <= ANSWERED_WITHIN_MS, `An answer took ${slowestMs} ms`)
  return Math.round(slowestMs)
}

function lastCallBefore(notes: CallNotes, moment: number): number {
  return Math.max(
    ...notes
      .read()
      .map(({ at }) => at)
      .filter((at) => at < moment),
  )
}

/** Calls that a worker began while it did not hold the lane. */
function findLateCalls({ services }: Cluster, history: LaneHistory, notes: readonly CallNotes[]) {
  const calls = notes.flatMap((note, worker) => note.read().map((call) => ({ ...call, worker })))
  const idOf = (worker: number) => history.workers.findLast(({ pid }) => pid === services[worker]!.pid)?.id
  const found = calls.filter(({ at, connection, worker }) => {
    const holder = history.holderAt(connection, at)
    // The owner before the watch began is unknown.
    return history.of(connection)[0]!.at < at && holder !== idOf(worker)
  })
  return { noted: calls.length, found }
}

function worstOf(cuts: readonly CutFacts[]): Record<string, number> {
  const worst = (pick: (cut: CutFacts) => number) => Math.max(...cuts.map(pick))
  return {
    'taken over after (ms)': worst(({ takenOverMs }) => takenOverMs),
    'last call after (ms)': worst(({ calledForMs }) => calledForMs),
    'longest answer meanwhile (ms)': worst(({ answeredMs }) => answeredMs),
    'accepts again after (ms)': worst(({ backMs }) => backMs),
  }
}
