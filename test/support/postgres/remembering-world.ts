import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import type { WorkerId } from '../../../src/core/ids.ts'
import { newPostgresWorld, type PostgresWorld } from '../../conformance/postgres-world.ts'
import { RememberingProcess } from './remembering-process.ts'

/** Processes with rollback detectors on one database. */
export class RememberingWorld {
  readonly database: PostgresWorld
  readonly session: Client
  readonly #folder: string

  private constructor(database: PostgresWorld, session: Client, folder: string) {
    this.database = database
    this.session = session
    this.#folder = folder
  }

  static async open(): Promise<RememberingWorld> {
    const database = await newPostgresWorld()
    const folder = await mkdtemp(join(tmpdir(), 'nuncio-memory-'))
    return new RememberingWorld(database, await database.session(), folder)
  }

  fileOf(dataDir: string): string {
    return join(this.#folder, dataDir, 'remembered.json')
  }

  newProcess(worker: WorkerId, dataDir = worker as string): RememberingProcess {
    return new RememberingProcess({ worker, session: this.session, folder: join(this.#folder, dataDir) })
  }

  async holdReason(): Promise<string | null> {
    return (await this.database.administration.readHold())?.reason ?? null
  }

  /** Moves the database back, as a restore does: it loses the latest heartbeats. */
  async goBack(byMarks = 3): Promise<void> {
    await this.session.query('update checkpoint set mark = mark - $1', [byMarks])
  }

  async close(): Promise<void> {
    await this.database.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

export async function renewLeases(process: RememberingProcess, count = 5): Promise<void> {
  await process.validate()
  for (let heartbeat = 0; heartbeat < count; heartbeat += 1) await process.renewLease()
}
