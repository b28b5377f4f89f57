import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { openCluster } from '../../support/black-box/cluster.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { memoryFolder } from '../../support/postgres/memory-folder.ts'
import { PostgresServer } from '../../support/postgres/postgres-server.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { CommitCutter } from './commit-cutter.ts'
import { longestDeliveryGap } from './delivery-gap.ts'
import { waitForDistribution } from './lane-distribution.ts'
import { TimedClient } from './timed-client.ts'

const cuts = readRounds({ brief: 60, quick: 20 })
const seed = readSeed()
const WORKERS = 2
const CONNECTIONS = 10
const SLOW_SANDBOX = ['--set', 'latency=20ms']
const CUT_EVERY_MS = 500
// Only a worker whose connection is cut can lose steps, and it may hold few lanes.
const LEAST_OF_EACH = cuts / 10
const DISTRIBUTED_WITHIN_MS = 40_000
const GOES_ON_WITHIN_MS = 20_000

describe('a line that breaks between a commit and its reply', () => {
  it(
    'G1 G2 G3 G5: repeated, answers that the result is unknown, stores one message for each key, and sends nothing twice',
    async () => {
      const server = await PostgresServer.open({ parentFolder: memoryFolder() })
      const proxy = await TcpProxy.open(server.port)
      const cutter = new CommitCutter(proxy, { everyMs: CUT_EVERY_MS, random: createRandom(seed) })
      const cluster = await openCluster({
        workers: WORKERS,
        connections: CONNECTIONS,
        connectionArguments: SLOW_SANDBOX,
        server,
        urlOf: (worker, url) => (worker === 0 ? proxy.through(url) : url),
      })
      try {
        const { client, connections } = cluster
        const timed = new TimedClient(client)
        const load = new Load({ client: timed, connections, pauseMs: 40, keyedShare: 0.6, seed })
        load.start()
        await waitForDistribution(cluster, WORKERS, DISTRIBUTED_WITHIN_MS)
        cutter.start()
        const isDone = async () =>
          cutter.total >= cuts && Object.values(cutter.replies).every((count) => count > LEAST_OF_EACH)
        await waitUntil('enough was cut of each kind', isDone, { deadlineMs: 30_000 + cuts * 1_000 })
        cutter.stop()
        await load.stop()

        const { counts, states, input } = await checkRun(cluster, load.requests)

        const gapMs = longestDeliveryGap(input)
        printTable('Lines cut between commit and reply', {
          cuts: cutter.total,
          seed,
          ...counts,
          ...states,
          'replies lost': JSON.stringify(cutter.replies),
          'statements lost': JSON.stringify(cutter.requests),
          'longest standstill of a lane ms': gapMs,
          'slowest answer ms': timed.slowestMs,
          answers: JSON.stringify(load.answers),
        })
        const unknown = timed.calls.flatMap(({ answer }) => (answer.kind === 'unknown' ? [answer.why] : []))
        assert.deepEqual(new Set(unknown), new Set(['503 commit_unknown']))
        assert.ok(unknown.length >= cutter.replies.accept, 'A lost reply was answered as something else')
        // Such a message is stored and its caller got no answer. Without any, none of the cut replies was to a commit.
        assert.ok(counts.recovered > 0)
        assert.ok(gapMs <= GOES_ON_WITHIN_MS, `A lane stood still for ${gapMs} ms`)
      } finally {
        await cluster.close()
        await proxy.close()
        await server.close()
      }
    },
    timeLimitMs(cuts / 20),
  )
})
