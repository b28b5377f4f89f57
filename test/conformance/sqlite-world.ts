import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBlockLists } from '../../src/storage/queries/recipients/block-lists.ts'
import { SqliteStorage } from '../../src/storage/sqlite/index.ts'
import { openAdministration } from '../../src/storage/sqlite/queries/open-administration.ts'
import { SENDABLE } from '../support/sendable.ts'
import { HandClock } from './hand-clock.ts'
import type { StorageWorld, WorldOptions } from './storage-world.ts'

/** SQLite on its own file. Administration has a second connection, as in another process. */
export async function newSqliteWorld({
  maxWaitingPerConnection = 0,
  maxWaitingPerAccount = 0,
}: WorldOptions = {}): Promise<StorageWorld & { readonly storage: SqliteStorage }> {
  const folder = await mkdtemp(join(tmpdir(), 'nuncio-conformance-'))
  const path = join(folder, 'nuncio.db')
  const clock = new HandClock()
  const storage = new SqliteStorage({
    path,
    clock,
    limits: { maxWaitingPerConnection, maxWaitingPerAccount },
    sendable: () => SENDABLE,
    onBroken: () => {},
    onError: () => {},
  })
  // The service does this a few times a second.
  clock.whilePassing = () => storage.enterLanes()
  const { database } = storage
  const visitor = openAdministration(path, { create: false, now: () => clock.now() })
  return {
    storage,
    intake: storage.intake,
    lanes: storage.lanes,
    mediaQueue: storage.mediaQueue,
    notices: storage.notices,
    watch: storage.watch,
    blocked: storage.blocked,
    retention: storage.retention,
    sessions: storage.sessions,
    openDay: async () => {},
    sql: async (text) => database.prepare(text).all(),
    channelState: (channel) => storage.channelState(channel),
    channelConnections: (channel) => storage.channelConnections(channel),
    sendAgain: (failed) => storage.sendAgain(failed),
    administration: visitor.administration,
    store: visitor.store,
    blockLists: createBlockLists(visitor.store),
    auditOf: async (id) =>
      database
        .prepare('select actor, action from audit where object = ? order by sequence')
        .all(id)
        .map(({ actor, action }) => ({ actor: String(actor), action: String(action) })),
    clock,
    hintsAgeMs: 0,
    async fillDisk() {
      const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number }
      database.exec(`pragma max_page_count = ${pages}`)
      return async () => database.exec('pragma max_page_count = 1000000')
    },
    async breakCommits() {
      // A foreign key that only the commit checks: everything before it succeeds.
      database.exec(`
        create table broken (account_id text references account (id) deferrable initially deferred);
        create trigger break_commit after insert on message begin insert into broken values ('unknown'); end;`)
    },
    async close() {
      visitor.close()
      await storage.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
