import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { runSweep } from '../../../core/retention/run-sweep.ts'
import { systemClock } from '../../../server/system-clock.ts'
import { StorageHealth } from '../../queries/storage-health.ts'
import { GroupCommit } from '../connection/group-commit.ts'
import { openDatabase } from '../connection/open-database.ts'
import { SqliteRetention } from './retention.ts'

const DAY_MS = 86_400_000
const NOW = Date.UTC(2026, 0, 15)
const MESSAGES = 3_000
// A message with its two attempts, a moment of its timeline, its media and its place in a lane.
const ROWS_OF_A_MESSAGE = 6

interface Transaction {
  steps: number
  rows: number
  writers: number
}

let database: ReturnType<typeof openDatabase>
let commits: GroupCommit
let transactions: Transaction[]
let retention: SqliteRetention

beforeEach(() => {
  database = openDatabase(':memory:', { create: true })
  fill()
  transactions = []
  commits = new GroupCommit(database, new StorageHealth(systemClock), () => {})
  commits.join({
    begin: () => void transactions.push({ steps: 0, rows: 0, writers: 0 }),
    committed: () => {},
    rolledBack: () => {},
  })
  retention = new SqliteRetention(database, (run) =>
    commits.submit(() => {
      const before = changes()
      const result = run()
      const current = transactions.at(-1)
      if (current) {
        current.steps += 1
        current.rows += changes() - before
      }
      return result
    }),
  )
})

afterEach(() => database.close())

function fill(): void {
  const at = NOW - 100 * DAY_MS
  database.exec(`
    insert into message (sequence, id, account_id, connection_id, body, body_crc, recipient, type, state, accepted_at, settled_at)
      with recursive n (i) as (select 1 union all select i + 1 from n where i < ${MESSAGES})
      select i, 'message-' || i, 'account', 'connection', 'Hello', 1, '15550100000', 'image', 'PUBLISHED', ${at}, ${at} from n;
    insert into attempt (message_sequence, number, started_at, ended_at, outcome)
      select sequence, n, 1, 2, 'accepted' from message, (select 1 as n union all select 2);
    insert into timeline (message_sequence, position, at, kind) select sequence, 1, 1, 'receipt-delivered' from message;
    insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at)
      select sequence, account_id, connection_id, 'https://files.example/a.png', 'image', 'forgotten', 1 from message;
    insert into lane_entry (connection_id, sequence) select connection_id, sequence from message;`)
}

function changes(): number {
  return Number(database.prepare('select total_changes() as changes').get()?.['changes'])
}

/** One more is accepted in each turn of the event loop, until it is stopped. Resolves with how many were. */
async function acceptUntil(isOver: () => boolean): Promise<number> {
  const insert = database.prepare(
    `insert into message (id, account_id, connection_id, body, body_crc, recipient, type, state, accepted_at)
       values (?, 'account', 'connection', 'Hello', 1, '15550100000', 'message', 'QUEUED', ${NOW})`,
  )
  let accepted = 0
  while (!isOver()) {
    const id = `young-${++accepted}`
    await commits.submit(() => {
      insert.run(id)
      const current = transactions.at(-1)
      if (current) current.writers += 1
    })
  }
  return accepted
}

function sweep() {
  return runSweep({
    storage: retention,
    times: { bodiesDays: 30, messagesDays: 90, auditDays: 400 },
    worker: 'anna',
    now: () => NOW,
    rest: async () => {
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
      return true
    },
  })
}

describe('deleting by age beside those who are accepted', () => {
  it('holds no commit for more than one step, and no step for more rows than it may read', async () => {
    let isOver = false
    const accepting = acceptUntil(() => isOver)
    const swept = await sweep()
    isOver = true
    const accepted = await accepting

    assert.deepEqual([swept?.removed.messages, swept?.removed.bodies], [MESSAGES, MESSAGES])
    // And its own marks.
    const most = retention.mostRows * ROWS_OF_A_MESSAGE + 2
    assert.deepEqual(
      transactions.filter(({ steps, rows }) => steps > 1 || rows > most),
      [],
    )
    const withStep = transactions.filter(({ rows }) => rows > 100).length
    assert.ok(withStep > (2 * MESSAGES) / retention.mostRows, `Only ${withStep} commits held a step`)
    assert.ok(accepted > withStep, `Only ${accepted} were accepted beside ${withStep} steps`)
    const between = transactions.filter(({ steps, writers }) => steps === 0 && writers > 0).length
    assert.ok(between > withStep, `Only ${between} commits were free of it`)
    const [left] = database.prepare(`select count(*) as messages from message where id like 'young-%'`).all()
    assert.equal(left?.['messages'], accepted)
  })

  it('would see two steps in one commit', async () => {
    const task = { do: 'walk', what: 'message', accountId: null, before: NOW - 90 * DAY_MS } as const
    const given = { now: NOW, limit: 50, cursor: null }

    await Promise.all([retention.step(task, given), retention.step(task, given)])

    assert.deepEqual(transactions, [{ steps: 2, rows: 2 * (50 * ROWS_OF_A_MESSAGE + 1), writers: 0 }])
  })
})
