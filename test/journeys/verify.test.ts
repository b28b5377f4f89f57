import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, it, onTestFinished, vi } from 'vitest'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, openStranger, readRows, settingsOf } from '../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import { type Journey, SENDER, startNuncio } from '../support/journey/start-nuncio.ts'
import { withClient } from '../support/postgres/postgres-server.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'

const LOOPBACK = { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' }
const TO = '15551234567'

interface Verified {
  readonly isSound: boolean
  readonly messages: number
  readonly findings: readonly { code: string; isDamage: boolean; count: number; where: string[]; nextStep: string }[]
}

/** What cannot be checked on this machine says nothing about the data. */
const LEFT_OUT = 'not_checked'

/** A command that takes longer than a second prints this progress, which happens on a busy machine. */
const PROGRESS = /^nuncio: [a-z ]+: \d+\n/gm

async function verify(journey: Journey, ...args: readonly string[]) {
  const { code, stdout, stderr } = await new CliOn(journey.dataDir, settingsOf(journey)).run(
    'verify',
    ...args,
    '--json',
  )
  assert.equal(stderr.replaceAll(PROGRESS, ''), '')
  const verified = JSON.parse(stdout) as Verified
  assert.equal(code, verified.isSound ? 0 : 1)
  return { ...verified, codes: verified.findings.map((finding) => finding.code).filter((one) => one !== LEFT_OUT) }
}

/** Creates messages that are delivered, failed, unconfirmed, and waiting, one of them with an attachment. */
async function liveALittle(nuncio: Journey): Promise<{ readonly waiting: string; readonly connection: string }> {
  const host = await serveFiles({ '/a.png': { body: tinyPng(), type: 'image/png' } })
  const ended = [await nuncio.text(TO, 'Grüße 👩‍👩‍👧'), await nuncio.text('15550100001', 'refused')]
  const unknown = await nuncio.text('15550100004', 'lost', { 'idempotency-key': 'order-1' })
  for (const { messageId } of ended) await nuncio.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ', 'FAILED')
  await nuncio.reaches(unknown.messageId, 'UNCONFIRMED')
  const { administration } = nuncio.operator
  const { id } = await administration.findConnection(SENDER, null)
  await administration.setConnectionState(id, 'paused', 'test')
  const waiting = await nuncio.text(TO, 'waits')
  const media = { name: 'a.png', url: `${host}/a.png` }
  await nuncio.post({ from: SENDER, to: TO, message: { type: 'image', media } })
  await vi.waitUntil(
    async () => (await readRows(nuncio, `select 1 as one from media where state = 'ready'`)).length > 0,
    { timeout: 30_000 },
  )
  const cancelled = await nuncio.text(TO, 'cancelled')
  await administration.cancelMessage(cancelled.messageId as never, 'test')
  return { waiting: waiting.messageId, connection: id }
}

describe.each(ENGINES)('nuncio verify on $name', ({ name, start }) => {
  it('finds no fault in messages of every state, while the service runs and after it has stopped', async () => {
    const nuncio = await start({ settings: LOOPBACK })
    await liveALittle(nuncio)

    const beside = await verify(nuncio)
    await nuncio.stop()
    const after = await verify(nuncio)

    assert.deepEqual([beside.codes, after.codes, after.messages], [[], [], 6])
  })

  it('finds each kind of damage, says where it is, and exits with 1', async () => {
    const nuncio = await start({ settings: LOOPBACK })
    const { connection } = await liveALittle(nuncio)
    await nuncio.stop()
    const stranger = await openStranger(nuncio.database)
    const isPostgres = name === 'PostgreSQL'
    const ended = isPostgres ? 'settled' : 'message'
    const spoil = async (sql: string) => void (await stranger.run(sql))
    await spoil(`update ${ended} set body = body || ' ' where recipient = '15550100001'`)
    await spoil(`update ${ended} set connection_id = 'con_gone' where recipient = '15550100004'`)
    await spoil(
      `insert into timeline (message_sequence, position, at, kind) values (${isPostgres ? '(1::bigint << 40) + 900000' : 900000}, 1, 1, 'accepted')`,
    )
    await spoil(`update idempotency set message_sequence = message_sequence + 500000`)
    await spoil(
      `insert into open_attempt (connection_id, ${isPostgres ? 'account_id,' : ''} message_sequence, number, epoch, started_at)
         select connection_id, ${isPostgres ? 'account_id,' : ''} sequence, 1, 1, 1 from ${ended} where state = 'CANCELLED'`,
    )
    await spoil(`insert into tally_hour (hour, counted_at) values (3600000, 1)`)
    await spoil(
      `insert into tally (account_id, connection_id, hour, state, count) values ('a', '', 3600000, 'failed', 2)`,
    )
    await spoil(`insert into hold (only, since, reason) values (1, 1, 'to check')`.replace('only', '"only"'))
    if (isPostgres) await spoil(`select setval(pg_get_serial_sequence('audit', 'sequence'), 1)`)
    else await spoil(`update sqlite_sequence set seq = 0 where name = 'channel_memory'`)
    if (!isPostgres) {
      await spoil(`update indexed_through set sequence = (select max(sequence) from message)`)
      await spoil(`delete from lane_entry`)
    }
    await stranger.close()
    rmSync(join(nuncio.dataDir, 'spool'), { recursive: true })
    rmSync(join(nuncio.dataDir, 'keys'), { recursive: true })

    const { isSound, codes, findings } = await verify(nuncio)

    const expected = [
      'attempt_astray',
      'body_damaged',
      'held',
      'key_ring_unusable',
      'key_without_message',
      'left_behind',
      // On PostgreSQL a waiting message is in its lane by its place in the table of waiting messages.
      ...(isPostgres ? [] : ['media_missing', 'not_in_lane']),
      'number_given_twice',
      'reference_broken',
      'tally_differs',
    ]
    assert.deepEqual([isSound, codes.sort()], [false, expected])
    assert.match(JSON.stringify(findings), new RegExp(`connection ${connection}: the message .* is CANCELLED`))
    assert.ok(findings.every(({ nextStep, where }) => nextStep.length > 0 && where.length > 0))
  })
})

describe('nuncio verify of a damaged file on SQLite', () => {
  it('names an index that does not match its table', async () => {
    const nuncio = await startNuncio()
    await nuncio.text(TO, 'one')
    await nuncio.stop()
    const file = new DatabaseSync(join(nuncio.dataDir, 'nuncio.db'), { defensive: false })
    file.exec(
      `pragma writable_schema = on;
       update sqlite_schema set sql = replace(sql, 'where reason is not null', 'where reason is null') where name = 'message_with_reason'`,
    )
    file.close()

    const { isSound, codes } = await verify(nuncio)

    assert.deepEqual([isSound, codes], [false, ['index_damaged']])
  })
})

describe('nuncio verify on PostgreSQL with a separate role for the service', () => {
  it('finds no fault, and notices a number that would be assigned twice', async () => {
    const database = await openTestDatabase()
    const role = `${database.name}_app`
    const asOwner = (sql: string) => withClient(database.url, (client) => client.query(sql))
    await asOwner(`create role ${role} login password 'a'`)
    onTestFinished(async () => {
      await asOwner(`drop owned by ${role} cascade; drop role ${role}`)
      await database.drop()
    })
    const url = new URL(database.url)
    url.username = role
    url.password = 'a'
    const settings = { NUNCIO_DATABASE_URL: url.href, NUNCIO_DATABASE_MIGRATE_URL: database.url }
    const nuncio = await startNuncio({ settings: { ...LOOPBACK, ...settings } })
    await liveALittle(nuncio)

    const before = await verify(nuncio)
    await asOwner(`select setval('message_block', 1)`)
    const after = await verify(nuncio)

    assert.deepEqual([before.isSound, before.codes, after.codes], [true, [], ['number_given_twice']])
  })
})
