import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { SendClient } from '../../support/black-box/send-client.ts'
import { skipNote } from '../../support/black-box/skip-note.ts'
import type { LedgerInput, SentRequest } from '../../support/ledger/ledger-input.ts'
import { MovableClock, whyNoFaketime } from '../../support/postgres/faketime.ts'
import { loadPauseMs, movedOnWithinMs, readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { jumpClock } from './jump-clock.ts'
import { waitForDistribution } from './lane-distribution.ts'
import { LaneWatch } from './lane-watch.ts'
import { assertNoStandstill, findStandstills } from './standstills.ts'
import { waitForReceipts } from './wait-for-receipts.ts'

const rounds = readRounds({ brief: 6, quick: 2 })
const seed = readSeed()
const obstacle = whyNoFaketime()
const WORKERS = 3
const CONNECTIONS = 24
const SETTINGS = ['--set', 'latency=30ms', '--set', 'delivered_after=300ms']
const DAY_MS = 24 * 3_600_000
// Back and forth. Tokens expire sooner than the clock jumps.
const OFFSETS_MS = [2 * DAY_MS, 0, -2 * DAY_MS, 2 * DAY_MS, -2 * DAY_MS, 0]
const DISTRIBUTED_WITHIN_MS = 20_000
const MOST_ATTEMPTS = 3
const TRUE_WITHIN_MS = 2_000

describe.skipIf(obstacle !== null)(`a worker on PostgreSQL whose clock jumps by days${skipNote(obstacle)}`, () => {
  it(
    'G2 G3 G5 G6: under load, lets nothing expire, keeps its lanes, and makes no storm of attempts',
    async () => {
      const clock = MovableClock.open()
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SETTINGS,
        environmentOf: (worker) => (worker === 0 ? clock.environment : {}),
      })
      try {
        const watch = await LaneWatch.open(cluster.server)
        const load = new Load({
          ...cluster,
          client: await clientOfTheDay(cluster),
          pauseMs: loadPauseMs(80),
          keyedShare: 0.4,
          seed,
        })
        load.start()
        await waitForDistribution(cluster, WORKERS, DISTRIBUTED_WITHIN_MS)
        const since = Date.now()

        await jumpAround(clock, cluster)

        await load.stop()
        const until = Date.now()
        await waitForReceipts(cluster)
        const { counts, states, input } = await checkRun(cluster, load.requests)
        const seen = { input, history: await watch.history(), losses: [] }
        const moved = seen.history.changes.filter(({ at, owner }) => owner !== null && at > since && at < until)
        const attempts = Map.groupBy(input.attempts ?? [], ({ messageId }) => messageId)
        const most = Math.max(...[...attempts.values()].map(({ length }) => length))
        const untrue = furthestFromTruth(input, load.requests)
        printTable('jumps of a worker’s clock, PostgreSQL', {
          ...{ rounds, seed, ...counts, ...states, standstillMs: findStandstills(seen)[0]?.ms ?? 0 },
          ...{ 'most attempts of a message': most, 'lanes that changed hands': moved.length },
          'accepted_at is off by at most (ms)': untrue,
        })
        assert.deepEqual(Object.keys(states), ['DELIVERED'])
        const refusals = Object.keys(load.answers).filter((name) => name !== 'acked' && !name.startsWith('unknown'))
        assert.deepEqual(refusals, [])
        assert.deepEqual(moved, [])
        assert.ok(most <= MOST_ATTEMPTS, `A message was tried ${most} times`)
        assert.ok(untrue <= TRUE_WITHIN_MS, `A message was accepted ${untrue} ms before or after its request`)
        // A call that is open during a jump ahead is given up and retried, because the machine might have been suspended.
        assertNoStandstill(movedOnWithinMs(), seen)
      } finally {
        await cluster.close()
        await clock.close()
      }
    },
    timeLimitMs(rounds),
  )
})

/** A client whose token is valid for less time than the clock jumps. */
async function clientOfTheDay({ cli, services }: Cluster): Promise<Pick<SendClient, 'send'>> {
  const tomorrow = new Date(Date.now() + DAY_MS).toISOString().slice(0, 10)
  const create = ['token', 'create', '--name', 'short', '--expires', tomorrow, '--event', 'messaging.send_message']
  const { token } = await cli.json<{ token: string }>(...create)
  const clients = services.map(({ url }) => new SendClient({ url, token }))
  let next = 0
  return { send: (letter) => clients[next++ % clients.length]!.send(letter) }
}

async function jumpAround(clock: MovableClock, { services: [jumping] }: Cluster): Promise<void> {
  const random = createRandom(seed)
  for (let round = 0; round < rounds; round += 1) {
    await jumpClock(clock, jumping!, OFFSETS_MS[round % OFFSETS_MS.length]!)
    await setTimeout(random.between(500, 3_500))
  }
}

/** By how much a message seems to be accepted before its request or after its answer, by the real clock. */
function furthestFromTruth({ messages }: LedgerInput, requests: readonly SentRequest[]): number {
  const acceptedAt = new Map(messages.map((message) => [message.id, message.acceptedAt - performance.timeOrigin]))
  return Math.round(
    Math.max(
      ...requests.flatMap(({ sentAt, answer }) => {
        const at = answer.kind === 'acked' ? acceptedAt.get(answer.messageId) : undefined
        return answer.kind === 'acked' && at !== undefined ? [sentAt - at, at - answer.at] : []
      }),
    ),
  )
}
