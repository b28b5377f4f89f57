import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { judgeRun } from '../../support/black-box/judge-run.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import type { Letter, SendClient, TryAnswer } from '../../support/black-box/send-client.ts'
import type { SentRequest } from '../../support/ledger/ledger-input.ts'
import { type PostgresServer, withClient } from '../../support/postgres/postgres-server.ts'
import { readRounds } from '../run-length.ts'

const rounds = readRounds(10)
const CONNECTIONS = 24
const BURST = 240

describe('the same idempotency keys at two processes on PostgreSQL, in opposite orders', () => {
  it(
    'G3 G5: makes one message of each, told to both callers, and no locks are waited for in a circle',
    async () => {
      const cluster = await openCluster({ workers: 2, connections: CONNECTIONS })
      try {
        const clients = [cluster.clientOf(0), cluster.clientOf(1)] as const
        const bursts: Twice[][] = []
        for (let round = 0; round < rounds; round += 1) {
          bursts.push(await sendFromBothEnds(clients, lettersOf(cluster, round)))
        }

        const all = bursts.flat()
        const odd = all.flatMap(({ answers }) => answers).filter(({ kind }) => kind !== 'acked')
        const { counts, states } = await judgeRun(cluster, all.map(toRequest))
        const deadlocks = await countDeadlocks(cluster.server)
        const secondFirst = all.filter(({ answeredAt: [first, second] }) => second < first).length
        printTable('opposite keys, PostgreSQL', {
          rounds,
          'calls at once': 2 * BURST,
          ...counts,
          ...states,
          'other answers': odd.length,
          'answered first by the second process': secondFirst,
          deadlocks,
        })
        assert.deepEqual(odd, [])
        const told = all.map(({ answers }) => answers.map(idOf))
        assert.deepEqual(
          told.filter(([first, second]) => first !== second),
          [],
        )
        assert.equal(new Set(told.flat()).size, rounds * BURST)
        assert.equal(deadlocks, 0)
        // Else one process was done before the other began, and nothing has met.
        assert.ok(secondFirst > 0 && secondFirst < all.length, `${secondFirst} of ${all.length}`)
      } finally {
        await cluster.close()
      }
    },
    120_000 + rounds * 10_000,
  )
})

/** One letter, and what each of the two processes said to it. */
interface Twice {
  readonly letter: Letter
  readonly sentAt: number
  readonly answers: readonly [TryAnswer, TryAnswer]
  readonly answeredAt: readonly [number, number]
}

function lettersOf({ connections }: Cluster, round: number): Letter[] {
  return Array.from({ length: BURST }, (_, index) => {
    const number = round * BURST + index
    return {
      from: connections[index % connections.length]!,
      to: `4479${String(number).padStart(8, '0')}`,
      message: { type: 'message', message: `number ${number}` },
      idempotencyKey: `key-${number}`,
    }
  })
}

async function sendFromBothEnds(
  [first, second]: readonly [SendClient, SendClient],
  letters: readonly Letter[],
): Promise<Twice[]> {
  const sentAt = performance.now()
  const [forwards, backwards] = await Promise.all([sendAll(first, letters), sendAll(second, letters.toReversed())])
  return letters.map((letter, index) => {
    const one = forwards[index]!
    const other = backwards.at(-1 - index)!
    return { letter, sentAt, answers: [one.answer, other.answer], answeredAt: [one.at, other.at] }
  })
}

function sendAll(client: SendClient, letters: readonly Letter[]) {
  return Promise.all(
    letters.map(async (letter) => {
      const answer = await client.send(letter)
      return { answer, at: performance.now() }
    }),
  )
}

function idOf(answer: TryAnswer): string | null {
  return answer.kind === 'acked' ? answer.messageId : null
}

/** What the two calls together let a client know. */
function toRequest({ letter, sentAt, answers, answeredAt }: Twice): SentRequest {
  const content = { type: 'message', text: String(letter.message['message']) }
  const request = { connection: letter.from, to: letter.to, content, sentAt }
  const acked = answers.find(({ kind }) => kind === 'acked')
  if (acked?.kind === 'acked') {
    return { ...request, answer: { ...acked, at: Math.min(...answeredAt) } }
  }
  return { ...request, answer: { kind: answers.every(({ kind }) => kind === 'refused') ? 'refused' : 'unknown' } }
}

/** Also those that were got over by trying again. */
async function countDeadlocks(server: PostgresServer): Promise<number> {
  const sql = `select deadlocks::int from pg_stat_database where datname = 'nuncio'`
  return await withClient(server.url('postgres'), async (client) => (await client.query(sql)).rows[0].deadlocks)
}
