import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { judgeRun } from '../../support/black-box/judge-run.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import { createRandom } from '../../support/black-box/random.ts'
import { SendClient, type TryAnswer } from '../../support/black-box/send-client.ts'
import type { ListedMessage, SentRequest } from '../../support/ledger/ledger-input.ts'
import { readRounds, readSeed } from '../run-length.ts'

const rounds = readRounds(12)
const seed = readSeed()
const WORKERS = 2
const CONNECTIONS = 6
const SENDERS_OF_EACH = 6
// The change comes somewhere in the middle of the sending.
const CHANGE_WITHIN_MS = 250
const CALLS_AFTER = 10
const FIRST_TO_REMOVE = 15_550_007_000
// So slow that some messages wait when their connection goes.
const SLOW_SANDBOX = ['--channel', 'sandbox', '--set', 'latency=40ms']
const TOKEN_CREATE = ['token', 'create', '--expires', '7d', '--event', 'messaging.send_message', '--name']

describe('rights that go while two processes accept on PostgreSQL', () => {
  let cluster: Cluster
  const calls: Call[] = []

  beforeAll(async () => {
    cluster = await openCluster({ workers: WORKERS, connections: CONNECTIONS })
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
        await setTimeout(random.between(30, CHANGE_WITHIN_MS))
        await cluster.cli.json('token', 'delete', name)
        await race.endsWith(401)
      }
    },
    60_000 + rounds * 5_000,
  )

  it(
    'G7: nothing is accepted for a connection whose removal has returned, and nothing of it is left waiting',
    async () => {
      const { cli } = cluster
      const random = createRandom(seed + 1)
      const { token } = await cli.json<{ token: string }>(...TOKEN_CREATE, 'stays')
      let cancelled = 0
      for (let round = 0; round < rounds; round += 1) {
        const number = String(FIRST_TO_REMOVE + round)
        await cli.json('connection', 'add', number, ...SLOW_SANDBOX)
        const race = new Race({ cluster, token, senders: [number], calls })
        await setTimeout(random.between(30, CHANGE_WITHIN_MS))
        const removed = await cli.json<{ cancelled: number }>('connection', 'remove', number, '--cancel-waiting')
        cancelled += removed.cancelled
        await race.endsWith(404)
        const messages = await cli.json<ListedMessage[]>('message', 'list')
        const left = messages.filter(({ connection, state }) => connection === number && state === 'QUEUED')
        assert.deepEqual(left, [])
      }
      assert.ok(cancelled > 0, 'No message waited when its connection was removed')
    },
    60_000 + rounds * 5_000,
  )

  it('G1 G2 G3 G5: and the ledger of all these races adds up', async () => {
    const { counts, states } = await judgeRun(
      cluster,
      calls.map(({ request }) => request),
    )
    printTable('rights that go, PostgreSQL', { rounds: 2 * rounds, seed, ...counts, ...states })
  }, 120_000)
})

interface Call {
  readonly request: SentRequest
  readonly answer: TryAnswer
}

interface Runners {
  readonly cluster: Cluster
  readonly token: string
  readonly senders: readonly string[]
  /** Where all calls are noted, of other races too. */
  readonly calls: Call[]
}

/** Sends by both processes at once until it has seen enough after the change. */
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

  /** To be called when the change has returned: from then on every call must get this status. */
  async endsWith(status: number): Promise<void> {
    const changedAt = performance.now()
    this.#isOver = true
    await this.#loops
    for (const client of this.#clients) client.close()
    const late = this.#own.filter(({ request }) => request.sentAt >= changedAt)
    const statusOf = ({ answer }: Call) => (answer.kind === 'refused' ? answer.status : answer.kind)
    assert.deepEqual([...new Set(late.map(statusOf))], [status])
    const early = this.#own.filter(({ request }) => request.sentAt < changedAt).map(statusOf)
    assert.deepEqual([...new Set(early)].toSorted(), early.includes(status) ? [status, 'acked'] : ['acked'])
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

    const answer = await client.send({ from, to, message: { type: 'message', message: text }, idempotencyKey: null })

    const known = answer.kind === 'acked' ? { ...answer, at: performance.now() } : { kind: answer.kind }
    const call: Call = { request: { ...request, answer: known }, answer }
    calls[place] = call
    this.#own.push(call)
  }
}

const NONE: TryAnswer = { kind: 'unknown', why: 'no answer yet' }
