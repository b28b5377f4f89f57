import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DatabaseSync } from 'node:sqlite'
import type { AccountId, ConnectionId } from '../../src/core/ids.ts'
import type { Administration } from '../../src/core/ports/administration.ts'
import type { Clock } from '../../src/core/ports/clock.ts'
import { createLaneViews } from '../../src/storage/queries/lanes/lane-views.ts'
import { SqliteStorage } from '../../src/storage/sqlite/index.ts'
import { openAdministration } from '../../src/storage/sqlite/queries/open-administration.ts'
import { sendableOver } from '../support/sendable.ts'
import { NETWORKS, UPLOADING_NETWORKS } from './simulated-network.ts'

const SENDABLE = sendableOver([...NETWORKS, ...UPLOADING_NETWORKS].map(({ name }) => name))

/**
 * The real storage, with a person's tool beside it as another process. The database is a file, because one in memory has no
 * second connection. It does not wait for the disk, which is not simulated here.
 */
export class SimulatedStorage {
  readonly storage: SqliteStorage
  readonly #folder = mkdtempSync(join(tmpdir(), 'nuncio-simulation-'))
  readonly #visitor: ReturnType<typeof openAdministration>

  constructor(clock: Clock) {
    const path = join(this.#folder, 'nuncio.db')
    this.storage = new SqliteStorage({
      path,
      clock,
      limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
      sendable: () => SENDABLE,
      onBroken: () => {},
      onError: () => {},
    })
    this.database.exec('pragma synchronous = off')
    watchStates(this.database)
    watchTries(this.database)
    this.#visitor = openAdministration(path, { create: false, now: () => clock.now() })
  }

  get database(): DatabaseSync {
    return this.storage.database
  }

  get administration(): Administration {
    return this.#visitor.administration
  }

  /** A person confirms an old backlog. Rejects with a Refusal if none waits for a confirmation. */
  confirmBacklog(accountId: AccountId, id: ConnectionId): Promise<void> {
    return createLaneViews(this.#visitor.store).confirmBacklog({ accountId, id }, 'test')
  }

  close(): void {
    this.#visitor.close()
    void this.storage.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Records each change of a message's state, so that a step back is noticed even if it is undone later (I8). */
function watchStates(database: DatabaseSync): void {
  database.exec(`
    create table transition (position integer primary key, sequence integer not null, old text not null, new text not null);
    create trigger note_transition after update of state on message begin
      insert into transition (sequence, old, new) values (new.sequence, old.state, new.state);
    end;`)
}

/** Counts the changes of the failed tries of a message: a worker that forgets them starts counting again (I13). */
function watchTries(database: DatabaseSync): void {
  database.exec(`
    create table failed_tries (sequence integer primary key, times integer not null);
    create trigger note_tries after update of retry on message
      when new.retry ->> 'tries' > 0 and new.retry ->> 'tries' is not old.retry ->> 'tries' begin
      insert into failed_tries (sequence, times) values (new.sequence, 1) on conflict do update set times = times + 1;
    end;`)
}
