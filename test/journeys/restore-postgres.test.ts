import assert from 'node:assert/strict'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, onTestFinished, vi } from 'vitest'
import { skipNote } from '../support/black-box/skip-note.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { openStranger } from '../support/journey/engines.ts'
import { type Journey, startNuncio, temporaryFolder } from '../support/journey/start-nuncio.ts'
import { obstacleToDumping, shareDumpingServer } from '../support/postgres/dumping-server.ts'

const TO = '15551234567'
const obstacle = obstacleToDumping()
const createDatabase = shareDumpingServer()

// The transaction of psql that has begun to write.
const IN_RESTORE = `select from pg_stat_activity where application_name = 'psql' and backend_xid is not null and state = 'idle in transaction'`

interface BackedUp {
  readonly nuncio: Journey
  readonly cli: CliOn
  readonly settings: Readonly<Record<string, string>>
  /** The path of the backup. */
  readonly path: string
  /** Runs one statement without our code. */
  readonly run: (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
}

/** Starts a service, sends one message, backs up, and stops the service. */
async function backUp(): Promise<BackedUp> {
  const settings = { NUNCIO_DATABASE_URL: await createDatabase() }
  const nuncio = await startNuncio({ settings })
  const { messageId } = await nuncio.text(TO, 'sent before')
  await nuncio.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
  const cli = new CliOn(nuncio.dataDir, settings)
  const { path } = await cli.json<{ path: string }>('backup', join(nuncio.dataDir, 'kept'))
  await nuncio.stop()
  const stranger = await openStranger(nuncio.database)
  onTestFinished(() => stranger.close())
  return { nuncio, cli, settings, path, run: (sql) => stranger.run(sql) }
}

/** Replaces a program by a script, in which `real` is the program. When asked for its version, the real program answers. */
function standIn(program: string, script: string): string {
  const folder = temporaryFolder()
  const path = join(folder, program)
  const real = `real() { PATH=\${PATH#*:} command ${program} "$@"; }`
  writeFileSync(path, `#!/bin/sh\ncd ${folder}\n${real}\n[ "$1" = --version ] && { real "$@"; exit; }\n${script}\n`)
  chmodSync(path, 0o755)
  vi.stubEnv('PATH', `${folder}:${process.env['PATH']}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  return folder
}

/** Holds the program until `go` is called. */
function haltAt(program: string): { readonly reached: () => Promise<unknown>; readonly go: () => void } {
  const folder = standIn(program, 'touch reached; while [ ! -e go ]; do sleep 0.02; done; real "$@"')
  return {
    reached: () =>
      waitUntil(`${program} has been started`, async () => existsSync(join(folder, 'reached')), {
        deadlineMs: 20_000,
        everyMs: 10,
      }),
    go: () => writeFileSync(join(folder, 'go'), ''),
  }
}

describe.skipIf(obstacle !== null)(`restoring on PostgreSQL${skipNote(obstacle)}`, () => {
  it('G12: is done if the replaced tables are damaged, and says that the rest is unknown', async () => {
    const { cli, path, run } = await backUp()
    await run('alter view message rename to gone')

    const restored = await cli.json<{ aside: string; endedSince: null }>('restore', path, '--replace')

    assert.match(restored.aside, /^the schema nuncio_replaced_/)
    assert.equal(restored.endedSince, null)
    assert.equal((await cli.json<{ held: boolean }>('hold')).held, true)
  })

  it('ignores a heartbeat from before the clock was set back', async () => {
    const { cli, path, run } = await backUp()
    await run(`insert into worker (id, heartbeat_until) values ('w', now_ms() + 3600000)`)

    const { code, stderr } = await cli.run('restore', path, '--replace')

    assert.equal(code, 0, stderr)
  })

  it('is not stopped by the timeout of a role, or by other objects in the database', async () => {
    const { cli, path, run } = await backUp()
    for (const sql of [
      'create schema other',
      `create function other.slow(n integer) returns integer immutable language plpgsql as 'begin perform pg_sleep(4); return n; end'`,
      'create table other.numbers (n integer)',
      'create index on other.numbers (other.slow(n))',
      'insert into other.numbers values (1)',
      `do $$ begin execute format('alter role current_user in database %I set statement_timeout = 3000', current_database()); end $$`,
    ])
      await run(sql)

    const restored = await cli.json<{ endedSince: string[] | null }>('restore', path, '--replace')

    assert.deepEqual(restored.endedSince, [])
    const [{ rows } = {}] = await run(`select reltuples as rows from pg_class where oid = 'account'::regclass`)
    assert.equal(rows, 1)
  })

  it('G1: lets no service that starts meanwhile accept into the tables that are being replaced', async () => {
    const { nuncio, cli, path, settings, run } = await backUp()
    const halt = haltAt('pg_restore')
    const restoring = cli.run('restore', path, '--replace')
    await halt.reached()
    await waitUntil('the old schema was renamed', async () => (await run(IN_RESTORE)).length > 0, {
      deadlineMs: 20_000,
      everyMs: 10,
    })

    const again = { dataDir: nuncio.dataDir, token: nuncio.token, settings }
    const failed: string[] = []
    const service = await startNuncio(again).catch((error: unknown) => void failed.push(String(error)))
    const reply = await service?.text(TO, 'accepted meanwhile')
    halt.go()

    const { code, stderr } = await restoring
    assert.equal(code, 0, stderr)
    const ids = (await run('select id from message')).map(({ id }) => id)
    assert.ok(reply?.status !== 200 || ids.includes(reply.messageId), 'what was answered with 200 was moved aside')
    assert.match(failed.join(), /the database/)
    const back = await startNuncio(again)
    assert.match((await back.operator.administration.readHold())?.reason ?? '', /^it was restored/)
  })

  it('G1: is refused if a service has started since the check', async () => {
    const { nuncio, cli, path, settings } = await backUp()
    const halt = haltAt('psql')
    const restoring = cli.run('restore', path, '--replace')
    await halt.reached()
    const service = await startNuncio({ dataDir: nuncio.dataDir, token: nuncio.token, settings })
    halt.go()

    const { code, stderr } = await restoring

    assert.deepEqual([code, /\(database_in_use\)/.test(stderr)], [1, true], stderr)
    const { messageId } = await service.text(TO, 'goes on')
    await service.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
  })

  it('reports when others use the tables for long, and changes nothing', async () => {
    const { cli, path, run } = await backUp()
    await run('begin')
    await run('select from queued')

    const { code, stderr } = await cli.run('restore', path, '--replace')
    await run('commit')

    assert.deepEqual([code, (await cli.json<{ held: boolean }>('hold')).held], [1, false])
    assert.match(stderr, /uses the tables.*Nothing was restored/)
  })

  it('backs up and restores every character, whatever encoding the environment and the role set', async () => {
    vi.stubEnv('PGCLIENTENCODING', 'LATIN1')
    vi.stubEnv('PGOPTIONS', '-c client_encoding=LATIN1')
    vi.stubEnv('PGDATABASE', 'nowhere')
    onTestFinished(() => void vi.unstubAllEnvs())
    const settings = { NUNCIO_DATABASE_URL: await createDatabase() }
    const nuncio = await startNuncio({ settings })
    const stranger = await openStranger(nuncio.database)
    onTestFinished(() => stranger.close())
    await stranger.run(`alter role current_user set client_encoding = 'LATIN1'`)
    onTestFinished(async () => void (await stranger.run('alter role current_user reset client_encoding')))
    const text = '👩‍👩‍👧 Grüße'
    const { messageId } = await nuncio.text(TO, text)
    await nuncio.reaches(messageId, 'PUBLISHED', 'DELIVERED', 'READ')
    const cli = new CliOn(nuncio.dataDir, settings)

    const { path } = await cli.json<{ path: string }>('backup', join(nuncio.dataDir, 'kept'))
    await nuncio.stop()
    const { code, stderr } = await cli.run('restore', path, '--replace')

    assert.equal(code, 0, stderr)
    const [entry] = await cli.json<{ text: string }[]>('sandbox', 'inbox')
    assert.equal(entry?.text, text)
  })

  it.each([
    [
      'a trigger',
      'create trigger t after insert on audit for each row execute function notify_lane_change()',
      /the trigger “t” of “audit”/,
    ],
    [
      'a function',
      `create function stranger() returns integer language sql as 'select 1'`,
      /the function “stranger\(\)”/,
    ],
    ['a table', 'create table stranger (a integer)', /“stranger”/],
    ['a rule', 'create rule r as on update to audit do also nothing', /the rule “r” of “audit”/],
    ['a column', 'alter table audit add column more text', /the column “more” of “audit”/],
  ])('refuses with one sentence a dump with %s of another program, and changes nothing', async (_, craft, sentence) => {
    const { nuncio, cli, run } = await backUp()
    await run(craft)
    const { path } = await cli.json<{ path: string }>('backup', join(nuncio.dataDir, 'crafted'))

    const { code, stderr } = await cli.run('restore', path, '--replace')

    assert.equal(code, 1)
    assert.match(
      stderr,
      /\nnuncio: The tables of this backup are not those of Nuncio: [^\n]+\(backup_unusable\)\n$|^nuncio: The tables/,
    )
    assert.match(stderr, sentence)
    assert.deepEqual(await run(`select nspname from pg_namespace where nspname like 'nuncio_%'`), [])
  })

  it('restores our functions in place of others with the same names', async () => {
    const { nuncio, cli, run } = await backUp()
    await run('create or replace function now_ms() returns bigint language sql as $$ select 42::bigint $$')
    const { path } = await cli.json<{ path: string }>('backup', join(nuncio.dataDir, 'crafted'))

    await cli.json('restore', path, '--replace')

    const [row] = await run('select now_ms() as now')
    assert.ok(Number(row?.['now']) > 42)
  })

  it('works with programs that are newer than the server', async () => {
    const { cli, path } = await backUp()
    standIn('pg_restore', `real "$@" | sed '0,/^SET lock_timeout/s//SET transaction_timeout = 0;\\nSET lock_timeout/'`)

    const { code, stderr } = await cli.run('restore', path, '--replace')

    assert.equal(code, 0, stderr)
  })

  it('reports in the words of psql why it failed', async () => {
    const { cli, path } = await backUp()
    standIn('psql', 'sleep 1; echo "psql: error: this is why" >&2; exit 2')

    const { code, stderr } = await cli.run('restore', path, '--replace')

    assert.deepEqual(
      [code, /psql failed: psql: error: this is why Nothing was restored/.test(stderr)],
      [1, true],
      stderr,
    )
  })
})
