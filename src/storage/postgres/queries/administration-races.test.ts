import assert from 'node:assert/strict'
import { Kysely } from 'kysely'
import type { Client, Pool } from 'pg'
import pg from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { openMigratedDatabase } from '../../../../test/support/administration-world/migrated-database.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { TestDatabase } from '../../../../test/support/postgres/test-database.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import { decideAfterTry } from '../../../core/notifications/decide-after-try.ts'
import type { NotificationKind } from '../../../core/notifications/notification-kinds.ts'
import type { Administration } from '../../../core/ports/administration.ts'
import type { PostEnd } from '../../../core/ports/guarded-post.ts'
import { createAdministration } from '../../queries/administration.ts'
import type { Engine } from '../../queries/engine.ts'
import { snapshot } from '../../queries/store.ts'
import type { Tables } from '../../queries/tables.generated.ts'
import { createDeliveries } from '../../queries/webhooks/deliveries.ts'
import { createWebhooks } from '../../queries/webhooks/webhooks.ts'
import { createPostgresDialect, openPool } from '../connection/kysely-dialect.ts'
import { postgresEngine } from './administration-engine.ts'

let database: TestDatabase
let pool: Pool
let administration: Administration
/** The session of a service that is in the middle of a transaction. */
let service: Client
let looker: Client
let account: AccountId
let connection: ConnectionId
let made = 0

const WITHOUT_LOCKS: Engine = {
  ...postgresEngine,
  lockLane: async () => {},
  lockMessage: async () => {},
  lockLastWaiting: async () => {},
}

beforeEach(async () => {
  database = await openMigratedDatabase()
  pool = openPool(database.url, { user: 'administration', file: null })
  administration = administrationWith(postgresEngine)
  service = await connect()
  looker = await connect()
  account = (await administration.createAccount('Acme', 'test')).id
  connection = await addConnection()
})

afterEach(async () => {
  await pool.end()
  await service.end()
  await looker.end()
  await database.drop()
})

async function connect(): Promise<Client> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  return client
}

function kysely(): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: createPostgresDialect(pool, database.url) })
}

function administrationWith(engine: Engine): Administration {
  return createAdministration({ database: kysely(), engine, now: () => Date.now() })
}

async function addConnection(number = '15550001000'): Promise<ConnectionId> {
  const wanted = { accountId: account, number, channel: 'sandbox', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
  return (await administration.addConnection(wanted, 'test')).id
}

/** Stores an accepted message, as the service does. */
async function accept(client: Client = looker): Promise<{ id: MessageId; sequence: string }> {
  const id = `message-${++made}`
  const { rows } = await client.query<{ sequence: string }>(
    `with locked as (select lock_lane_of($1))
     insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
       select next_block(), $2, $3, $1, '{}', 0, '15550100000', 'message', 1 from locked returning sequence`,
    [connection, id, account],
  )
  return { id: id as MessageId, sequence: rows[0]!.sequence }
}

async function settle(sequence: string, state: string, client: Client = looker): Promise<void> {
  await client.query('select end_queued($1, $2, $3, $4, null, null, 2)', [account, connection, sequence, state])
}

async function open(sequence: string, client: Client = looker): Promise<void> {
  await client.query('select 1 from queued where sequence = $1 for no key update', [sequence])
  await client.query(
    `insert into open_attempt (connection_id, account_id, message_sequence, number, epoch, started_at)
       values ($1, $2, $3, 1, 1, 1)`,
    [connection, account, sequence],
  )
}

async function stateOf(id: MessageId): Promise<string> {
  return (await administration.explainMessage(id)).message.state
}

async function actions(): Promise<string[]> {
  const { rows } = await looker.query<{ action: string }>('select action from audit order by sequence')
  return rows.map(({ action }) => action)
}

/** Resolves once a session waits for a lock that the service holds. */
async function changeWaits(count = 1): Promise<void> {
  const waits = async () => {
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    return (await looker.query(waiting)).rows.length >= count
  }
  await waitUntil('a change waits for the service', waits, { deadlineMs: 5_000, everyMs: 5 })
}

/** Asserts that the change waits until the service commits, and is refused then. */
async function refusedOnCommit(changing: Promise<unknown>, refusal: { code: string; message?: RegExp }): Promise<void> {
  await Promise.all([changeWaits().then(() => service.query('commit')), assert.rejects(changing, refusal)])
}

describe('removing a connection while a message is being accepted for it', () => {
  it('G7: waits for the acceptance, and cancels its message as well', async () => {
    await service.query('begin')
    const { id } = await accept(service)

    const removing = administration.removeConnection(connection, true, 'test')
    await changeWaits()
    await service.query('commit')

    assert.deepEqual(await removing, { cancelled: 1, unconfirmed: 0 })
    assert.equal(await stateOf(id), 'CANCELLED')
  })

  it('is refused for that message', async () => {
    await service.query('begin')
    await accept(service)

    const removing = administration.removeConnection(connection, false, 'test')
    await refusedOnCommit(removing, { code: 'connection_has_waiting' })
  })

  it('leaves the message queued without the lock of the lane', async () => {
    const careless = administrationWith({
      ...postgresEngine,
      lockLane: async () => {},
      lockLastWaiting: async () => {},
    })
    await service.query('begin')
    const { id } = await accept(service)

    const removing = careless.removeConnection(connection, true, 'test')
    await changeWaits()
    await service.query('commit')

    assert.deepEqual(await removing, { cancelled: 0, unconfirmed: 0 })
    assert.equal(await stateOf(id), 'QUEUED')
  })
})

describe('removing a connection while its lane proceeds', () => {
  it('G5: also cancels a message that is re-queued at the same time', async () => {
    const { id, sequence } = await accept()
    await open(sequence)
    await service.query('begin')
    await service.query('delete from open_attempt')
    await service.query('update queued set attempts = 1 where sequence = $1', [sequence])

    const removing = administration.removeConnection(connection, true, 'test')
    await changeWaits()
    await service.query('commit')

    assert.deepEqual(await removing, { cancelled: 1, unconfirmed: 0 })
    assert.equal(await stateOf(id), 'CANCELLED')
  })

  it('waits for the step from one message to the next, and does not block it', async () => {
    const messages = [await accept(), await accept(), await accept()]
    const [first, second, third] = messages as [(typeof messages)[0], (typeof messages)[0], (typeof messages)[0]]
    await open(first.sequence)
    await service.query('begin')
    await service.query('select 1 from queued where sequence = $1 for no key update', [second.sequence])

    const removing = administration.removeConnection(connection, true, 'test')
    await changeWaits()
    await service.query('update open_attempt set message_sequence = $1', [second.sequence])
    await settle(first.sequence, 'PUBLISHED', service)
    await service.query('commit')

    assert.deepEqual(await removing, { cancelled: 1, unconfirmed: 0 })
    assert.deepEqual(await Promise.all([first, second, third].map(({ id }) => stateOf(id))), [
      'PUBLISHED',
      'SENDING',
      'CANCELLED',
    ])
  })
})

describe('cancelling a message for which the service opens an attempt at the same time', () => {
  it('G4: is refused when it is being handed over', async () => {
    const { id, sequence } = await accept()
    await service.query('begin')
    await open(sequence, service)

    const cancelling = administration.cancelMessage(id, 'test')
    await refusedOnCommit(cancelling, { code: 'message_not_waiting', message: /handed over/ })

    assert.equal(await stateOf(id), 'SENDING')
    assert.ok(!(await actions()).includes('message.cancel'))
  })

  it('is refused when it has ended', async () => {
    const { id, sequence } = await accept()
    await service.query('begin')
    await settle(sequence, 'PUBLISHED', service)

    const cancelling = administration.cancelMessage(id, 'test')
    await refusedOnCommit(cancelling, { code: 'message_not_waiting', message: /PUBLISHED/ })

    assert.equal(await stateOf(id), 'PUBLISHED')
  })

  it.each([
    ['is being handed over', (sequence: string) => open(sequence, service)],
    ['has ended', (sequence: string) => settle(sequence, 'PUBLISHED', service)],
  ])('is refused by the tables themselves when the message was not locked before and %s', async (_, takeUp) => {
    const { id, sequence } = await accept()
    await service.query('begin')
    await takeUp(sequence)

    const cancelling = administrationWith(WITHOUT_LOCKS).cancelMessage(id, 'test')
    await refusedOnCommit(cancelling, { code: 'message_not_waiting', message: /has just changed/ })

    assert.ok(!(await actions()).includes('message.cancel'))
  })
})

describe('retrying and resolving while a report of the network arrives', () => {
  it('G5: refuses to send again a message that was reported as arrived', async () => {
    const { id, sequence } = await accept()
    await settle(sequence, 'FAILED')
    await service.query('begin')
    await service.query(`update settled set state = 'PUBLISHED', published_at = 3 where sequence = $1`, [sequence])

    const retrying = administration.retryMessage(id, 'test')
    await refusedOnCommit(retrying, { code: 'message_not_ended' })

    assert.equal((await looker.query('select from queued')).rowCount, 0)
  })

  it.each([
    ['locked before', postgresEngine],
    ['not locked before', WITHOUT_LOCKS],
  ])('does not resolve a message, %s, that the report has resolved', async (_, engine) => {
    const { id, sequence } = await accept()
    await settle(sequence, 'UNCONFIRMED')
    await service.query('begin')
    await service.query(`update settled set state = 'DELIVERED', published_at = 3 where sequence = $1`, [sequence])

    const resolving = administrationWith(engine).resolveMessage(id, 'arrived', 'test')
    await refusedOnCommit(resolving, { code: 'message_not_unconfirmed' })

    assert.equal(await stateOf(id), 'DELIVERED')
  })

  it('writes both to the timeline', async () => {
    const { id, sequence } = await accept()
    await settle(sequence, 'FAILED')
    await service.query('begin')
    await service.query(
      `insert into timeline (message_sequence, position, at, kind) values ($1, 1, 3, 'receipt-failed')`,
      [sequence],
    )

    const retrying = administration.retryMessage(id, 'test')
    await changeWaits()
    await service.query('commit')
    await retrying

    const { rows } = await looker.query(
      'select position, kind from timeline where message_sequence = $1 order by position',
      [sequence],
    )
    assert.deepEqual(rows, [
      { position: 1, kind: 'receipt-failed' },
      { position: 2, kind: 'sent-again' },
    ])
  })
})

describe('several people who change things at once', () => {
  it.each([
    ['account', () => administration.createAccount('Twice', 'test')],
    ['connection', () => addConnection('15550002000')],
    ['token', () => createToken()],
  ])('create one %s of a name, and the others are refused', async (kind, make) => {
    const results = await Promise.allSettled([make(), make(), make()])

    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
    assert.deepEqual(refused, [`${kind}_exists`, `${kind}_exists`])
  })

  it('append each copy to the lane in the order in which they were made', async () => {
    const { id, sequence } = await accept()
    await settle(sequence, 'FAILED')
    const other = await accept()
    await settle(other.sequence, 'EXPIRED')
    const waiting = await accept()

    await Promise.all([administration.retryMessage(id, 'test'), administration.retryMessage(other.id, 'test')])

    const { rows: queued } = await looker.query('select id, resend_of from queued order by sequence')
    const { rows: made } = await looker.query(
      `select detail::json ->> 'resent' as id from audit where action = 'message.retry' order by sequence`,
    )
    const copies = queued.slice(1)
    assert.deepEqual(
      copies.map((row) => row.id),
      made.map((row) => row.id),
    )
    assert.deepEqual(new Set(copies.map((row) => row.resend_of)), new Set([sequence, other.sequence]))
    assert.equal((await administration.explainMessage(waiting.id)).position, 1)
  })

  it('block the disabling of a webhook meanwhile, so that the notice kinds of other webhooks are kept', async () => {
    const store = { database: kysely(), engine: postgresEngine, now: () => Date.now() }
    const [hooks, work] = [createWebhooks(store), createDeliveries(store)]
    const add = (id: string, kind: NotificationKind) =>
      hooks.addWebhook(
        { accountId: account, id, url: 'https://shop.example/hook', description: '', kinds: [kind], secret: 'sealed' },
        'test',
      )
    await add('whk_gone', 'webhook.disabled')
    await hooks.testWebhook({ accountId: account, id: 'whk_gone' }, 'test')
    const [claimed] = await work.claimDue({ room: 1, roomForFailing: 1, leaseMs: 60_000 })
    assert.ok(claimed)
    const gone: PostEnd = { kind: 'answered', status: 410, retryAfterMs: null, excerpt: '' }
    const checked = decideAfterTry(gone, { number: 1, now: Date.now(), jitter: 0.5 })

    await service.query('begin; select pg_advisory_xact_lock(3, 0)')
    const adding = add('whk_new', 'message.failed')
    await changeWaits()
    const recording = work.record([{ ...claimed, at: Date.now(), tookMs: 1, checked }])
    const hasWaited = await Promise.race([recording.then(() => false), changeWaits(2).then(() => true)])
    await service.query('commit')
    await adding
    const disabled = await recording

    const { rows } = await looker.query('select kind from notice_want')
    assert.equal(hasWaited, true)
    assert.equal(disabled.length, 1)
    assert.deepEqual(rows, [{ kind: 'message.failed' }])
  })

  it('read everything from one snapshot', async () => {
    await accept()
    const store = { database: kysely(), engine: postgresEngine, now: () => 1 }

    const counts = await snapshot(store, async (tables) => {
      const count = async () => (await tables.selectFrom('message').select('id').execute()).length
      const before = await count()
      await accept()
      return [before, await count()]
    })

    assert.deepEqual(counts, [1, 1])
  })
})

function createToken() {
  return administration.createToken(
    {
      accountId: account,
      name: 'shop',
      events: ['messaging.send_message'],
      expiresAt: 9_000_000_000_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: Buffer.alloc(32, ++made),
      prefix: `prefix-${made}`,
    },
    'test',
  )
}
