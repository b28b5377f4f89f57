import assert from 'node:assert/strict'
import { beforeEach, describe, it, onTestFinished, vi } from 'vitest'
import { logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import { DAY_MS, HOUR_MS, hourOf, MINUTE_MS } from './hours.ts'
import { createOverview } from './overview.ts'
import { TallyCounter } from './tally-counter.ts'

const STATES = ['QUEUED', 'PUBLISHED', 'DELIVERED', 'READ', 'FAILED', 'UNCONFIRMED', 'EXPIRED', 'CANCELLED'] as const
const HISTORY_HOURS = 10

let world: AdministrationWorld
let counter: TallyCounter
let waits: number[]

describe.each(ENGINES)('the counting by the hour, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    waits = []
    counter = new TallyCounter(world.store, { wait: async (ms) => void waits.push(ms) })
    return close
  })

  it('finds what a count of all rows finds, also after what was accepted long ago has changed', async () => {
    const draw = randomNumbers(7)
    const accounts = [await oldAccount('Acme'), await oldAccount('Bolt')]
    const lanes = await Promise.all(
      accounts.flatMap((account) => [
        world.connection(account, '15550001000'),
        world.connection(account, '15550001001'),
      ]),
    )
    let at = NOON - HISTORY_HOURS * HOUR_MS
    for (let made = 0; made < 120; made++) {
      at = Math.min(NOON, at + draw(0.5 * HOUR_MS))
      if (draw(10) === 0) await world.database.leaveGap()
      // Several accept at once, so numbers and times are not quite in the same order.
      const acceptedAt = at - draw(2_000)
      const state = STATES[draw(STATES.length)] ?? 'QUEUED'
      await world.accept({ connectionId: lanes[draw(4)] as ConnectionId, state, acceptedAt, reason: 'busy' })
      if (draw(6) === 0) await refuse(accounts[draw(2)] as AccountId, at)
    }
    world.now = Math.max(at, NOON)

    await countAll()
    const [first, firstByHand] = [await tallies(), await byHand()]
    await world.run(
      `update message set state = 'PUBLISHED', published_at = ?, settled_at = ? where state = 'QUEUED'`,
      at,
      at,
    )
    world.now += 11 * MINUTE_MS
    await countAll()
    const [second, secondByHand] = [await tallies(), await byHand()]

    assert.deepEqual(first, firstByHand)
    assert.deepEqual(second, secondByHand)
    assert.notDeepEqual(first, second)
  })

  it('counts only the failures that no person has dealt with', async () => {
    const account = await oldAccount('Acme')
    const connectionId = await world.connection(account)
    await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    const again = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    const resolved = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    await world.run('update message set resent_as = 99 where sequence = ?', again.sequence)
    await world.run('update message set resolved_at = ? where sequence = ?', NOON, resolved.sequence)

    await countAll()

    const rows = await world.all('select state, reason, count from tally_reason')
    assert.deepEqual(
      rows.map((row) => [row['state'], row['reason'], Number(row['count'])]),
      [['FAILED', 'recipient_refused', 2]],
    )
  })

  it('keeps the figures of an old hour whose messages were deleted, while something of it still waits', async () => {
    const account = await oldAccount('Acme')
    const connectionId = await world.connection(account)
    const acceptedAt = NOON - 12 * DAY_MS
    await world.run('update account set created_at = ? where id = ?', acceptedAt, account)
    const accepted = { connectionId, acceptedAt, reason: 'busy' }
    const other = await world.accept({ ...accepted, connectionId: await world.connection(account, '15550001001') })
    for (const state of ['PUBLISHED', 'PUBLISHED', 'FAILED', 'QUEUED'] as const)
      await world.accept({ ...accepted, state })
    world.now = acceptedAt + HOUR_MS
    await countAll()
    world.now = NOON
    await world.run(`delete from ${engine === 'SQLite' ? 'message' : 'settled'} where state in ('PUBLISHED', 'FAILED')`)
    await world.run(`update message set state = 'PUBLISHED', settled_at = ? where sequence = ?`, NOON, other.sequence)

    await countAll()

    const figures = async (which: string) => {
      const rows = await world.all(
        `select state, sum(count) as count from tally where connection_id ${which} group by state order by state`,
      )
      return rows.map((row) => [row['state'], Number(row['count'])])
    }
    const reasons = await world.all('select reason, count from tally_reason')
    const expected = [
      ['failed', 1],
      ['published', 3],
      ['waiting', 1],
    ]
    assert.deepEqual([await figures(`= ''`), await figures(`<> ''`)], [expected, expected])
    assert.deepEqual(
      reasons.map((row) => [row['reason'], Number(row['count'])]),
      [['busy', 1]],
    )
  })

  it('goes on where it was when it is begun anew, and counts a final hour no more', async () => {
    const account = await oldAccount('Acme')
    await world.run('update account set created_at = ? where id = ?', NOON - 12 * DAY_MS, account)
    await world.run(
      `with recursive hours (hour) as (select cast(${NOON - 12 * DAY_MS} as bigint) union all
         select hour + ${HOUR_MS} from hours where hour < ${NOON - 3 * DAY_MS})
       insert into tally_hour (hour, counted_at) select hour, ${NOON} from hours`,
    )
    await countAll()
    const before = await countedAt()

    world.now += 11 * MINUTE_MS
    counter = new TallyCounter(world.store, { wait: async () => {} })
    await countAll()

    const after = await countedAt()
    const again = [...after].filter(([hour, at]) => before.get(hour) !== at).map(([hour]) => hour)
    assert.equal(after.size, 12 * 24 + 1)
    assert.equal(again.length, 48)
    assert.ok(again.every((hour) => hour > NOON - 48 * HOUR_MS))
  })

  it.each([
    { who: 'a person', isWatched: true, times: 10 },
    { who: 'no person', isWatched: false, times: 40 },
  ])('rests $times times as long as it counted while $who watches', async ({ isWatched, times }) => {
    const connectionId = await world.connection(await oldAccount('Acme'))
    for (let made = 0; made < 5; made++) await world.accept({ connectionId })
    // By a clock that goes on whenever the time is asked for. The real one also does while others have the core.
    let clockMs = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => clockMs)
    onTestFinished(() => clock.mockRestore())
    const now = () => {
      clockMs += 10
      return world.store.now()
    }
    const counter = new TallyCounter({ ...world.store, now }, { wait: async (ms) => void waits.push(ms) })
    if (isWatched) counter.noteWatched()
    const begunAtMs = clockMs

    await counter.countNext()

    const counted = clockMs - begunAtMs
    const rested = waits.reduce((sum, ms) => sum + ms, 0)
    assert.ok(rested > 0)
    assert.ok(rested <= counted * times, `${rested} ms of rest after ${counted} ms`)
    assert.ok(rested >= (counted * times) / 2, `${rested} ms of rest after ${counted} ms`)
  })

  it('rests no longer after an hour once a person watches', async () => {
    const connectionId = await world.connection(await oldAccount('Acme'))
    await world.accept({ connectionId })
    const resting = Promise.withResolvers<AbortSignal>()
    let rests = 0
    const slow = new TallyCounter(world.store, {
      wait: (_ms, signal) => {
        rests += 1
        // Those within the hour are short.
        if (rests === 1) return Promise.resolve()
        resting.resolve(signal)
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      },
    })

    const counting = slow.countNext()
    const rest = await resting.promise
    slow.noteWatched()

    assert.ok(rest.aborted)
    assert.equal(await counting, true)
  })

  it('keeps nothing of an hour that it gave up', async () => {
    const connectionId = await world.connection(await oldAccount('Acme'))
    await world.accept({ connectionId })
    const stop = new AbortController()
    const stopped = new TallyCounter(world.store, { wait: async () => stop.abort() })

    await stopped.countNext(stop.signal)

    assert.deepEqual(await tallies(), new Map())
    assert.equal((await countedAt()).size, 0)
  })

  it('starts and stops, twice too, and counts faster as soon as a person watches', async () => {
    await oldAccount('Acme')
    let waiting = Promise.withResolvers<void>()
    const woken = Promise.withResolvers<void>()
    let isLooking = false
    const running = new TallyCounter(world.store, {
      wait: (ms, signal) => {
        // The waits after an hour are short here; the one between two checks ends by `noteWatched` alone.
        if (ms !== 5_000) return Promise.resolve()
        waiting.resolve()
        if (isLooking) woken.resolve()
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
      },
    })
    const overview = createOverview(world.store, running)

    running.start()
    running.start()
    await waiting.promise
    world.now += 15_000
    isLooking = true
    waiting = Promise.withResolvers()
    await overview.readRetention('unknown' as AccountId)
    await woken.promise
    const counted = (await countedAt()).get(hourOf(world.now))
    await running.stop()
    await running.stop()

    assert.equal(counted, world.now)
  })
})

describe('the counting by the hour, by several processes on PostgreSQL', () => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    return world.open('PostgreSQL')
  })

  it('is done by one at a time', async () => {
    const connectionId = await world.connection(await oldAccount('Acme'))
    await world.accept({ connectionId })
    const [begun, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const first = new TallyCounter(world.store, {
      wait: async () => {
        begun.resolve()
        await goOn.promise
      },
    })
    const second = new TallyCounter(world.store, { wait: async () => {} })

    const counting = first.countNext()
    await begun.promise
    const beside = await second.countNext()
    goOn.resolve()

    assert.equal(beside, false)
    assert.equal(await counting, true)
    assert.equal(await second.countNext(), true)
  })
})

async function oldAccount(name: string): Promise<AccountId> {
  const account = await world.account(name)
  await world.run('update account set created_at = ? where id = ?', NOON - (HISTORY_HOURS + 2) * HOUR_MS, account)
  return account
}

async function refuse(accountId: AccountId, receivedAt: number): Promise<void> {
  await logRequest(world, { accountId, tokenId: 'token' as TokenId, requestId: 'a refused one', receivedAt })
}

async function countAll(): Promise<void> {
  while (await counter.countNext());
}

async function tallies(): Promise<Map<string, number>> {
  const rows = await world.all('select account_id, connection_id, hour, state, count from tally')
  return sorted(rows.map((row) => [keyOf(row), Number(row['count'])]))
}

async function countedAt(): Promise<Map<number, number>> {
  const rows = await world.all('select hour, counted_at from tally_hour')
  return new Map(rows.map((row) => [Number(row['hour']), Number(row['counted_at'])]))
}

/** All of it in one go, by SQL that has nothing of ours in it. */
async function byHand(): Promise<Map<string, number>> {
  const state = `case when state = 'QUEUED' then 'waiting' when state in ('PUBLISHED', 'DELIVERED', 'READ') then 'published'
    else lower(state) end`
  const rows = await world.all(
    `select account_id, connection_id, hour, state, count(*) as count from (
       select account_id, connection_id, accepted_at - accepted_at % 3600000 as hour, ${state} as state from message
       union all select account_id, '', accepted_at - accepted_at % 3600000, ${state} from message
       union all select account_id, '', received_at - received_at % 3600000, 'refused' from request where message_id is null
     ) found group by account_id, connection_id, hour, state`,
  )
  return sorted(rows.map((row) => [keyOf(row), Number(row['count'])]))
}

function keyOf(row: Record<string, unknown>): string {
  return [row['account_id'], row['connection_id'], row['hour'], row['state']].join(' ')
}

function sorted(entries: [string, number][]): Map<string, number> {
  return new Map(entries.sort(([one], [other]) => (one < other ? -1 : 1)))
}

/** The same ones each time. */
function randomNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}
