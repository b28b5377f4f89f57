import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Client } from 'pg'
import { describe, it, onTestFinished } from 'vitest'
import { migrateDatabase } from '../../src/storage/postgres/connection/open-database.ts'
import { nuncioEnvironment, nuncioMain } from '../support/black-box/nuncio-environment.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { NewHome } from '../support/journey/new-home.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import { type Journey, SENDER, startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { cutAt, TcpProxy } from '../support/tcp-proxy.ts'

const LOOPBACK = { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' }
const TO = '15551234567'

const home = new NewHome()

async function isEmpty(): Promise<boolean> {
  const [row] = await home.query('select (select count(*) from account) + (select count(*) from message) as rows')
  return row?.['rows'] === '0'
}

/** Creates messages in every state: delivered, failed, unconfirmed, waiting, repeated, refused, with and without attachments. */
async function liveALittle(nuncio: Journey): Promise<{ waiting: string; once: string }> {
  const { administration } = nuncio.operator
  const host = await serveFiles({ '/a.png': { body: tinyPng(), type: 'image/png' } })
  const media = { name: 'a.png', url: `${host}/a.png` }
  const [good, refused, busy, lost, gone, once, picture] = await Promise.all([
    nuncio.text(TO, "Grüße 👩‍👩‍👧 ' \\ \u202e"),
    nuncio.text('15550100001', 'refused'),
    nuncio.text('15550100002', 'busy twice'),
    nuncio.text('15550100004', 'lost'),
    nuncio.text('15550100004', 'resolved'),
    nuncio.text(TO, 'once', { 'idempotency-key': 'order-1' }),
    nuncio.post({ from: SENDER, to: TO, message: { type: 'image', media } }),
  ])
  await nuncio.text(TO, 'once', { 'idempotency-key': 'order-1' })
  await nuncio.text('not a number', 'refused at the door')
  for (const { messageId } of [good, busy, once, picture])
    await nuncio.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
  await nuncio.reaches(refused.messageId, 'FAILED')
  for (const { messageId } of [lost, gone]) await nuncio.reaches(messageId, 'UNCONFIRMED')
  await administration.resolveMessage(gone.messageId as never, 'arrived', 'test')

  const { id } = await administration.findConnection(SENDER, null)
  await administration.setConnectionState(id, 'paused', 'test')
  const waiting = await nuncio.text(TO, 'waits')
  await nuncio.post({ from: SENDER, to: TO, message: { type: 'image', media } })
  const cancelled = await nuncio.text(TO, 'cancelled')
  await administration.cancelMessage(cancelled.messageId as never, 'test')
  await administration.retryMessage(refused.messageId as never, 'test')
  return { waiting: waiting.messageId, once: once.messageId }
}

/** Adds rows that only accidents or other channels leave. */
function leaveTraces(dataDir: string): void {
  const sqlite = new DatabaseSync(join(dataDir, 'nuncio.db'))
  sqlite.exec(`update connection set network_key = '106540352242922', callback_app = 'app'`)
  // The body of a refused request may hold what PostgreSQL cannot store.
  sqlite.prepare('update request set body = ? where status >= 400').run('as it came: \0')
  // A worker has died while it sent the first message of the lane, for the second time.
  sqlite.exec(
    `insert into open_attempt (connection_id, message_sequence, number, epoch, started_at, crashes)
       select connection_id, min(sequence), 2, 7, 1700000000000, 1 from message where state = 'QUEUED' group by connection_id;
     insert into attempt (message_sequence, number, started_at, ended_at, outcome, words)
       select min(sequence), 1, 1700000000000, 1700000000001, 'unknown', 'it died' from message where state = 'QUEUED';
     insert into person (id, email, email_key, name, password_hash, created_at)
       values ('per_1', 'Anna@example.org', 'anna@example.org', 'Anna', '$argon2id$', 1700000000000);
     insert into membership (account_id, person_id, role, joined_at) select id, 'per_1', 'owner', 1700000000000 from account;
     insert into person_link (id, sha256, kind, created_at, created_by, expires_at)
       values ('lnk_1', x'00ff', 'set-up', 1700000000000, 'cli', 1700000000001);
     insert into account_retention (account_id, bodies_days) select id, 7 from account;
     insert into totp (person_id, secret, confirmed_at, last_step) values ('per_1', x'00ff01', 1700000000000, 56666666);
     insert into passkey (id, person_id, credential_id, public_key, sign_count, transports, name, created_at)
       values ('key_1', 'per_1', 'abc', x'a501', 3, '["internal"]', 'Laptop', 1700000000000);
     insert into block_list (account_id, entries) select id, 1 from account;
     insert into blocked_recipient (account_id, recipient, reason, since, blocked_by)
       select id, '15550199999', 'asked to', 1700000000000, 'cli' from account;
     insert into webhook (id, account_id, url, description, kinds, state, secret, created_at, created_by)
       values ('whk_1', 'acc_1', 'https://a.example/', '', '["message.failed"]', 'enabled', 'x', 1, 'test');
     insert into notice_want (account_id, kind) values ('acc_1', 'message.failed');
     insert into notice (id, account_id, kind, at, data, is_new) values ('ntc_1', 'acc_1', 'message.failed', 1, '{"a":"ü"}', 0);
     insert into delivery (account_id, webhook_id, notice_position, kind, state, created_at, next_try_at, payload)
       values ('acc_1', 'whk_1', 1, 'message.failed', 'waiting', 1, 4000000000000, '{}');
     insert into delivery_try (account_id, webhook_id, notice_position, number, at, took_ms, code)
       values ('acc_1', 'whk_1', 1, 1, 1, 5, 'unreachable');
     insert into channel_session (connection_id, data_key, credentials, holds) select id, 'sealed', x'00ff', 0 from connection;
     insert into channel_session_key (connection_id, kind, id, recipient, value)
       select id, 'session', '15550199999.0', '15550199999', x'00fe' from connection;
     insert into recovery_code (person_id, sha256, used_at) values ('per_1', x'0102', null);
     update lane set epoch = 9, wait_reason = 'retry', wait_words = 'soon', wait_until = 1700000000002;
     update message set retry = '{"tries":1,"resent":true,"crashes":2,"wait":null}' where state = 'QUEUED'`,
  )
  sqlite.close()
}

/** Everything that people can see, as JSON for programs. */
async function readAll(cli: CliOn): Promise<Record<string, unknown>> {
  const seen: Record<string, unknown> = {}
  for (const command of [
    'account list',
    'user list',
    'connection list',
    'token list',
    'message list',
    'log list',
    'attention',
    'sandbox inbox',
    'hold',
  ])
    seen[command] = await cli.json(...command.split(' '))
  for (const { id } of seen['message list'] as { id: string }[])
    seen[`explain ${id}`] = await cli.json('message', 'explain', id)
  for (const { requestId } of seen['log list'] as { requestId: string }[])
    seen[`log show ${requestId}`] = await cli.json('log', 'show', requestId)
  return seen
}

describe('moving from SQLite to PostgreSQL', () => {
  it('takes everything along, and continues from there', async () => {
    const nuncio = await startNuncio({ settings: LOOPBACK })
    const { waiting, once } = await liveALittle(nuncio)
    await nuncio.stop()
    leaveTraces(nuncio.dataDir)
    const [old, moved] = [new CliOn(nuncio.dataDir), new CliOn(nuncio.dataDir, home.settings)]
    const before = await readAll(old)

    const counts = await moved.json<{ table: string; rows: number; sha256: string }[]>('copy')
    const after = await readAll(moved)

    const without = (seen: Record<string, unknown>) =>
      JSON.parse(JSON.stringify(seen).replaceAll('\\u0000', '␀')) as unknown
    assert.deepEqual(without(after), without(before))
    assert.equal(counts.find(({ table }) => table === 'message')?.rows, (before['message list'] as unknown[]).length)
    assert.ok(
      counts.every(({ rows, table }) => rows > 0 || table === 'hold' || table === 'idempotency'),
      JSON.stringify(counts),
    )

    const there = await startNuncio({
      dataDir: nuncio.dataDir,
      token: nuncio.token,
      settings: { ...LOOPBACK, ...home.settings },
    })
    const repeated = await there.text(TO, 'once', { 'idempotency-key': 'order-1' })
    const { id, link } = await there.operator.administration.findConnection(SENDER, null)
    await there.operator.administration.setConnectionState(id, 'active', 'test')
    const newer = await there.text(TO, 'newer')
    await there.reaches(newer.messageId, 'PUBLISHED')

    assert.equal(repeated.messageId, once)
    assert.deepEqual(link, { networkKey: '106540352242922', callbackApp: 'app' })
    // It is unknown whether the dead worker has sent it. Nuncio first asks for evidence, and shows that.
    const timeline = await there.reaches(waiting, 'PUBLISHED', 'UNCONFIRMED')
    assert.ok(timeline.timeline.some(({ kind }) => kind === 'attempt-unknown'))
  })

  it('G5: leaves the old database held, so that no waiting message is sent twice', async () => {
    const nuncio = await startNuncio()
    const { id } = await nuncio.operator.administration.findConnection(SENDER, null)
    await nuncio.operator.administration.setConnectionState(id, 'paused', 'test')
    const { messageId } = await nuncio.text(TO, 'waits')
    await nuncio.stop()

    await new CliOn(nuncio.dataDir, home.settings).json('copy')
    const old = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token })
    await old.operator.administration.setConnectionState(id, 'active', 'test')
    const hold = await old.operator.administration.readHold()

    assert.match(hold?.reason ?? '', /^the data were copied to PostgreSQL at 127\.0\.0\.1:\d+\/nuncio_test_/)
    assert.match((await old.timeline(messageId)).laneWait?.words ?? '', /^the data were copied/)
    assert.deepEqual(await new CliOn(nuncio.dataDir, home.settings).json('hold'), {
      held: false,
      since: null,
      reason: null,
    })
  })

  it('drops no partition with young messages, even if the tables were created long ago', async () => {
    const nuncio = await startNuncio()
    const { messageId } = await nuncio.text(TO, 'delivered')
    await nuncio.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
    await nuncio.stop()
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    await home.query('update period set starts_at = now_ms() - 91 * 86400000::bigint; select open_period()')

    await new CliOn(nuncio.dataDir, home.settings).json('copy')

    assert.deepEqual(await home.query('select drop_period(0)'), [{ drop_period: false }])
    assert.equal((await home.query(`select from message where id = '${messageId}'`)).length, 1)
    await home.query('select open_period()')
    const [{ starts, bases } = {}] = await home.query(
      `select array_agg(starts_at order by number) = array_agg(starts_at order by starts_at, number) as starts,
         array_agg(block_base order by number) = array_agg(block_base order by block_base, number) as bases from period`,
    )
    assert.deepEqual([starts, bases], [true, true])
  })

  it('assigns no number of the audit log or the inbox twice', async () => {
    const nuncio = await startNuncio()
    const { messageId } = await nuncio.text(TO, 'delivered')
    await nuncio.reaches(messageId, 'PUBLISHED')
    await nuncio.stop()
    const sqlite = new DatabaseSync(join(nuncio.dataDir, 'nuncio.db'))
    sqlite.exec(`update sqlite_sequence set seq = 1000 where name = 'channel_memory'`)
    const { audits } = sqlite.prepare('select max(sequence) as audits from audit').get() as { audits: number }
    sqlite.close()

    await new CliOn(nuncio.dataDir, home.settings).json('copy')

    await home.query(
      `insert into audit (at, actor, action, object) values (1, 'test', 'test', 'test');
       insert into channel_memory (kind, connection_id, key, value, at) values ('test', 'c', 'k', 'v', 1)`,
    )
    const [next] = await home.query(
      `select (select max(sequence) from audit) as audit, (select max(position) from channel_memory) as memory`,
    )
    assert.deepEqual(next, { audit: String(audits + 1), memory: '1001' })
  })
})

describe('moving is refused', () => {
  async function stopped(): Promise<string> {
    const nuncio = await startNuncio()
    for (const text of ['a', 'b', 'c']) await nuncio.text(TO, text)
    await nuncio.stop()
    return nuncio.dataDir
  }

  async function refusalOf(dataDir: string, ...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await new CliOn(dataDir, home.settings).run('copy', ...args)
    assert.deepEqual([code !== 0, stdout], [true, ''])
    return stderr
  }

  it('while a service uses the old database', async () => {
    const nuncio = await startNuncio()

    assert.match(await refusalOf(nuncio.dataDir), /\(database_in_use\)/)
  })

  it('if the new database is not empty, for example after an earlier copy', async () => {
    const dataDir = await stopped()

    await new CliOn(dataDir, home.settings).json('copy')

    assert.match(await refusalOf(dataDir), /holds an installation already.*\(database_not_empty\)/)
  })

  it('if newer code has used the old database, because this version would leave out what it does not know', async () => {
    const dataDir = await stopped()
    const sqlite = new DatabaseSync(join(dataDir, 'nuncio.db'))
    sqlite.exec(`insert into migration (number, name, breaking) values (9000, 'more', 0); pragma user_version = 9000`)
    sqlite.close()

    assert.match(await refusalOf(dataDir), /newer version of Nuncio \(more\).*\(database_newer\)/)
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    assert.ok(await isEmpty())
  })

  it('while a service uses the new database', async () => {
    const dataDir = await stopped()
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    await home.query(`insert into worker (id, heartbeat_until) values ('w', now_ms() + 10000)`)

    assert.match(await refusalOf(dataDir), /\(database_in_use\)/)
  })

  it('but not because of a heartbeat from before the clock was set back', async () => {
    const dataDir = await stopped()
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    await home.query(`insert into worker (id, heartbeat_until) values ('w', now_ms() + 3600000)`)

    const { code, stderr } = await new CliOn(dataDir, home.settings).run('copy')

    assert.equal(code, 0, stderr)
  })

  it.each([
    [
      'there is nothing to copy',
      ['--from', 'sqlite:/nowhere/nuncio.db'],
      /no database at \/nowhere.*\(database_unavailable\)/,
    ],
    ['what is copied is not SQLite', ['--from', 'postgres://a@b/c'], /--from.*\(argument_invalid\)/],
    ['the new one is not PostgreSQL', ['--to', 'sqlite:other.db'], /--to.*\(argument_invalid\)/],
  ])('when %s', async (_, args, sentence) => {
    assert.match(await refusalOf(temporaryFolder(), ...args), sentence)
  })

  it.each([
    ['a value', 'select new.recipient || 0 into new.recipient; return new', /message has other values in its rows/],
    ['a row', 'return case when new.sequence <> 2 then new end', /message has 2 rows instead of 3/],
  ])('when %s did not arrive as it was, and nothing is kept', async (_, body, sentence) => {
    const dataDir = await stopped()
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    await home.query(
      `create function spoil() returns trigger language plpgsql as $$ begin ${body}; end $$;
       create trigger spoil before insert on settled for each row execute function spoil();
       create trigger spoil before insert on queued for each row execute function spoil()`,
    )

    const sentences = await refusalOf(dataDir)
    const isHeld = await new CliOn(dataDir).json<{ held: boolean }>('hold')

    assert.match(sentences, sentence)
    assert.match(sentences, /\(copy_differs\)/)
    assert.deepEqual([await isEmpty(), isHeld.held], [true, false])
  })

  it('if the new database fails to commit, and the old one stays usable', async () => {
    const dataDir = await stopped()
    const sqlite = new DatabaseSync(join(dataDir, 'nuncio.db'))
    onTestFinished(() => sqlite.close())
    sqlite.exec(
      `insert into open_attempt (connection_id, message_sequence, number, epoch, started_at)
         select connection_id, min(sequence), 2, 7, 1700000000000 from message`,
    )
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    await home.query(
      `create function spoil() returns trigger language plpgsql as $$ begin raise 'no'; end $$;
       create constraint trigger spoil after insert on account deferrable initially deferred for each row execute function spoil()`,
    )

    await refusalOf(dataDir)
    const isHeld = await new CliOn(dataDir).json<{ held: boolean }>('hold')

    assert.deepEqual([await isEmpty(), isHeld.held], [true, false])
    assert.equal(sqlite.prepare('select possibly_superseded_sequence as it from open_attempt').get()?.['it'], null)
  })

  it('if it is unknown whether the new database has committed, and the old one stays held', async () => {
    const dataDir = await stopped()
    const proxy = await TcpProxy.open(Number(new URL(home.url).port))
    const url = new URL(home.url)
    url.port = String(proxy.port)
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    const cut = cutAt('COMMIT')
    // Does not cut the transactions of the migrations.
    proxy.onServerData = (chunk, connection) =>
      connection === proxy.connections && isCopying ? cut(chunk, connection) : 'forward'
    let isCopying = false
    proxy.onClientData = (chunk) => {
      if (chunk.includes('insert into "hold"') || chunk.includes('analyze')) isCopying = true
      return 'forward'
    }

    const { stderr } = await new CliOn(dataDir, { NUNCIO_DATABASE_URL: url.href }).run('copy')
    const isHeld = await new CliOn(dataDir).json<{ held: boolean }>('hold')
    await proxy.close()

    assert.match(stderr, /check whether it was done/)
    assert.deepEqual([await isEmpty(), isHeld.held], [false, true])
  })

  it('leaves nothing behind if it is killed half-way, and works the next time', async () => {
    const dataDir = await stopped()
    await migrateDatabase({ url: home.url, migrateUrl: home.url })
    const holder = new Client({ connectionString: home.url })
    await holder.connect()
    await holder.query('begin; lock table audit')
    const child = spawn(process.execPath, [nuncioMain, 'copy'], { env: nuncioEnvironment(dataDir, home.settings) })
    await waitUntil(
      'the copy waits for a table',
      async () =>
        (await home.query(`select from pg_locks where not granted and relation = 'audit'::regclass`)).length > 0,
      { deadlineMs: 20_000, everyMs: 5 },
    )

    child.kill('SIGKILL')
    await once(child, 'exit')
    await holder.end()
    await waitUntil(
      'the server has noticed',
      async () =>
        (
          await home.query(
            `select from pg_stat_activity where datname = current_database() and xact_start < now() - interval '1 ms' and pid <> pg_backend_pid()`,
          )
        ).length === 0,
      { deadlineMs: 20_000, everyMs: 20 },
    )
    const wasEmpty = await isEmpty()
    const counts = await new CliOn(dataDir, home.settings).json<{ table: string; rows: number }[]>('copy')

    assert.ok(wasEmpty)
    assert.equal(counts.find(({ table }) => table === 'message')?.rows, 3)
  })
})
