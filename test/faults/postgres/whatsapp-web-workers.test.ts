import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { ConnectionId } from '../../../src/core/ids.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { collectLedger, drain } from '../../support/black-box/collect-ledger.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { temporaryFolder } from '../../support/journey/start-nuncio.ts'
import { assertClean } from '../../support/ledger/assert-clean.ts'
import { assertLedgerSeesFaults } from '../../support/ledger/assert-sees-faults.ts'
import { checkLedger } from '../../support/ledger/check-ledger.ts'
import { MovableClock, whyNoFaketime } from '../../support/postgres/faketime.ts'
import { PostgresServer } from '../../support/postgres/postgres-server.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { whyNoLibrary } from '../../support/whatsapp-web/library.ts'
import type { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { loadPauseMs, readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { assertFaultsAreFound, findFaults, readSeen } from '../whatsapp-web/find-faults.ts'
import { linkNumbers, networkSettings, openNetwork, readArrived } from '../whatsapp-web/web-run.ts'
import { jumpClock } from './jump-clock.ts'
import { waitForDistribution } from './lane-distribution.ts'
import { type LaneHistory, LaneWatch } from './lane-watch.ts'

const MOVES = readRounds({ brief: 50, quick: 20 })
const seed = readSeed()
const REASON = whyNoLibrary() ?? whyNoFaketime()
const WORKERS = 4
// One worker loses the database, the clock of another jumps, and lanes move between the other two.
const CUT_OFF = 0
const JUMPING = 1
const RESTARTED = 2
const NUMBERS = 16
const HOUR_MS = 3_600_000
// The workers between which lanes move close their sessions slowly, so that a lane that moves too early is noticed.
const CLOSE_SLOWLY = { NODE_OPTIONS: `--import=${new URL('../whatsapp-web/close-slowly.ts', import.meta.url).href}` }
const OFFSETS_MS = [HOUR_MS, 0, -HOUR_MS, 0]
/** Messages accepted after each jump, so that some are sent meanwhile. */
const AFTER_A_JUMP = 10
const LIMIT = { deadlineMs: 60_000, everyMs: 100 }
// The time in which a receipt may still come, and some more.
const DRAINED_WITHIN_MS = 120_000

describe.skipIf(REASON)(`linked numbers on four workers${skipNote(REASON)}`, () => {
  it(
    'G2 G3 G5 G6: lose, duplicate and reorder nothing when one is cut off, a clock jumps and claims move, and use no session twice',
    async () => {
      const world = await openWorkers()
      const { cluster, simulator } = world
      try {
        const connections = await linkNumbers(simulator, { ...cluster, count: NUMBERS })
        const numbers = [...connections.keys()]
        const distributed = (workers: number) =>
          waitForDistribution({ ...cluster, connections: numbers }, workers, LIMIT.deadlineMs)
        const load = new Load({
          client: cluster.client,
          connections: numbers,
          pauseMs: loadPauseMs(400),
          ...{ keyedShare: 1, seed, textLength: 1_000 },
        })
        await distributed(WORKERS)
        const watch = await LaneWatch.open(cluster.server)
        const run: Run = { ...world, watch, load, numbers, distributed }
        for (const worker of [CUT_OFF, JUMPING]) await giveLanes(run, worker)
        load.start()
        const away = await cutOff(run)
        const moves = await moveLanes(run)
        await load.waitForAcks(AFTER_A_JUMP)
        await load.stop()

        await drain(cluster.cli, DRAINED_WITHIN_MS)
        await checkAll(run, connections, { ...away, moves })
        assert.deepEqual(simulator.secondLogins, [])
      } finally {
        await world.close()
      }
    },
    timeLimitMs(MOVES),
  )
})

interface Workers {
  readonly cluster: Cluster
  readonly simulator: Simulator
  /** The first worker's connection to the database. */
  readonly proxy: TcpProxy
  readonly clock: MovableClock
  close(): Promise<void>
}

interface Run extends Workers {
  readonly watch: LaneWatch
  readonly load: Load
  readonly numbers: readonly string[]
  /** Resolves once this many workers hold all lanes. */
  readonly distributed: (workers: number) => Promise<unknown>
}

async function openWorkers(): Promise<Workers> {
  const simulator = await openNetwork()
  const clock = MovableClock.open()
  const server = await PostgresServer.open()
  const proxy = await TcpProxy.open(server.port)
  const closeRest = async () => {
    await proxy.close()
    await server.close()
    await clock.close()
  }
  try {
    const cluster = await openCluster({
      ...{ workers: WORKERS, connections: 0, server },
      environment: networkSettings(simulator, temporaryFolder()),
      environmentOf: (worker) => (worker === JUMPING ? clock.environment : worker === CUT_OFF ? {} : CLOSE_SLOWLY),
      urlOf: (worker, url) => (worker === CUT_OFF ? proxy.through(url) : url),
    })
    const close = async () => {
      proxy.heal()
      await cluster.close()
      await closeRest()
    }
    return { cluster, simulator, proxy, clock, close }
  } catch (error) {
    await closeRest()
    throw error
  }
}

/** Restarts a worker until it has lanes: chance may assign none to it, and each start assigns anew. */
async function giveLanes({ cluster: { services }, watch, distributed }: Run, place: number): Promise<void> {
  const service = services[place]!
  while ((await watch.history()).heldBy((await watch.workerOf(service.pid))!).length === 0) {
    await service.stop()
    await service.start()
    await distributed(WORKERS)
  }
}

/** Cuts one worker off from the database until the others have its lanes. Meanwhile the clock of another jumps. */
async function cutOff({ cluster: { services }, simulator, proxy, clock, watch, load, distributed }: Run) {
  const [cut, jumping] = [services[CUT_OFF]!, services[JUMPING]!]
  const [worker, other] = await Promise.all([cut, jumping].map(({ pid }) => watch.workerOf(pid)))
  const before = await watch.history()
  const lanes = before.heldBy(worker!)
  const lines = new Map(lanes.map((number) => [number, simulator.lineOf(number)]))
  const at = Date.now()
  proxy.blackHole()
  for (const offsetMs of OFFSETS_MS) {
    await jumpClock(clock, jumping, offsetMs)
    await load.waitForAcks(AFTER_A_JUMP)
    const areIn = async () => before.heldBy(other!).every((number) => simulator.lineOf(number))
    await waitUntil('the numbers of the worker whose clock jumps are logged in', areIn, LIMIT)
  }
  const areTaken = async () => {
    const history = await watch.history()
    return lanes.every((number) => history.takenFrom(worker!, number, at) !== null)
  }
  await waitUntil('others have all lanes of the worker that is cut off', areTaken, LIMIT)
  const takenOverMs = Date.now() - at
  const areInAgain = async () =>
    lanes.every((number) => simulator.lineOf(number) && simulator.lineOf(number) !== lines.get(number))
  await waitUntil('others have logged in with its numbers', areInAgain, LIMIT)
  assert.ok(await cut.isAlive(), 'It is not even reached by HTTP')
  const after = await watch.history()
  // A worker whose clock jumps keeps its lanes.
  const lost = before.heldBy(other!).filter((number) => after.takenFrom(other!, number, at) !== null)
  assert.deepEqual(lost, [])
  proxy.endBlackHole()
  await distributed(WORKERS)
  // It writes nothing any more, but its lines stay open until their next login elsewhere ends them.
  const putOut = simulator.secondLogins.splice(0)
  assert.deepEqual(
    putOut.filter((number) => !lanes.includes(number)),
    [],
  )
  return {
    ...{ 'lanes cut off': lanes.length, 'taken over after (ms)': takenOverMs, 'lines put out': putOut.length },
    'lanes of the clock': before.heldBy(other!).length,
  }
}

/** Restarts one of the last two workers until this many lanes have passed from one worker to another. */
async function moveLanes({ cluster: { services }, watch, distributed }: Run): Promise<number> {
  await Promise.all([CUT_OFF, JUMPING].map((worker) => services[worker]!.stop()))
  await distributed(2)
  const before = countMoves(await watch.history())
  let moves = 0
  while (moves < MOVES) {
    await services[RESTARTED]!.stop()
    await distributed(1)
    await services[RESTARTED]!.start()
    await distributed(2)
    moves = countMoves(await watch.history()) - before
  }
  return moves
}

function countMoves(history: LaneHistory): number {
  const moves = history.connections.flatMap((connection) => {
    const owners = history.of(connection).flatMap(({ owner }) => owner ?? [])
    return owners.filter((owner, place) => place > 0 && owner !== owners[place - 1])
  })
  return moves.length
}

async function checkAll(
  { cluster, simulator, load }: Run,
  connections: ReadonlyMap<string, ConnectionId>,
  facts: Readonly<Record<string, number>>,
): Promise<void> {
  const collected = await collectLedger(cluster, load.requests)
  const input = { ...collected, inbox: readArrived(simulator, collected.messages, connections) }
  const ledger = checkLedger(input)
  const seen = readSeen(simulator)
  printTable('linked numbers on four workers', { seed, ...ledger.counts, ...ledger.states, ...facts })
  assertClean(ledger)
  assert.deepEqual(findFaults(seen), [])
  assertLedgerSeesFaults(input)
  assertFaultsAreFound(seen)
}
