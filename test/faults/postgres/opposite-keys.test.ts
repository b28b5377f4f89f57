import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { checkRun } from '../../support/black-box/check-run.ts'
import { type Cluster, openCluster } from '../../support/black-box/cluster.ts'
import { printTable } from '../../support/black-box/print-table.ts'
import type { Letter, SendClient, TryAnswer } from '../../support/black-box/send-client.ts'
import type { SentRequest } from '../../support/ledger/ledger-input.ts'
import { type PostgresServer, withClient } from '../../support/postgres/postgres-server.ts'
import { readRounds, timeLimitMs } from '../run-length.ts'

const rounds = readRounds({ brief: 6, quick: 2 })
const CONNECTIONS = 24
const HALF = CONNECTIONS / 2
const BURST = 240
/** A round in which one process ends before the other begins proves nothing. It is repeated, up to this many rounds in all. */
const MOST_ROUNDS = rounds + 20
const CONFLICT = 'idempotency_key_reused'

describe('the same idempotency keys at two processes on PostgreSQL, in opposite orders', () => {
  it(
    'G3 G5: makes one message of each, without a deadlock',
    async () => {
      const cluster = await openCluster({ workers: 2, connections: CONNECTIONS })
      try {
        const pairs: Pair[] = []
        // The same clients in all rounds: each opens connections, of which a process accepts only a limited number.
        const clients = [cluster.clientOf(0), cluster.clientOf(1)] as const
        let met = 0
        for (let round = 0; met < rounds && round < MOST_ROUNDS; round += 1) {
          const sent = await sendFromBothEnds(cluster, clients, round)
          if (haveMet(sent)) met += 1
          pairs.push(...sent)
        }

        const checked = await checkRun(cluster, pairs.flatMap(toRequests))
        const deadlocks = await countDeadlocks(cluster.server)
        printTable('opposite keys, PostgreSQL', {
          'rounds in which the processes met': met,
          'calls at once': 2 * BURST,
          ...checked.counts,
          ...checked.states,
          'answered first by the second process': pairs.filter(isSecondFirst).length,
          deadlocks,
        })
        const odd = pairs.filter((pair) => !isOneMessage(pair))
        assert.equal(
          odd.length,
          0,
          `${odd.length} pairs are not one message, such as ${JSON.stringify(odd.slice(0, 3))}`,
        )
        assert.equal(checked.input.messages.length, pairs.length)
        assert.equal(deadlocks, 0)
        assert.equal(met, rounds, 'One process was always done before the other began')
      } finally {
        await cluster.close()
      }
    },
    timeLimitMs(rounds),
  )
})

/** A letter, and how one of the two processes answered it. */
interface Call {
  readonly letter: Letter
  readonly sentAt: number
  readonly answer: TryAnswer
  readonly at: number
}

/** The two calls with one key. */
type Pair = readonly [Call, Call]

async function sendFromBothEnds(
  cluster: Cluster,
  [one, other]: readonly [SendClient, SendClient],
  round: number,
): Promise<Pair[]> {
  // Equal letters are already serialised by the locks of their lanes. Only letters from different connections meet at the key.
  const shift = (round % 2) * HALF
  const forwards = lettersOf(cluster, round, 0)
  const backwards = lettersOf(cluster, round, shift).toReversed()
  // In turns, so that neither process gets all of its calls before the other gets one.
  const sent = await Promise.all(
    forwards.map(async (letter, index) => await Promise.all([call(one, letter), call(other, backwards[index]!)])),
  )
  return sent.map(([first], index) => [first, sent.at(-1 - index)![1]])
}

function lettersOf({ connections }: Cluster, round: number, shift: number): Letter[] {
  return Array.from({ length: BURST }, (_, index) => {
    const number = round * BURST + index
    return {
      from: connections[(index % HALF) + shift]!,
      to: `4479${String(number).padStart(8, '0')}`,
      message: { type: 'message', message: `number ${number}` },
      idempotencyKey: `key-${number}`,
    }
  })
}

async function call(client: SendClient, letter: Letter): Promise<Call> {
  const sentAt = performance.now()
  const answer = await client.send(letter)
  return { letter, sentAt, answer, at: performance.now() }
}

/** Whether each process was the first to answer some of the keys. */
function haveMet(pairs: readonly Pair[]): boolean {
  return pairs.some(isSecondFirst) && !pairs.every(isSecondFirst)
}

function isSecondFirst([first, second]: Pair): boolean {
  return second.at < first.at
}

/** Whether a pair made one message. Equal letters: both answers have its id. Different letters: the second is refused. */
function isOneMessage([one, other]: Pair): boolean {
  const [first, second] = one.answer.kind === 'acked' ? [one, other] : [other, one]
  if (first.answer.kind !== 'acked') return false
  if (one.letter.from === other.letter.from) {
    return second.answer.kind === 'acked' && second.answer.messageId === first.answer.messageId
  }
  return second.answer.kind === 'refused' && second.answer.codes.includes(CONFLICT)
}

/** What the client knows. Two calls that were answered with the same message count as one request. */
function toRequests([one, other]: Pair): SentRequest[] {
  const [first, second] = one.at < other.at ? [toRequest(one), toRequest(other)] : [toRequest(other), toRequest(one)]
  const isSame = one.letter.from === other.letter.from && first.answer.kind === 'acked'
  return isSame ? [{ ...first, sentAt: Math.min(one.sentAt, other.sentAt) }] : [first, second]
}

function toRequest({ letter, sentAt, answer, at }: Call): SentRequest {
  const content = { type: 'message', text: String(letter.message['message']) }
  const known = answer.kind === 'acked' ? { ...answer, at } : { kind: answer.kind }
  return { connection: letter.from, to: letter.to, content, sentAt, answer: known }
}

/** Counts all deadlocks, including those after which a retry succeeded. */
async function countDeadlocks(server: PostgresServer): Promise<number> {
  const sql = `select deadlocks::int from pg_stat_database where datname = 'nuncio'`
  return await withClient(server.url('postgres'), async (client) => (await client.query(sql)).rows[0].deadlocks)
}
