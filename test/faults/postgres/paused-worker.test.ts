import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { LEASE_MS } from '../../../src/core/dispatch/workers/lease.ts'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { collectLedger, drain } from '../../support/black-box/collect-ledger.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom, type Random } from '../../support/black-box/random.ts'
import { openTestFolder } from '../../support/black-box/test-folder.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { checkLedger } from '../../support/ledger/check-ledger.ts'
import type { SentRequest } from '../../support/ledger/ledger-input.ts'
import { loadPauseMs, readRounds, readSeed, takenOverWithinMs, timeLimitMs } from '../run-length.ts'
import { LaneWatch } from './lane-watch.ts'
import { POINTS, type Point } from './paused-worker/points.ts'
import { SpecialLetters } from './paused-worker/special-letters.ts'
import { StopOrders } from './paused-worker/stop-orders.ts'
import { assertNoStandstill, findStandstills, type Loss } from './standstills.ts'
import { waitForReceipts } from './wait-for-receipts.ts'

const rounds = readRounds({ brief: 3, quick: 1 })
const seed = readSeed()
// The last worker is never paused.
const WORKERS = 4
const STEADY = WORKERS - 1
const CONNECTIONS = 26
const EVERYWHERE = 4
const SPECIAL = 4
const SETTINGS = ['--set', 'latency=30ms', '--set', 'delivered_after=500ms']
// Every run has the most dangerous points: the attempt is committed and the call has not been made, or is open.
const ALWAYS: readonly Point[] = ['after-close-and-open', 'inside-call']
const TAKEN_OVER_WITHIN_MS = takenOverWithinMs()
const AWAKE_MS = 3_000
const BACKLOG = 60
const DRAINED_WITHIN_MS = 60_000

interface Pause {
  readonly point: Point
  readonly claims: number
}

describe.concurrent('workers that are stopped for longer than their claims last', () => {
  it(
    `G2 G3 G5 G6: stopped at any point and resumed after others took over, send nothing twice and record nothing late`,
    async () => {
      const folder = openTestFolder()
      const orders = Array.from({ length: WORKERS }, (_, worker) => new StopOrders(folder.path, worker))
      const letters = new SpecialLetters()
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SETTINGS,
        environment: SpecialLetters.environment,
        environmentOf: (worker) => orders[worker]!.environment(),
      })
      try {
        const watch = await LaneWatch.open(cluster.server)
        const loads = await startLoads(cluster, letters)
        const pauser = new Pauser(cluster, watch, orders)

        await pauser.pauseAll(planPauses(createRandom(seed)))

        await Promise.all(loads.map((load) => load.stop()))
        await waitForReceipts(cluster)
        const { counts, states, input } = await checkRun(
          cluster,
          loads.flatMap(({ requests }) => requests),
        )
        const seen = { input, history: await watch.history(), losses: pauser.losses }
        const facts = { rounds, seed, ...counts, ...states, standstillMs: findStandstills(seen)[0]?.ms ?? 0 }
        printTable('SIGSTOP of workers, PostgreSQL', { ...facts, ...pauser.report() })
        assertNoStandstill(TAKEN_OVER_WITHIN_MS, seen)
        assert.ok(counts.acked > rounds * 100, `Only ${counts.acked} messages were at stake`)
      } finally {
        await cluster.close()
        await letters.close()
        folder.remove()
      }
    },
    timeLimitMs(rounds),
  )

  it(`negative control: the ledger notices a worker that calls without checking its claim`, async () => {
    const folder = openTestFolder()
    const [orders, others] = [new StopOrders(folder.path, 0), new StopOrders(folder.path, 1)]
    const cluster = await openCluster({
      workers: 2,
      connections: 1,
      connectionArguments: SETTINGS,
      environmentOf: (worker) => (worker === 0 ? orders : others).environment({ careless: true }),
    })
    try {
      const [careless, other] = cluster.services
      await other!.stop()
      const requests = await sendBacklog(cluster)
      const { isAtPoint } = await orders.stop(careless!, 'after-close-and-open')
      assert.ok(isAtPoint, 'it ran out of messages before it came to that point')
      await other!.start()
      await drain(cluster.cli, DRAINED_WITHIN_MS)

      careless!.signal('SIGCONT')

      const findFaults = async () => checkLedger(await collectLedger(cluster, requests)).faults
      const isSeen = async () => (await findFaults()).duplicated.length > 0
      await waitUntil('the ledger sees a duplicate', isSeen, { deadlineMs: 40_000 })
      assert.deepEqual((await findFaults()).lost, [])
    } finally {
      await cluster.close()
      folder.remove()
    }
  })
})

/** Sends more messages than are delivered before the worker stops. */
async function sendBacklog({ clientOf, connections }: Cluster): Promise<SentRequest[]> {
  const client = clientOf(0)
  const [from = ''] = connections
  const requests: SentRequest[] = []
  for (let number = 0; number < BACKLOG; number += 1) {
    const to = `4479${String(number).padStart(8, '0')}`
    const text = `message ${number}`
    const request = { connection: from, to, content: { type: 'message', text }, sentAt: performance.now() }
    const answer = await client.send({ from, to, message: { type: 'message', message: text }, idempotencyKey: null })
    assert.ok(answer.kind === 'acked')
    requests.push({ ...request, answer: { ...answer, at: performance.now() } })
  }
  return requests
}

async function startLoads(cluster: Cluster, letters: SpecialLetters): Promise<Load[]> {
  const { connections } = cluster
  const steady = { client: cluster.clientOf(STEADY), pauseMs: loadPauseMs(80), keyedShare: 0.4, seed }
  const specials = connections.slice(0, SPECIAL)
  const loads = [
    new Load({ ...steady, connections: connections.slice(SPECIAL + EVERYWHERE) }),
    // These requests reach paused workers, and wait for their answers.
    new Load({ ...steady, client: cluster.client, connections: connections.slice(SPECIAL, SPECIAL + EVERYWHERE) }),
    new Load({
      ...steady,
      connections: specials,
      pauseMs: 400,
      keyedShare: 1,
      instead: await letters.start(cluster, specials),
    }),
  ]
  for (const load of loads) load.start()
  return loads
}

/** All points and durations in an order drawn from the seed, after those that every run has. */
function planPauses(random: Random): Pause[] {
  const all = POINTS.flatMap((point) => [1, 2, 3, 4].map((claims) => ({ point, claims, order: random.next() })))
  const drawn = all.toSorted((a, b) => a.order - b.order).map(({ point, claims }) => ({ point, claims }))
  const isBrief = rounds < POINTS.length
  const first = ALWAYS.map((point, index) => ({ point, claims: 1.25 + index / 10 }))
  // A brief run has no time for long pauses. What happens at the end of a claim already happens in the first duration.
  return [...first, ...drawn.map((pause) => (isBrief ? { ...pause, claims: 1 + random.next() / 3 } : pause))].slice(
    0,
    rounds,
  )
}

/** Pauses all workers except the last one, at overlapping times. */
class Pauser {
  readonly losses: Loss[] = []
  readonly #cluster: Cluster
  readonly #watch: LaneWatch
  readonly #orders: readonly StopOrders[]
  readonly #paused: Pause[] = []
  readonly #missed: Point[] = []

  constructor(cluster: Cluster, watch: LaneWatch, orders: readonly StopOrders[]) {
    this.#cluster = cluster
    this.#watch = watch
    this.#orders = orders
  }

  async pauseAll(pauses: readonly Pause[]): Promise<void> {
    const left = [...pauses]
    const work = async (worker: number) => {
      await setTimeout(AWAKE_MS * (1 + worker / 2))
      for (let pause = left.shift(); pause; pause = left.shift()) {
        await this.#pause(worker, pause)
        await setTimeout(AWAKE_MS)
      }
    }
    await Promise.all(Array.from({ length: STEADY }, (_, worker) => work(worker)))
  }

  /** How many pauses were at the right point, and which points were not reached in time. */
  report(): Record<string, string> {
    const where = this.#paused.map(({ point, claims }) => `${point} (${Math.round(claims * LEASE_MS) / 1_000} s)`)
    return {
      'stopped at': rounds < POINTS.length ? where.join(', ') : `${where.length} points and lengths`,
      'stopped elsewhere, because the point was not passed': this.#missed.join(', ') || 'none',
    }
  }

  async #pause(worker: number, pause: Pause): Promise<void> {
    const service = this.#cluster.services[worker]!
    const id = await waitUntil('the worker is known', () => this.#watch.workerOf(service.pid), { deadlineMs: 20_000 })
    const { at, isAtPoint } = await this.#orders[worker]!.stop(service, pause.point)
    if (isAtPoint) this.#paused.push(pause)
    else this.#missed.push(pause.point)
    await setTimeout(pause.claims * LEASE_MS)
    service.signal('SIGCONT')
    this.losses.push({ at, until: Date.now(), worker: id })
  }
}
