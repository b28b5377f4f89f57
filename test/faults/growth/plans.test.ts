import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, it, vi } from 'vitest'
import type { MessageId } from '../../../src/core/ids.ts'
import { openAdministration } from '../../../src/storage/postgres/queries/open-administration.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { CHANGES, QUESTIONS } from './administering.ts'
import { type Excuse, findCostly, findScattered, rowsOf } from './check-plans.ts'
import { DispatchingProcess } from './dispatching.ts'
import { ACCOUNTS, LANES, QUEUED, SETTLED } from './fill-database.ts'
import { type GrownDatabase, openGrownDatabase, type SomeMessage, someMessages } from './grown-database.ts'
import type { Ran } from './plan-log.ts'

vi.setConfig({ testTimeout: 300_000, hookTimeout: 900_000 })

// PostgreSQL plans a function's statement anew five times, and only then may use one generic plan.
const ROUNDS = 7

describe('with five million messages', () => {
  let database: GrownDatabase
  let dispatcher: DispatchingProcess
  let messages: readonly SomeMessage[]
  let ids: readonly MessageId[]

  beforeAll(async () => {
    database = await openGrownDatabase()
    dispatcher = new DispatchingProcess(database.url, database.session)
    messages = await someMessages(database.session)
    ids = messages.map(({ id }) => id)
  })

  afterAll(async () => {
    await dispatcher?.close()
    await database?.close()
  })

  /** Runs everything that a process does, and returns the SQL that ran. */
  async function serve(rounds: readonly number[]): Promise<readonly Ran[]> {
    const since = database.log.end
    for (const round of rounds) {
      await dispatcher.accept(round)
      await dispatcher.dispatch(round)
      await dispatcher.reportReceipts(messages)
      await dispatcher.fetchMedia()
      await dispatcher.runMaintenance()
    }
    return database.log.read(since)
  }

  it('accepting and dispatching read few rows before statistics exist', async () => {
    assert.deepEqual(findCostly(await serve([0, 1]), EXCUSES), [])
  })

  it('accepting and dispatching read few rows when functions use generic plans', async () => {
    await database.session.query('set default_statistics_target = 10; analyze')
    const since = database.log.end
    const ran = await serve(Array.from({ length: ROUNDS }, (_, i) => i + 2))
    await database.session.query(RARE)
    await waitUntil('what waits is counted', async () => namesOf(await database.log.read()).has('count_waiting'), {
      deadlineMs: 60_000,
      everyMs: 200,
    })

    assert.deepEqual(findCostly(await database.log.read(since), EXCUSES), [])
    const { rows } = await database.session.query<{ name: string }>(
      `select distinct proname as name from pg_proc where pronamespace = current_schema()::regnamespace order by 1`,
    )
    const seen = namesOf([...ran, ...(await database.log.read())])
    const unseen = rows.map(({ name }) => name).filter((name) => !seen.has(name))
    assert.deepEqual(unseen, NOT_HOT)
  })

  it('queries about one message read one day only', async () => {
    const since = database.log.end
    for (const message of messages) await dispatcher.report(message, 'read')
    await dispatcher.dispatch(100)
    await dispatcher.fetchMedia()
    assert.deepEqual(findScattered(await database.log.read(since), 1), [])

    const asked = database.log.end
    const visit = await openAdministration({ url: database.url, migrateUrl: database.url }, { create: false })
    for (const id of ids.slice(0, 3)) await visit.administration.explainMessage(id)
    await visit.close()
    // A repeat may have come until the day after next, so requests of three days are read.
    const explained = await database.log.read(asked)
    assert.deepEqual(
      findScattered(
        explained.filter(({ sql }) => !/from "request"/.test(sql)),
        1,
      ),
      [],
    )
    assert.deepEqual(findScattered(explained, 3), [])
  })

  it('each page of a list and each change by a person reads few rows', async () => {
    const visit = await openAdministration({ url: database.url, migrateUrl: database.url }, { create: false })
    const costly: Record<string, unknown> = {}
    for (const [what, ask] of Object.entries({ ...QUESTIONS, ...CHANGES })) {
      const since = database.log.end
      await ask(visit.administration, ids)
      const ran = await database.log.read(since)
      const most = MOST_OF[what] ?? MOST_ROWS_OF_A_QUESTION
      const all = {
        within: null,
        like: /./,
        because: 'documented',
        mostRows: most,
        mostBlocks: most,
        mayScan: what === 'a request',
      }
      const found = findCostly(ran, [all])
      const rows = rowsOf(ran)
      if (rows > most || found.length > 0) costly[what] = [`${rows} rows`, ...found]
    }
    await visit.close()

    assert.deepEqual(costly, {})
  })

  it('notices a missing index', async () => {
    const { session, log } = database
    const costlyWithout = async (index: string, sql: string) => {
      const since = log.end
      await session.query(`begin; drop index ${index}; ${sql}; rollback`)
      return findCostly(await log.read(since), EXCUSES)
    }

    const load = await costlyWithout(
      'queued_lane',
      `select count(*) from load_runs(array['con1999'], array[2], array[null::bigint])`,
    )
    const report = await costlyWithout(
      'settled_id',
      `select count(*) from find_targets(array['${ids[0]}'], null, null)`,
    )
    const sweep = await costlyWithout('idempotency_age', `delete from idempotency where accepted_at < 1`)

    assert.deepEqual(
      [load, report, sweep].map((found) => found.length > 0),
      [true, true, true],
    )
  })
})

/** The functions that were called, or that a statement names. */
function namesOf(ran: readonly Ran[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { within, sql } of ran) {
    if (within !== null) names.add(within)
    for (const [, name] of sql.matchAll(/(\w+)\s*\(/g)) names.add(name!)
  }
  return names
}

// Functions whose situation is hard to cause are called by hand, and rolled back.
const RARE = `begin;
  select locked_steps(array[account_id], array[connection_id], array[null::bigint], array[sequence], null, null, null, null)
    from queued where account_id = 'acc1' order by sequence desc limit 1;
  select announce_messages(array(select max(sequence) from settled where account_id = 'acc1'));
  select announce_notices('[]');
  select log_summed_requests(500, '{acc1}', '{token}', '{sum}', '{1}', '{1}', '{429}', '{HC-7}', '{[]}', '{5}');
  select settle_found((select max(sequence) from queued where account_id = 'acc1'), 'DELIVERED', null, null, 1, null,
    'receipt-delivered', null, null);
  select end_stranded(account_id, connection_id, sequence, false, 1)
    from queued where account_id = 'acc1' order by sequence desc limit 1;
  rollback`

// These are called only by people or by triggers of rare changes, or touch none of these tables.
const NOT_HOT = [
  'advance_checkpoint',
  'drop_period',
  'guard_connection',
  'guard_token',
  'has_jumped',
  'hold_lanes',
  'insert_message',
  'lock_lane_of',
  'mark_rights',
  'remove_session',
  'report_session_request',
  'session_holds',
  'try_lock_buckets',
  'write_session',
  'write_session_status',
]

const LANE_BY_LANE = 'it jumps from lane to lane, and a lane costs three reads of an index'

const EXCUSES: readonly Excuse[] = [
  { within: 'free_lanes', like: /busy|candidates/, mostRows: 3 * LANES, mostBlocks: 20 * LANES, because: LANE_BY_LANE },
  { within: 'expire_messages', like: /busy/, mostRows: 3 * LANES, mostBlocks: 20 * LANES, because: LANE_BY_LANE },
  {
    within: 'count_waiting',
    like: /limit wanted/,
    mostRows: 11_000,
    mostBlocks: 11_000,
    because: 'it counts what waits in pieces, until its time is up',
  },
  {
    within: null,
    like: /^select counted,/,
    mostRows: 20_000,
    mostBlocks: 20_000,
    mayScan: true,
    because: 'it counts what waits up to a limit, whichever way is the quickest',
  },
  {
    within: null,
    like: /^delete from idempotency/,
    mostRows: 5_000,
    mostBlocks: 50_000,
    because: 'it forgets two thousand keys at once',
  },
  {
    within: 'find_due_media',
    like: /media m/,
    mostRows: 15_000,
    mostBlocks: 40_000,
    because: 'it reads some of each lane of an account that has attachments to be fetched',
  },
  {
    within: 'spool_bytes',
    like: /media/,
    mostRows: 3_000,
    mostBlocks: 6_000,
    because: 'it adds up the files of an account in a spool, which a quota limits',
  },
]

const MOST_ROWS_OF_A_QUESTION = 10_000

// The most rows of growing tables that a whole query may read.
const MOST_OF: Readonly<Record<string, number>> = {
  // Uses the index of the account, so no row of another account is read.
  'messages of an account': 100,
  // A page of 200 from each half of the log: the rows, what they refer to, and their count.
  'requests of an account': 1_500,
  // Waiting messages are counted exactly, using only the index of lanes.
  'all connections': 1.1 * QUEUED,
  'connections of an account': (1.1 * QUEUED) / ACCOUNTS,
  'held lanes': 1.1 * QUEUED,
  // Searched in chunks of up to a hundred thousand rows, because no index contains the connection of a row.
  'requests of a connection': 300_000,
  // This is documented to take long: an index would make every acceptance more expensive.
  'a request': 3 * (SETTLED + QUEUED),
}
