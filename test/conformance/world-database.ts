import { Client } from 'pg'
import { migrateDatabase } from '../../src/storage/postgres/connection/open-database.ts'
import { type OpenAdministration, openAdministration } from '../../src/storage/postgres/queries/open-administration.ts'
import { withClient } from '../support/postgres/postgres-server.ts'
import { openTestDatabase, type TestDatabase } from '../support/postgres/test-database.ts'
import { HandClock } from './hand-clock.ts'

/** Creates our tables. The database reads its time from a row that the world's clock writes. */
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

/** The database of a world, with a session without our code and an administration beside the processes. */
export class WorldDatabase {
  /** The clock of the world that uses the database. */
  clock = new HandClock()
  readonly url: string
  readonly chores: Client
  readonly visitor: OpenAdministration
  readonly #drop: () => Promise<void>

  private constructor({ url, drop }: TestDatabase, visitors: { chores: Client; visitor: OpenAdministration }) {
    this.url = url
    this.#drop = drop
    this.chores = visitors.chores
    this.visitor = visitors.visitor
  }

  static async open(): Promise<WorldDatabase> {
    const database = await openTestDatabase({ name: 'conformance', prepare: prepareToBeEmptied })
    const { url } = database
    const visitor = await openAdministration({ url, migrateUrl: url }, { create: false, now: () => opened.clock.now() })
    const opened: WorldDatabase = new WorldDatabase(database, { chores: await connectAsTest(url), visitor })
    return opened
  }

  /** Empties the database. False if that is impossible, because more than rows has changed. */
  async empty(): Promise<boolean> {
    try {
      await this.chores.query('rollback; reset all')
      return (await this.chores.query('select emptying.empty() as "isEmpty"')).rows[0].isEmpty
    } catch {
      return false
    }
  }

  async drop(): Promise<void> {
    await this.visitor.close()
    await this.chores.end()
    await this.#drop()
  }
}

export async function connectAsTest(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'test' })
  client.on('error', () => {})
  await client.connect()
  return client
}

async function prepareToBeEmptied(url: string): Promise<void> {
  await prepareForHandClock(url)
  await withClient(url, (client) => client.query(EMPTYING))
}

/** Moves the rows that exist before a test aside, and records every change of the schema. */
const EMPTYING = `
  create schema emptying;
  create table emptying.row_of (name text primary key, rows jsonb not null);
  create table emptying.sequence as
    select sequencename as name, last_value from pg_sequences where schemaname = 'public';
  do $$
  declare
    name text;
  begin
    for name in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
      execute format('insert into emptying.row_of select %L, jsonb_agg(each) from %I as each having count(*) > 0', name, name);
    end loop;
  end $$;
  create table emptying.change (tag text);
  create function emptying.empty() returns boolean language plpgsql as $$
  declare
    name text;
    rows jsonb;
  begin
    -- What a test has left open would keep its locks.
    perform pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state in ('active', 'idle in transaction');
    if exists (select from emptying.change)
      or exists (select from pg_db_role_setting join pg_database on oid = setdatabase where datname = current_database())
      then return false;
    end if;
    -- Without foreign keys and most triggers, so that the order does not matter. The others must have been called before rows
    -- are put back.
    perform set_config('session_replication_role', 'replica', true);
    for name in select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' loop
      execute format('delete from %I', name);
    end loop;
    set constraints all immediate;
    for name, rows in select * from emptying.row_of loop
      execute format('delete from %I', name);
      execute format('insert into %I overriding system value select * from jsonb_populate_recordset(null::%I, $1)', name, name)
        using rows;
    end loop;
    perform setval(each.name::regclass, coalesce(last_value, 1), last_value is not null) from emptying.sequence as each;
    return true;
  end $$;
  create function emptying.note_change() returns event_trigger language plpgsql as $$
  begin
    insert into emptying.change values (tg_tag);
  end $$;
  create event trigger note_change on ddl_command_end execute function emptying.note_change();
  create event trigger note_drop on sql_drop execute function emptying.note_change();`
