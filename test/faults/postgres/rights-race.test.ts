import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { SendClient, type TryAnswer } from '../../support/black-box/send-client.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import type { ListedMessage, SentRequest } from '../../support/ledger/ledger-input.ts'
import { withClient } from '../../support/postgres/postgres-server.ts'
import { readRounds, readSeed, timeLimitMs } from '../run-length.ts'

const rounds = readRounds({ brief: 6, quick: 2 })
const seed = readSeed()
const WORKERS = 2
const CONNECTIONS = 6
const SENDERS_OF_EACH = 6
// The change comes at some time during the sending.
const CHANGE_WITHIN_MS = 250
const CALLS_AFTER = 6
// The one message that is just being sent may still be finished.
const DONE_WITHIN_MS = 30_000
const FIRST_TO_REMOVE = 15_550_007_000
// Slow enough that some messages wait when their connection is removed.
const SLOW_SANDBOX = ['--channel', 'sandbox', '--set', 'latency=40ms']
const TOKEN_CREATE = ['token', 'create', '--expires', '7d', '--event', 'messaging.send_message', '--name']

describe('rights that end while two processes accept on PostgreSQL', () => {
  let cluster: Cluster
  const calls: Call[] = []

  beforeAll(async () => {
    const settings = { track_commit_timestamp: true }
    cluster = await openCluster({ workers: WORKERS, connections: CONNECTIONS, settings })
  })

  afterAll(async () => {
    await cluster.close()
  })

  it(
    'G7: nothing is accepted under a token whose deletion has returned',
    async () => {
      const random = createRandom(seed)
      for (let round = 0; round < rounds; round += 1) {
        const name = `round-${round}`
        const { token } = await cluster.cli.json<{ token: string }>(...TOKEN_CREATE, name)
        const race = new Race({ cluster, token, senders: cluster.connections, calls })
        await race.endsWith(401, async () => {
          await setTimeout(random.between(30, CHANGE_WITHIN_MS))
          await cluster.cli.json('token', 'delete', name)
        })
      }
      assertInTime(await commitsOf(cluster, 'token.delete'))
    },
    timeLimitMs(rounds),
  )

  it(
    'G7: nothing is accepted for a connection whose removal has returned, and none of its messages still waits',
    async () => {
      const { cli } = cluster
      const random = createRandom(seed + 1)
      const { token } = await cli.json<{ token: string }>(...TOKEN_CREATE, 'stays')
      let cancelled = 0
      for (let round = 0; round < rounds; round += 1) {
        const number = String(FIRST_TO_REMOVE + round)
        await cli.json('connection', 'add', number, ...SLOW_SANDBOX)
        const race = new Race({ cluster, token, senders: [number], calls })
        await race.endsWith(404, async () => {
          await setTimeout(random.between(30, CHANGE_WITHIN_MS))
          const removed = await cli.json<{ cancelled: number }>('connection', 'remove', number, '--cancel-waiting')
          cancelled += removed.cancelled
        })
        await waitUntil(`nothing of ${number} waits`, () => isDone(cluster, number), { deadlineMs: DONE_WITHIN_MS })
      }
      assertInTime(await commitsOf(cluster, 'connection.remove'))
      assert.ok(cancelled > 0, 'No message waited when its connection was removed')
    },
    timeLimitMs(rounds),
  )

  it('G1 G2 G3 G5: the ledger of all these races adds up', async () => {
    const { counts, states } = await checkRun(
      cluster,
      calls.map(({ request }) => request),
    )
    printTable('rights that go, PostgreSQL', { rounds: 2 * rounds, seed, ...counts, ...states })
  })
})

async function isDone({ cli }: Cluster, number: string): Promise<boolean> {
  const messages = await cli.json<ListedMessage[]>('message', 'list')
  return messages.every(({ connection, state }) => connection !== number || state !== 'QUEUED')
}

/**
 * Counts the messages accepted under a right that ended, and those accepted too late. It compares the times of the commits,
 * because a caller cannot see what an accept that was under way did. Rows of idempotency keys and of the audit log never change,
 * so `xmin` is the transaction that created them.
 */
async function commitsOf({ databaseUrl }: Cluster, action: 'token.delete' | 'connection.remove') {
  const sql = `
    select count(*)::int as accepted, count(*) filter (
          where pg_xact_commit_timestamp(i.xmin) > pg_xact_commit_timestamp(a.xmin))::int as late,
        count(distinct a.sequence)::int as rights
      from audit a
      join message m on a.object in (m.token_id, m.connection_id)
      join idempotency i on i.message_sequence = m.sequence
      where a.action = $1`
  return await withClient(databaseUrl, async (client) => (await client.query<Commits>(sql, [action])).rows[0]!)
}

interface Commits {
  readonly rights: number
  readonly accepted: number
  readonly late: number
}

function assertInTime({ rights, accepted, late }: Commits): void {
  assert.equal(late, 0, `${late} of ${accepted} messages were accepted after the right for them had gone`)
  assert.equal(rights, rounds, 'Not every round has accepted something')
}

interface Call {
  readonly request: SentRequest
  readonly answer: TryAnswer
}

interface Runners {
  readonly cluster: Cluster
  readonly token: string
  readonly senders: readonly string[]
  /** Records the calls of all races. */
  readonly calls: Call[]
}

/** Sends to both processes at once until it has seen enough after the change. */
class Race {
  readonly #runners: Runners
  readonly #own: Call[] = []
  readonly #clients: readonly SendClient[]
  readonly #loops: Promise<unknown>
  #isOver = false

  constructor(runners: Runners) {
    this.#runners = runners
    this.#clients = runners.cluster.services.map(({ url }) => new SendClient({ url, token: runners.token }))
    this.#loops = Promise.all(
      this.#clients.flatMap((client) => Array.from({ length: SENDERS_OF_EACH }, () => this.#sendAll(client))),
    )
    this.#loops.catch(() => {})
  }

  /** After the change has returned, every call must get this status. */
  async endsWith(status: number, change: () => Promise<void>): Promise<void> {
    let changedAt = Number.POSITIVE_INFINITY
    try {
      const hasBegun = async () => this.#own.some(({ answer }) => answer.kind === 'acked')
      await waitUntil('something is accepted', hasBegun, { deadlineMs: 20_000, everyMs: 1 })
      await change()
      changedAt = performance.now()
    } finally {
      this.#isOver = true
      await this.#loops
      for (const client of this.#clients) client.close()
    }
    const late = this.#own.filter(({ request }) => request.sentAt >= changedAt)
    const statusOf = ({ answer }: Call) => (answer.kind === 'refused' ? answer.status : answer.kind)
    assert.deepEqual([...new Set(late.map(statusOf))], [status])
    const early = this.#own.filter(({ request }) => request.sentAt < changedAt).map(statusOf)
    assert.deepEqual(new Set(early), new Set(early.includes(status) ? [status, 'acked'] : ['acked']))
  }

  async #sendAll(client: SendClient): Promise<void> {
    let callsAfter = 0
    while (callsAfter < CALLS_AFTER) {
      if (this.#isOver) callsAfter += 1
      await this.#sendOne(client)
    }
  }

  async #sendOne(client: SendClient): Promise<void> {
    const { calls, senders } = this.#runners
    const number = calls.length
    const from = senders[number % senders.length]!
    const to = `4479${String(number).padStart(8, '0')}`
    const text = `number ${number}`
    const request = { connection: from, to, content: { type: 'message', text }, sentAt: performance.now() }
    const place = calls.push({ request: { ...request, answer: { kind: 'unknown' } }, answer: NONE }) - 1

    const answer = await client.send({ from, to, message: { type: 'message', message: text }, idempotencyKey: text })

    const known = answer.kind === 'acked' ? { ...answer, at: performance.now() } : { kind: answer.kind }
    const call: Call = { request: { ...request, answer: known }, answer }
    calls[place] = call
    this.#own.push(call)
  }
}

const NONE: TryAnswer = { kind: 'unknown', why: 'no answer yet' }
