import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { Load } from '../../support/black-box/load.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { type PostgresServer, withClient } from '../../support/postgres/postgres-server.ts'
import { answeredWithinMs, loadPauseMs, readRounds, readSeed, timeLimitMs } from '../run-length.ts'
import { ReplicatedCluster } from './replicated-cluster.ts'
import { TimedClient } from './timed-client.ts'

const rounds = readRounds({ brief: 1, quick: 1 })
const seed = readSeed()
const CONNECTIONS = 8
const RUN_IN_MS = 1_500
const ANSWERED_WITHIN_MS = answeredWithinMs()
const RECOVERED_WITHIN_MS = 10_000
// Longer than the service waits for any statement, so it has given up its connections and made new ones.
const HANGS_FOR_MS = 9_000
// The server's own sessions, one for each of our connections, and those that still wait on connections that were given up.
const MOST_SESSIONS = 60
const WAITING = `select pid from pg_stat_activity where wait_event = 'SyncRep'`

describe('a synchronous standby that hangs', () => {
  it(
    'G1 G11: callers are answered in time, the service cancels nothing, and continues by itself when the standby is back',
    async () => {
      const world = await openReplicated()
      try {
        const { primary, replication } = world
        const { timed, load } = await startLoad(world)
        let sessions = 0
        const hungAt: number[] = []
        const backAt: number[] = []
        for (let round = 0; round < rounds; round += 1) {
          hungAt.push(performance.now())
          replication.blackHole()
          await setTimeout(HANGS_FOR_MS)
          sessions = Math.max(sessions, await countSessions(primary))
          assert.ok((await primary.query(WAITING)).length > 0, 'Nothing waits for the standby any more')
          replication.endBlackHole()
          backAt.push(performance.now())
          await timed.untilAckAfter(backAt.at(-1) ?? 0)
        }
        await load.stop()

        const { counts, states } = await checkRun(world.recorded, load.requests)

        const recoveredMs = backAt.map((moment) => timed.firstAckAfter(moment))
        printTable('Synchronous standby hangs', {
          rounds,
          seed,
          ...counts,
          ...states,
          'slowest answer ms': timed.slowestMs,
          'accepts again after ms': recoveredMs.join(', '),
          'sessions at most': sessions,
          answers: JSON.stringify(load.answers),
        })
        assert.ok(timed.slowestMs <= ANSWERED_WITHIN_MS, `An answer took ${timed.slowestMs} ms`)
        assert.ok(Math.max(...recoveredMs) <= RECOVERED_WITHIN_MS, `It accepted again after ${recoveredMs} ms`)
        assert.ok(sessions <= MOST_SESSIONS, `${sessions} sessions were left on the server`)
        assert.doesNotMatch(primary.log, /canceling (the )?wait|due to user request/)
        assert.notDeepEqual(load.unsureAnswers, {})
        assert.equal(acksBetween(timed, hungAt[0] ?? 0, backAt[0] ?? 0), 0)
      } finally {
        await world.close()
      }
    },
    timeLimitMs(rounds),
  )
})

describe('a commit that no standby has confirmed', () => {
  it('G1: is never answered with 200, however PostgreSQL stops waiting, and may be missing after a failover', async () => {
    const world = await openReplicated()
    try {
      const { primary, standby } = world
      const { timed, load } = await startLoad(world)
      await standby.stop('fast')
      const stoppedAt = performance.now()

      const answer = await readPlainAnswer(primary)
      let cancelled = 0
      for (const end of ['pg_cancel_backend', 'pg_terminate_backend']) cancelled += await endWaiting(primary, end)
      const endedAt = performance.now()
      // The standby must never receive what it has not confirmed.
      world.replication.blackHole()
      await standby.start()
      await world.failOver()
      await setTimeout(RUN_IN_MS)
      await load.stop()

      const { counts, states } = await checkRun(world.recorded, load.requests)

      printTable('Waits for the standby cancelled', {
        seed,
        ...counts,
        ...states,
        cancelled,
        answers: JSON.stringify(load.answers),
        'what PostgreSQL answers': answer,
      })
      assert.equal(acksBetween(timed, stoppedAt, endedAt), 0)
      assert.match(answer, /^it was committed, with WARNING: canceling wait for synchronous replication/)
      assert.match(primary.log, /canceling (the )?wait for synchronous replication/)
      assert.ok(cancelled > 10, `Only ${cancelled} were cancelled`)
    } finally {
      await world.close()
    }
  })
})

function openReplicated(): Promise<ReplicatedCluster> {
  return ReplicatedCluster.open({
    workers: 2,
    connections: CONNECTIONS,
    connectionArguments: ['--set', 'latency=20ms'],
    isSynchronous: true,
  })
}

async function startLoad(world: ReplicatedCluster) {
  const { client, connections } = world.cluster
  const timed = new TimedClient(client)
  const load = new Load({ client: timed, connections, pauseMs: loadPauseMs(40), keyedShare: 0.4, seed })
  load.start()
  await world.noticedThatStandbyConfirms()
  await setTimeout(RUN_IN_MS)
  return { timed, load }
}

/** The number of acknowledged requests that were made and answered in this time. */
function acksBetween({ calls }: TimedClient, from: number, to: number): number {
  return calls.filter(({ startedAt, endedAt, answer }) => startedAt > from && endedAt < to && answer.kind === 'acked')
    .length
}

async function countSessions(server: PostgresServer): Promise<number> {
  const [row] = await server.query<{ count: string }>(`select count(*) from pg_stat_activity where datname = 'nuncio'`)
  return Number(row?.count)
}

/** Ends six waits for the standby, whatever statements the workers were running. */
async function endWaiting(server: PostgresServer, how: string): Promise<number> {
  const ended = new Set<number>()
  const endThem = async () => {
    for (const { pid } of await server.query<{ pid: number }>(WAITING)) {
      await server.query(`select ${how}($1)`, [pid])
      ended.add(pid)
    }
    return ended.size >= 6
  }
  await waitUntil('enough waits were ended', endThem, { deadlineMs: 20_000, everyMs: 20 })
  return ended.size
}

/** The control: a client that ignores warnings believes that its commit is safe. */
async function readPlainAnswer(server: PostgresServer): Promise<string> {
  return withClient(server.url('nuncio'), async (client) => {
    let warning = ''
    client.on('notice', ({ severity, message }) => {
      warning = `${severity}: ${message}`
    })
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    // A heartbeat updates this row, too. The workers see the change when they reconnect.
    const done = client.query('update checkpoint set mark = mark + 1')
    const isWaiting = async () => (await server.query(`${WAITING} and pid = $1`, [rows[0]?.pid])).length > 0
    await waitUntil('it waits for the standby', isWaiting, { deadlineMs: 10_000 })
    await server.query('select pg_cancel_backend($1)', [rows[0]?.pid])
    await done
    return `it was committed, with ${warning}`
  })
}
