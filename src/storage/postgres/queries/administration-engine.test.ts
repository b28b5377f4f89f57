import assert from 'node:assert/strict'
import type { Client } from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import {
  DAY_MS,
  FIRST_DAY,
  openDatabaseOfDays,
} from '../../../../test/support/administration-world/database-of-days.ts'
import type { TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import type { MessageFilter, RequestFilter } from '../../../core/ports/administration.ts'
import { exponentialRanges } from '../../queries/engine.ts'
import { PERIOD_LENGTH } from '../retention/periods.ts'
import { postgresEngine } from './administration-engine.ts'
import { type OpenAdministration, openAdministration } from './open-administration.ts'

const ALL: MessageFilter = { accountId: null, connectionId: null, state: null, limit: null }
const ALL_REQUESTS: RequestFilter = { accountId: null, tokenIds: null, connection: null, statuses: null, limit: null }

let database: TestDatabase
let client: Client
let visit: OpenAdministration
let account: AccountId
let connection: ConnectionId

beforeEach(async () => {
  ;({ database, client } = await openDatabaseOfDays())
  const { url } = database
  visit = await openAdministration({ url, migrateUrl: url }, { create: false })
  account = (await visit.administration.createAccount('Acme', 'test')).id
  const wanted = { channel: 'sandbox', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
  connection = (
    await visit.administration.addConnection({ accountId: account, number: '15550001000', ...wanted }, 'test')
  ).id
})

afterEach(async () => {
  await visit.close()
  await client.end()
  await database.drop()
})

/** Lets days pass, each with a period of its own. */
async function pass(days: number): Promise<void> {
  for (let day = 0; day < days; day++) await client.query(`update day set ms = ms + ${DAY_MS}; select open_period()`)
}

async function accept(id: string, state = 'QUEUED'): Promise<void> {
  await client.query(
    `insert into message (id, account_id, connection_id, request_id, body, body_crc, recipient, type, state, accepted_at)
       values ($1, $2, $3, 'request-' || $1, '{}', 0, '15550100000', 'message', 'QUEUED', now_ms())`,
    [id, account, connection],
  )
  if (state !== 'QUEUED') await client.query('update message set state = $2 where id = $1', [id, state])
}

/** A request that was refused, or one that repeats a message. */
async function request(id: string, message: string | null = null): Promise<void> {
  await client.query(
    `insert into request (account_id, token_id, request_id, received_at, took_us, status, code, message_id)
       values ($1, 'tok_1', $2, now_ms() + 1, 1, 400, 'HC-2', $3)`,
    [account, id, message],
  )
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = []
  for await (const item of items) all.push(item)
  return all
}

async function listed(filter: Partial<MessageFilter> = {}): Promise<string[]> {
  return (await collect(visit.administration.listMessages({ ...ALL, ...filter }))).map(({ id }) => id)
}

/** An id as the service makes them: it begins with the time. */
function idAt(ms: number, end: string): string {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${end.padStart(12, '0')}`
}

describe('lists over many periods', () => {
  it('are complete and newest first, with empty periods in between', async () => {
    const ids = ['a', 'b', 'c', 'd', 'e', 'f']
    for (const [at, id] of ids.entries()) {
      await accept(id, at % 2 === 0 ? 'FAILED' : 'QUEUED')
      await request(`refused-${id}`)
      await pass(at + 1)
    }
    const newestFirst = [...ids].reverse()

    assert.deepEqual(await listed(), newestFirst)
    assert.deepEqual(await listed({ limit: 4 }), newestFirst.slice(0, 4))
    assert.deepEqual(await listed({ state: 'FAILED', connectionId: connection }), ['e', 'c', 'a'])
    assert.deepEqual(await listed({ state: 'QUEUED', accountId: account }), ['f', 'd', 'b'])
    assert.deepEqual(
      (await collect(visit.administration.listRequests(ALL_REQUESTS))).map(({ requestId }) => requestId),
      newestFirst.flatMap((id) => [`refused-${id}`, `request-${id}`]),
    )
  })

  it('contain rows that were copied from another database, as the oldest', async () => {
    await accept('newer')
    await client.query(
      `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
         values (7, 'copied', $1, $2, '{}', 0, '1', 'message', 1)`,
      [account, connection],
    )

    assert.deepEqual(await listed(), ['newer', 'copied'])
  })

  it('are read in exponentially growing ranges', () => {
    const spans = Array.from({ length: 100 }, (_, at) => ({ from: 100 - at, before: 101 - at }))

    const steps = [...exponentialRanges(spans)]

    assert.deepEqual(
      steps.map(({ from, before }) => before - from),
      [1, 2, 4, 8, 16, 32, 32, 5],
    )
    assert.deepEqual([steps[0]?.before, steps.at(-1)?.from], [101, 1])
    for (const [at, step] of steps.entries()) if (at > 0) assert.equal(step.before, steps[at - 1]?.from)
  })
})

describe('a message', () => {
  it.each([
    ['of now', 0],
    ['whose maker’s clock was behind', -40 * 60_000],
    ['whose maker’s clock was ahead', 40 * 60_000],
    ['whose maker’s clock was wrong by days', 9 * DAY_MS],
  ])('is found by its id: one %s', async (_, wrongMs) => {
    await pass(5)
    const id = idAt(FIRST_DAY + 5 * DAY_MS + wrongMs, '1')
    await accept(id)
    await pass(5)

    assert.equal((await visit.administration.explainMessage(id as MessageId)).message.id, id)
  })

  it('is found by an id without a time, and an unknown id is refused', async () => {
    await accept('plain')
    await pass(2)

    assert.equal((await visit.administration.explainMessage('plain' as MessageId)).message.id, 'plain')
    for (const id of ['', 'plai', idAt(FIRST_DAY, '1'), idAt(1, '1')])
      await assert.rejects(visit.administration.explainMessage(id as MessageId), { code: 'message_unknown' })
  })

  it('lists its repeats of the next day, and they name it', async () => {
    await accept('original')
    await pass(1)
    await request('again', 'original')
    await pass(1)

    const { timeline } = await visit.administration.explainMessage('original' as MessageId)
    const [repeat] = await collect(visit.administration.listRequests(ALL_REQUESTS))

    assert.ok(timeline.some(({ kind, facts }) => kind === 'repeated' && facts['requestId'] === 'again'))
    assert.deepEqual([repeat?.requestId, repeat?.messageId, repeat?.state], ['again', 'original', 'QUEUED'])
  })

  it('that was copied finds repeats in any later period', () => {
    assert.deepEqual(postgresEngine.repeatsOf(7), [{ from: 0, before: Number.MAX_SAFE_INTEGER }])
    assert.deepEqual(postgresEngine.repeatedBy({ from: 9 * PERIOD_LENGTH, before: 10 * PERIOD_LENGTH })[0], {
      from: 0,
      before: PERIOD_LENGTH,
    })
  })
})
