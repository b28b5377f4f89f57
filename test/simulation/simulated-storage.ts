import type { DatabaseSync } from 'node:sqlite'
import { Kysely } from 'kysely'
import type { ConnectionId, TokenId } from '../../src/core/ids.ts'
import type { Administration } from '../../src/core/ports/administration.ts'
import type { Clock } from '../../src/core/ports/clock.ts'
import type { Token } from '../../src/core/token/token.ts'
import { createAdministration } from '../../src/storage/shared/administration.ts'
import type { Tables } from '../../src/storage/shared/tables.ts'
import { SqliteIntake } from '../../src/storage/sqlite/accept.ts'
import { Directory, type DirectoryConnection } from '../../src/storage/sqlite/directory.ts'
import { GroupCommit } from '../../src/storage/sqlite/group-commit.ts'
import { createSqliteDialect } from '../../src/storage/sqlite/kysely-dialect.ts'
import { SqliteLanes } from '../../src/storage/sqlite/lanes.ts'
import { SqliteMediaQueue } from '../../src/storage/sqlite/media-queue.ts'
import { openDatabase } from '../../src/storage/sqlite/open-database.ts'
import { WaitingCounts } from '../../src/storage/sqlite/waiting-counts.ts'

/**
 * The real storage on a database in memory, put together as `SqliteStorage` does it. Not that class itself: it notices
 * changes of others by the file's version, and a database in memory has no others. Here `administer` says so instead.
 */
export class SimulatedStorage {
  readonly database: DatabaseSync = openDatabase(':memory:', { create: true })
  readonly intake: SqliteIntake
  readonly lanes: SqliteLanes
  readonly mediaQueue: SqliteMediaQueue
  readonly #administration: Administration
  readonly #directory: ForgettingDirectory

  constructor(clock: Clock) {
    const { database } = this
    const commits = new GroupCommit(database, () => {})
    this.#directory = new ForgettingDirectory(database)
    const counts = new WaitingCounts(database)
    const limits = { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 }
    this.intake = new SqliteIntake({
      database,
      commits,
      directory: this.#directory,
      counts,
      clock,
      limits,
      refusedByChannel: () => null,
    })
    this.lanes = new SqliteLanes({ database, commits, directory: this.#directory, counts })
    this.mediaQueue = new SqliteMediaQueue(database, commits, counts)
    this.#administration = createAdministration(new Kysely<Tables>({ dialect: createSqliteDialect(database) }), () =>
      clock.now(),
    )
    watchStates(database)
  }

  async administer<Result>(change: (administration: Administration) => Promise<Result>): Promise<Result> {
    try {
      return await change(this.#administration)
    } finally {
      this.#directory.forget()
    }
  }

  close(): void {
    this.database.close()
  }
}

/** Keeps each change of a message's state, so that a step back is seen even if it is undone later (I8). */
function watchStates(database: DatabaseSync): void {
  database.exec(`
    create temp table transition (position integer primary key, sequence integer not null, old text not null, new text not null);
    create temp trigger note_transition after update of state on main.message begin
      insert into transition (sequence, old, new) values (new.sequence, old.state, new.state);
    end;`)
}

class ForgettingDirectory extends Directory {
  readonly #database: DatabaseSync
  #inner: Directory

  constructor(database: DatabaseSync) {
    super(database)
    this.#database = database
    this.#inner = new Directory(database)
  }

  forget(): void {
    this.#inner = new Directory(this.#database)
  }

  override tokenByHash(sha256: Buffer): Token | null {
    return this.#inner.tokenByHash(sha256)
  }

  override tokenById(id: TokenId): Token | null {
    return this.#inner.tokenById(id)
  }

  override connectionByNumber(...given: Parameters<Directory['connectionByNumber']>): DirectoryConnection | null {
    return this.#inner.connectionByNumber(...given)
  }

  override connectionById(id: ConnectionId): DirectoryConnection | null {
    return this.#inner.connectionById(id)
  }
}
