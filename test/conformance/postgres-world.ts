import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import { afterAll } from 'vitest'
import type { SpoolId, WorkerId } from '../../src/core/ids.ts'
import { PostgresStorage } from '../../src/storage/postgres/index.ts'
import { createBlockLists } from '../../src/storage/queries/recipients/block-lists.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { SENDABLE } from '../support/sendable.ts'
import { HandClock } from './hand-clock.ts'
import { ANNA, addSender, type Sender, type StorageWorld, type WorldOptions } from './storage-world.ts'
import { connectAsTest, WorldDatabase } from './world-database.ts'

export interface PostgresWorld extends StorageWorld {
  readonly url: string
  /** ANNA's storage, as the app opens it. */
  readonly storage: PostgresStorage
  processOf(worker: WorkerId, spool: SpoolId): PostgresStorage
  /** A connection without our code. It ends with the world. */
  session(): Promise<Client>
  /** Sets the clock of the database. The processes have to find out. */
  setDatabaseClock(byMs: number): Promise<void>
}

const SPOOL = 'spool' as SpoolId

/** PostgreSQL with its own database. Administration has its own connections, as in another process. */
export async function newPostgresWorld(options: WorldOptions = {}): Promise<PostgresWorld> {
  const place = await WorldDatabase.open()
  return worldIn(place, { ...options, leave: () => place.drop() })
}

/**
 * One database for all tests of a file, emptied for each test: creating a database and connecting to it takes longer than most
 * tests. A database that a test leaves with other tables, functions or triggers is not used again.
 */
export class KeptPostgres {
  #free: WorldDatabase | null = null

  constructor() {
    afterAll(() => this.#free?.drop())
  }

  readonly newWorld = async (options: WorldOptions = {}): Promise<PostgresWorld> => {
    const place = this.#free ?? (await WorldDatabase.open())
    this.#free = null
    const leave = async () => {
      const isEmpty = this.#free === null && (await place.empty())
      // Another world may have ended in the meantime.
      if (isEmpty && this.#free === null) this.#free = place
      else await place.drop()
    }
    return worldIn(place, { ...options, leave })
  }
}

async function worldIn(
  place: WorldDatabase,
  given: WorldOptions & { readonly leave: () => Promise<void> },
): Promise<PostgresWorld> {
  const { maxWaitingPerConnection = 0, maxWaitingPerAccount = 0, leave } = given
  const { url, chores, visitor } = place
  const folder = await mkdtemp(join(tmpdir(), 'nuncio-conformance-'))
  const clock = new HandClock()
  place.clock = clock
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
      sendable: () => SENDABLE,
      onError: () => {},
    })
    processes.push(storage)
    return storage
  }
  const session = async () => {
    const client = await connectAsTest(url)
    sessions.push(client)
    return client
  }
  const writeClock = async () => {
    await chores.query('update hand_clock set now = $1', [clock.now() + setByMs])
  }
  clock.whilePassing = writeClock

  const storage = processOf(ANNA, SPOOL)
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
      await Promise.all(processes.map((each) => each.close()))
      await Promise.all(sessions.map((each) => each.end()))
      await leave()
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

// Fails at the commit itself, after everything before it has succeeded.
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
export async function untilSessionWaits(world: PostgresWorld): Promise<void> {
  const session = await world.session()
  await waitUntil(
    'a session waits for a lock',
    async () => (await session.query('select from pg_locks where not granted')).rowCount !== 0,
    { deadlineMs: 5_000, everyMs: 5 },
  )
}

/** Adds a sender whose lane and token share no lock with those of another sender. One in 1,024 would. */
export async function addSenderApart(world: PostgresWorld, from: Sender): Promise<Sender> {
  for (;;) {
    const other = await addSender(world)
    const [buckets] = await world.sql(
      `select lane_bucket('${from.accountId}', '${from.number}') = lane_bucket('${other.accountId}', '${other.number}')
         or token_bucket('${from.tokenId}') = token_bucket('${other.tokenId}') as "areShared"`,
    )
    if (!buckets?.['areShared']) return other
  }
}

/** Resolves once this many sessions wait for a lock. */
export async function sessionsWait(world: PostgresWorld, count: number): Promise<void> {
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await waitUntil(`${count} sessions wait for a lock`, async () => (await world.sql(waiting)).length === count, {
    deadlineMs: 10_000,
    everyMs: 5,
  })
}

/**
 * Runs two transactions that both need the row that the statement `held` locks, and releases it when both wait. By then each has
 * its earlier locks. If each needs one of the other's, PostgreSQL ends the second transaction.
 */
export async function meet(
  world: PostgresWorld,
  held: string,
  [first, second]: readonly [() => Promise<unknown>, () => Promise<unknown>],
): Promise<void> {
  const holder = await world.session()
  await holder.query('begin')
  await holder.query(held)
  const one = first()
  await sessionsWait(world, 1)
  const both = [one, second()]
  await sessionsWait(world, 2)
  await holder.query('commit')
  await Promise.all(both)
}
