import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import type { SpoolId, WorkerId } from '../../src/core/ids.ts'
import { migrateDatabase } from '../../src/storage/postgres/connection/open-database.ts'
import { PostgresStorage } from '../../src/storage/postgres/index.ts'
import { openAdministration } from '../../src/storage/postgres/queries/open-administration.ts'
import { createBlockLists } from '../../src/storage/queries/recipients/block-lists.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { withClient } from '../support/postgres/postgres-server.ts'
import { openTestDatabase } from '../support/postgres/test-database.ts'
import { HandClock } from './hand-clock.ts'
import { ANNA, type StorageWorld, type WorldOptions } from './storage-world.ts'

export interface PostgresWorld extends StorageWorld {
  readonly url: string
  /** ANNA's process, as the app would have it. */
  readonly storage: PostgresStorage
  processOf(worker: WorkerId, spool: SpoolId): PostgresStorage
  /** A connection of its own, past everything of ours. Ends with the world. */
  session(): Promise<Client>
  /** Sets the clock of the database. The clocks of the processes have to find out. */
  setDatabaseClock(byMs: number): Promise<void>
}

const SPOOL = 'spool' as SpoolId

/** Makes our tables. The time of the database is a row that the world's clock writes. */
export async function prepareForHandClock(url: string): Promise<void> {
  await migrateDatabase({ url, migrateUrl: url })
  await withClient(url, async (client) => {
    await client.query(
      `create table hand_clock (now bigint not null);
       insert into hand_clock values (${new HandClock().now()});
       create or replace function now_ms() returns bigint language sql volatile as $$ select now from hand_clock $$;
       update period set starts_at = now_ms();`,
    )
  })
}

/** PostgreSQL with a database of its own, and administration on connections of its own in the part of another process. */
export async function newPostgresWorld({
  maxWaitingPerConnection = 0,
  maxWaitingPerAccount = 0,
}: WorldOptions = {}): Promise<PostgresWorld> {
  const database = await openTestDatabase({ name: 'conformance', prepare: prepareForHandClock })
  const { url } = database
  const folder = await mkdtemp(join(tmpdir(), 'nuncio-conformance-'))
  const clock = new HandClock()
  const processes: PostgresStorage[] = []
  const sessions: Client[] = []
  let setByMs = 0

  const processOf = (worker: WorkerId, spool: SpoolId) => {
    const storage = new PostgresStorage({
      url,
      listenUrl: url,
      migrateUrl: url,
      dataDir: join(folder, `${processes.length}`),
      clock,
      worker: { id: worker, host: 'here', pid: process.pid, roles: ['api', 'dispatch'], version: '0' },
      spool,
      limits: { maxWaitingPerConnection, maxWaitingPerAccount },
      refusedByChannel: () => null,
      onError: () => {},
    })
    processes.push(storage)
    return storage
  }
  const session = async () => {
    const client = new Client({ connectionString: url, application_name: 'test' })
    client.on('error', () => {})
    await client.connect()
    sessions.push(client)
    return client
  }
  const chores = await session()
  const writeClock = async () => {
    await chores.query('update hand_clock set now = $1', [clock.now() + setByMs])
  }
  clock.whilePassing = writeClock

  const storage = processOf(ANNA, SPOOL)
  const visitor = await openAdministration({ url, migrateUrl: url }, { create: false, now: () => clock.now() })
  return {
    url,
    storage,
    processOf,
    session,
    intake: storage.intake,
    lanes: storage.lanes,
    mediaQueue: storage.mediaQueue,
    notices: storage.notices,
    watch: storage.watch,
    blocked: storage.blocked,
    retention: storage.retention,
    sessions: storage.sessions,
    openDay: async () => {
      await chores.query('select open_period()')
    },
    sql: async (text) => (await chores.query(text)).rows,
    channelState: (channel) => storage.channelState(channel),
    channelConnections: (channel) => storage.channelConnections(channel),
    sendAgain: (failed) => storage.sendAgain(failed),
    administration: visitor.administration,
    store: visitor.store,
    blockLists: createBlockLists(visitor.store),
    async auditOf(id) {
      return (await chores.query('select actor, action from audit where object = $1 order by sequence', [id])).rows
    },
    clock,
    hintsAgeMs: 1_000,
    setDatabaseClock(byMs) {
      setByMs += byMs
      return writeClock()
    },
    async fillDisk() {
      await chores.query(NO_ROOM)
      return async () => {
        await chores.query('drop function no_room cascade')
      }
    },
    async breakCommits() {
      await chores.query(BREAK_COMMITS)
    },
    async close() {
      await visitor.close()
      await Promise.all(processes.map((each) => each.close()))
      await Promise.all(sessions.map((each) => each.end()))
      await database.drop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const NO_ROOM = `
  create function no_room() returns trigger language plpgsql as $$
  begin
    raise exception 'could not extend file: No space left on device' using errcode = '53100';
  end $$;
  create trigger no_room before insert on queued for each statement execute function no_room();
  create trigger no_room before insert on settled for each statement execute function no_room();
  create trigger no_room before insert on request for each statement execute function no_room();
  create trigger no_room before insert or update on lane_attempt for each statement execute function no_room();`

// At the commit itself, when everything before it has succeeded.
const BREAK_COMMITS = `
  create function break_commit() returns trigger language plpgsql as $$
  begin
    perform pg_terminate_backend(pg_backend_pid());
    return null;
  end $$;
  create constraint trigger break_commit after insert on queued deferrable initially deferred
    for each row execute function break_commit();
  create constraint trigger break_commit after insert or update on lane_attempt deferrable initially deferred
    for each row execute function break_commit();`

/** Whether what a session commits is durable, and how long it waits for locks. */
export async function durabilityOf(session: Client): Promise<[string, string]> {
  const { rows } = await session.query<{ durable: string; lockTimeout: string }>(
    `select current_setting('synchronous_commit') as durable, current_setting('lock_timeout') as "lockTimeout"`,
  )
  return [rows[0]!.durable, rows[0]!.lockTimeout]
}

/** Resolves once a session waits for a lock. */
export async function somebodyWaits(world: PostgresWorld): Promise<void> {
  const session = await world.session()
  await waitUntil(
    'a session waits for a lock',
    async () => (await session.query('select from pg_locks where not granted')).rowCount !== 0,
    { deadlineMs: 5_000, everyMs: 5 },
  )
}
