import assert from 'node:assert/strict'
import { afterAll, beforeAll, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { OVERVIEW_RANGES } from '../../../contract/console/overview.ts'
import type { AccountId } from '../../../core/ids.ts'
import { DAY_MS } from './hours.ts'
import { createOverview } from './overview.ts'

const MESSAGES = 1_000_000
const WAITING = 200_000
const CONNECTIONS = 200
const APART_MS = Math.floor((30 * DAY_MS) / MESSAGES)
const LONGEST_MS = 50
const MOST_TRIES = 60
const TIMES_AN_EMPTY_ONE = 5

// By the best of as many tries as it takes, and beside an account without a message: this machine may have other things
// to do.
describe.each(ENGINES)('the overview over a million messages, a fifth of which wait, on %s', (engine) => {
  const world = new AdministrationWorld()
  // SQLite works in this process, so it need not be counted what others do meanwhile.
  const clock = engine === 'SQLite' ? processorMs : () => performance.now()
  let account: AccountId
  let empty: AccountId

  beforeAll(async () => {
    await world.open(engine)
    account = await world.account()
    empty = await world.account('Empty')
    await world.run('update account set created_at = ?', NOON - 31 * DAY_MS)
    for (let made = 0; made < CONNECTIONS; made++) await world.connection(account, String(15550001000 + made))
    for (const statement of statementsOf(engine)) await world.run(statement)
  }, 180_000)
  afterAll(() => world.close())

  it.each([...OVERVIEW_RANGES])(`answers within ${LONGEST_MS} ms over %s`, async (range) => {
    const overview = createOverview(world.store)
    const took = async (accountId: AccountId) => {
      const begunAt = clock()
      await overview.readOverview({
        accountId,
        range,
        connectionId: null,
        timeZone: 'Europe/Berlin',
        offsetMinutes: 60,
      })
      return clock() - begunAt
    }
    const [large, small]: [number[], number[]] = [[], []]
    const longest = () => Math.max(LONGEST_MS, Math.min(...small) * TIMES_AN_EMPTY_ONE)
    do {
      large.push(await took(account))
      small.push(await took(empty))
    } while (Math.min(...large) > longest() && large.length < MOST_TRIES)

    assert.ok(
      Math.min(...large) <= longest(),
      `${large.map(Math.round).join()} ms, of none ${small.map(Math.round).join()}`,
    )
  })
})

function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Makes the messages and their figures, by the hour and connection, in some seconds. */
function statementsOf(engine: EngineName): readonly string[] {
  const numbered = 'select row_number() over (order by id) - 1 as n, id, account_id from connection'
  const at = `${NOON} - (${MESSAGES} - i) * cast(${APART_MS} as bigint)`
  const shared = `'message-' || i, account_id, id, '{}', 0, '15550100000', 'message'`
  const names = 'id, account_id, connection_id, body, body_crc, recipient, type'
  const state = `case when i % 100 = 1 then 'FAILED' else 'PUBLISHED' end`
  const ended = `${state}, 'busy', 1, ${at}, ${at} + 300 + i % 500, ${at}`
  const endedNames = 'state, reason, attempts, accepted_at, published_at, settled_at'
  const settled = MESSAGES - WAITING
  const figures = [
    `insert into tally select account_id, '', hour, state, count(*) from (
       select account_id, accepted_at - accepted_at % 3600000 as hour,
         case state when 'QUEUED' then 'waiting' when 'FAILED' then 'failed' else 'published' end as state from message) m
       group by account_id, hour, state`,
    'insert into tally_hour select distinct hour, hour from tally',
  ]
  if (engine === 'SQLite') {
    const counted = (from: number, to: number) => `(with recursive counted (i) as
      (select ${from} union all select i + 1 from counted where i < ${to}) select i from counted)`
    return [
      `insert into message (${names}, ${endedNames}) select ${shared}, ${ended}
         from ${counted(1, settled)} join (${numbered}) on n = i % ${CONNECTIONS}`,
      `insert into message (${names}, state, accepted_at) select ${shared}, 'QUEUED', ${at}
         from ${counted(settled + 1, MESSAGES)} join (${numbered}) on n = i % ${CONNECTIONS}`,
      `insert into lane_entry select connection_id, sequence from message where state = 'QUEUED'`,
      'update indexed_through set sequence = (select max(sequence) from message)',
      ...figures,
    ]
  }
  const counted = (from: number, to: number) =>
    `generate_series(${from}, ${to}) i join (${numbered}) c on n = i % ${CONNECTIONS}`
  return [
    `insert into settled (sequence, ${names}, ${endedNames}) select (1::bigint << 40) + i, ${shared}, ${ended} from ${counted(1, settled)}`,
    `insert into queued (sequence, ${names}, attempts, accepted_at) select (1::bigint << 40) + i, ${shared}, 0, ${at}
       from ${counted(settled + 1, MESSAGES)}`,
    ...figures,
    'analyze',
  ]
}
