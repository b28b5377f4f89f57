// Measures by hand how long one step of deleting by age takes on SQLite with five million messages: `node
// test/faults/growth/measure-retention.ts FOLDER`. It writes a scratch database of 3 GB to the folder, and deletes it at the end.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import type { WalkOf } from '../../../src/core/ports/retention.ts'
import { BatchSize } from '../../../src/core/retention/run-sweep.ts'
import { systemClock } from '../../../src/server/system-clock.ts'
import { SqliteStorage } from '../../../src/storage/sqlite/index.ts'
import { openAdministration } from '../../../src/storage/sqlite/queries/open-administration.ts'
import { SENDABLE } from '../../support/sendable.ts'

const MESSAGES = 5_000_000
const ACCOUNTS = 20
const LANES = 2_000
const STEPS = 400
const STEPS_TO_LEARN = 100
// Like the service, rests ten times as long as a step took.
const REST_TIMES = 10
const BEFORE = Date.now() - 90 * 86_400_000
const TEXT = '{"from":"15550001000","to":"15550100000","message":{"type":"message","message":"Hello"}}'

/** A tenth of the messages was tried twice, and half of them have a receipt in their timeline. */
function fill(path: string): void {
  openAdministration(path, { create: true, now: () => Date.now() }).close()
  const database = new DatabaseSync(path)
  database.exec(`
    pragma journal_mode = off; pragma synchronous = off; pragma cache_size = -1000000;
    begin;
    insert into account (id, name, created_at)
      with recursive n (i) as (select 0 union all select i + 1 from n where i < ${ACCOUNTS - 1}) select 'acc' || i, 'account ' || i, 1 from n;
    insert into message (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
        attempts, accepted_at, published_at, settled_at, network_id, remote_address, took_us)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${MESSAGES})
      select i, printf('%08x-0000-7000-8000-%012x', i, i), 'acc' || i % ${ACCOUNTS}, 'con' || i % ${LANES}, 'tok' || i % ${ACCOUNTS},
          'req-' || i, '${TEXT}', ${crc32(TEXT)}, '15550100000', 'message', 'DELIVERED', 1 + (i % 10 = 0), ${BEFORE - MESSAGES} + i,
          ${BEFORE - MESSAGES} + i, ${BEFORE - MESSAGES} + i, 'net' || i, '192.0.2.1', 900 from n;
    insert into attempt (message_sequence, number, started_at, ended_at, outcome)
      select sequence, number, 1, 2, 'accepted' from message, (select 1 as number union all select 2) where sequence % 10 = 0;
    insert into timeline (message_sequence, position, at, kind) select sequence, 1, 1, 'receipt-delivered' from message where sequence % 2 = 0;
    insert into accept_commit select sequence, sequence - 99, 900 from message where sequence % 100 = 0;
    commit;
    pragma journal_mode = wal;`)
  database.close()
}

function at(sorted: readonly number[], share: number): number {
  return Number(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]?.toFixed(1))
}

async function measure(storage: SqliteStorage, what: WalkOf, commits: number[]): Promise<Record<string, unknown>> {
  const size = new BatchSize(storage.retention)
  const [tookMs, rows]: [number[], number[]] = [[], []]
  for (let step = 0; step < STEPS_TO_LEARN + STEPS; step++) {
    if (step === STEPS_TO_LEARN) commits.length = 0
    const task = { do: 'walk', what, accountId: null, before: BEFORE } as const
    const taken = await storage.retention.step(task, { now: Date.now(), limit: size.rows, cursor: null })
    size.learn(taken.tookMs)
    if (step >= STEPS_TO_LEARN) {
      tookMs.push(taken.tookMs)
      rows.push(taken.removed.bodies ?? taken.removed.messages ?? 0)
    }
    await setTimeout(taken.tookMs * REST_TIMES)
  }
  const [steps, sorted, whole] = [
    tookMs.toSorted((a, b) => a - b),
    rows.toSorted((a, b) => a - b),
    commits.toSorted((a, b) => a - b),
  ]
  const sum = (list: readonly number[]) => list.reduce((all, each) => all + each, 0)
  return {
    what,
    'rows of a step, p50': at(sorted, 0.5),
    'ms of a step, p50': at(steps, 0.5),
    p99: at(steps, 0.99),
    most: at(steps, 1),
    'ms of its commit, p50': at(whole, 0.5),
    'commit p99': at(whole, 0.99),
    'rows per hour': Math.round((sum(rows) / (sum(tookMs) * (1 + REST_TIMES))) * 3_600_000),
  }
}

const path = join(process.argv[2] ?? '.', 'scratch-retention.db')
const clear = (): void => {
  for (const end of ['', '-wal', '-shm']) rmSync(`${path}${end}`, { force: true })
}
clear()
try {
  const begunAt = performance.now()
  fill(path)
  console.log(`filled in ${Math.round((performance.now() - begunAt) / 1000)} s`)
  const commits: number[] = []
  const storage = new SqliteStorage({
    path,
    clock: systemClock,
    limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
    sendable: () => SENDABLE,
    onBroken: () => {},
    onError: () => {},
    onCommit: ({ tookMs }) => commits.push(tookMs),
  })
  console.table([await measure(storage, 'message.body', commits), await measure(storage, 'message', commits)])
  await storage.close()
} finally {
  clear()
}
