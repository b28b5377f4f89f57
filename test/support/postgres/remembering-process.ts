import type { Client } from 'pg'
import type { WorkerId } from '../../../src/core/ids.ts'
import { FencedConnection } from '../../../src/storage/postgres/connection/fenced-connection.ts'
import type { Query, Row } from '../../../src/storage/postgres/connection/pg-connection.ts'
import { RollbackDetector } from '../../../src/storage/postgres/safety/rollback-detector.ts'
import { CheckpointFile } from '../../../src/storage/queries/checkpoint.ts'

interface Parts {
  readonly worker: WorkerId
  /** All processes of a test share this connection. */
  readonly session: Client
  /** The folder of its checkpoint. */
  readonly folder: string
}

let turn: Promise<unknown> = Promise.resolve()

/** Runs statements one after another, because a connection carries one at a time. */
function inTurn<Result>(ask: () => Promise<Result>): Promise<Result> {
  const asked = turn.then(ask)
  turn = asked.catch(() => {})
  return asked
}

/** A process with a rollback detector, and the alarms that it has raised. */
export class RememberingProcess {
  readonly alarms: string[] = []
  readonly memory: RollbackDetector
  readonly connection: FencedConnection
  readonly #parts: Parts
  /** Replaces values that the server reports about itself. */
  #said: Row = {}

  constructor(parts: Parts) {
    const { worker, folder } = parts
    this.#parts = parts
    const file = CheckpointFile.in(folder)
    this.memory = new RollbackDetector({ worker, file, onAlarm: (sentence) => this.alarms.push(sentence) })
    this.connection = new FencedConnection(worker, { number: 7, pgConnection: null as never })
    this.memory.watch(this.connection)
  }

  readonly #ask: Query = async (sql, values = []) => {
    const { rows } = await this.#query(sql, values)
    // This client returns 64-bit numbers as text.
    return rows.map((row) => ({ ...row, ...('mark' in row ? { ...this.#said, mark: Number(row['mark']) } : {}) }))
  }

  saying(said: Row): this {
    this.#said = said
    return this
  }

  /** `meanwhile` runs after the database has answered, and before the answer is read. */
  validate(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    return this.memory.validateConnection(async (sql, values) => {
      const rows = await this.#ask(sql, values)
      await meanwhile()
      return rows
    })
  }

  renewLease(): Promise<void> {
    return this.memory.renewLease(this.#ask)
  }

  /** Commits a batch over the fenced connection. `reach` false: the database has lost the commit again. */
  async commit(reach = true): Promise<void> {
    await this.connection.run(1, async (count) => {
      const values = [this.#parts.worker, this.connection.number, count]
      if (reach) await this.#query('select record_fence($1, $2, $3)', values)
    })
  }

  async live(): Promise<void> {
    await this.#query(
      'insert into worker (id, heartbeat_until) values ($1, now_ms() + 15000) on conflict (id) do nothing',
      [this.#parts.worker],
    )
  }

  #query(sql: string, values: readonly unknown[]) {
    return inTurn(() => this.#parts.session.query<Row>(sql, [...values]))
  }
}
