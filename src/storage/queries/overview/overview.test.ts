import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { countHours, isAsOldAs } from '../../../../test/support/administration-world/counted-hours.ts'
import { logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, TokenId } from '../../../core/ids.ts'
import type { Overview, OverviewRange, OverviewView, WantedOverview } from '../../../core/ports/console/overview.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS } from './hours.ts'
import { createOverview } from './overview.ts'

let world: AdministrationWorld
let overview: Overview
let account: AccountId

describe.each(ENGINES)('the overview, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    overview = createOverview(world.store)
    account = await world.account('Acme')
    return close
  })

  it('says that nothing was counted yet where there is too much to read for each view', async () => {
    await world.acceptMany(1_001, await world.connection(account))

    const { countedAt, isComplete, totals } = await read('24h')

    assert.deepEqual([countedAt, isComplete, totals.accepted], [null, false, 0])
  })

  it.each(['24h', '7d', '30d'] as const)('shows at once what came in the last two hours, over %s', async (range) => {
    await isAsOldAs(world, 3 * DAY_MS)
    const other = await world.connection(await world.account('Busy'), '15550001009')
    await world.acceptMany(1_001, other)
    const connectionId = await world.connection(account)
    await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 90_000 })
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'busy', acceptedAt: NOON - 80_000 })
    await world.accept({ connectionId, state: 'FAILED', reason: 'busy', acceptedAt: NOON - 70_000 })
    await world.accept({ connectionId })
    await refuse(account, NOON)
    await countHours(world)
    const counted = await read(range)
    await world.accept({ connectionId, state: 'PUBLISHED' })
    await world.administration.retryMessage(failed.id, 'anna')
    await refuse(account, NOON + 1)
    world.now += 2

    const { totals, bars, countedAt, isComplete } = await read(range)
    const attention = await overview.readAttention(account)
    const ofOther = await overview.readOverview(wanted(range, { connectionId: other }))

    assert.deepEqual([counted.totals.accepted, counted.totals.refused], [4, 1])
    assert.deepEqual([totals.accepted, totals.published, totals.failed, totals.waiting], [6, 2, 2, 2])
    assert.deepEqual([totals.refused, bars.at(-1)?.refused], [2, 2])
    assert.deepEqual([countedAt, isComplete, ofOther.totals.accepted], [NOON + 2, true, 0])
    assert.deepEqual(attention.groups, [{ state: 'FAILED', reason: 'busy', count: 1, latestAt: NOON - 70_000 }])
  })

  it('shows what became of messages by the hour, by six hours and by the day, and as of when that is', async () => {
    await isAsOldAs(world, 31 * DAY_MS, 20 * DAY_MS, 3 * DAY_MS, 2 * HOUR_MS, 1)
    const connectionId = await world.connection(account)
    await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 20 * DAY_MS })
    await world.accept({ connectionId, state: 'EXPIRED', acceptedAt: NOON - 3 * DAY_MS })
    await world.accept({ connectionId, state: 'DELIVERED', acceptedAt: NOON - 2 * HOUR_MS })
    await world.accept({ connectionId, acceptedAt: NOON - 10 })
    await refuse(account, NOON - 5)
    await countHours(world)
    world.now += 5 * MINUTE_MS

    const [day, week, month] = [await read('24h'), await read('7d'), await read('30d')]

    assert.deepEqual([day.bars.length, week.bars.length, month.bars.length], [24, 28, 30])
    assert.deepEqual([day.barMs, week.barMs, month.barMs], [HOUR_MS, 6 * HOUR_MS, DAY_MS])
    assert.deepEqual([day.totals.accepted, week.totals.accepted, month.totals.accepted], [2, 3, 4])
    assert.deepEqual([day.totals.refused, day.totals.published, day.totals.waiting], [1, 1, 1])
    assert.equal(month.totals.expired, 1)
    assert.equal(barAt(day, NOON - 2 * HOUR_MS)?.published, 1)
    assert.equal(barAt(month, Date.UTC(2026, 0, 12))?.expired, 1)
    assert.equal(day.countedAt, world.now)
    assert.ok(day.isComplete && month.isComplete)
  })

  it('begins a day when the day of its reader begins', async () => {
    await isAsOldAs(world, 3 * DAY_MS, 37 * HOUR_MS, 36.5 * HOUR_MS)
    const connectionId = await world.connection(account)
    await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: Date.UTC(2026, 0, 13, 23, 30) })
    await countHours(world)

    const berlin = await overview.readOverview(wanted('30d', { offsetMinutes: 60 }))

    assert.equal(barAt(berlin, Date.UTC(2026, 0, 13, 23))?.published, 1)
    assert.equal(berlin.bars.at(-1)?.at, Date.UTC(2026, 0, 14, 23))
  })

  it('begins each day at the midnight of its reader’s place, also before the clocks were set', async () => {
    world.now = Date.UTC(2026, 3, 10, 12)
    const hours = [Date.UTC(2026, 2, 19, 22), Date.UTC(2026, 2, 19, 23), Date.UTC(2026, 3, 8, 22)]
    for (const hour of hours)
      await world.run(`insert into tally values (?, '', cast(? as bigint), 'published', 1)`, account, hour)
    const place = { timeZone: 'Europe/Berlin', offsetMinutes: 120 }

    const berlin = await overview.readOverview(wanted('30d', place))
    const week = await overview.readOverview(wanted('7d', place))
    const nowhere = await overview.readOverview(wanted('30d', { timeZone: 'Nowhere/At_all', offsetMinutes: 120 }))

    const days = berlin.bars.filter(({ published }) => published > 0).map(({ at, published }) => [at, published])
    assert.deepEqual(days, [
      [Date.UTC(2026, 2, 18, 23), 1],
      [Date.UTC(2026, 2, 19, 23), 1],
      [Date.UTC(2026, 3, 8, 22), 1],
    ])
    assert.deepEqual([berlin.bars.length, berlin.bars.at(-1)?.at], [30, Date.UTC(2026, 3, 9, 22)])
    assert.ok(berlin.bars.some(({ at }) => at === Date.UTC(2026, 2, 28, 23)))
    assert.ok(berlin.bars.some(({ at }) => at === Date.UTC(2026, 2, 29, 22)))
    assert.equal(week.bars.length, 28)
    assert.equal(nowhere.bars[0]?.at, Date.UTC(2026, 2, 11, 22))
  })

  it('shows the last sixty minutes as they stand, without waiting to be counted', async () => {
    const connectionId = await world.connection(account)
    await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 70 * MINUTE_MS })
    await world.accept({ connectionId, state: 'FAILED', acceptedAt: NOON - 30 * MINUTE_MS })
    await world.accept({ connectionId, acceptedAt: NOON - 1 })
    await refuse(account, NOON - 1)

    const { totals, bars, barMs, countedAt } = await read('1h')

    assert.deepEqual([totals.accepted, totals.failed, totals.waiting, totals.refused], [2, 1, 1, 1])
    assert.deepEqual([bars.length, barMs, countedAt], [12, 5 * MINUTE_MS, NOON])
    // By whole hours, so from before the first bar on: a search for these must begin there.
  })

  it('shows the last hours as they were counted where there is too much to read', async () => {
    const connectionId = await world.connection(account)
    await world.acceptMany(10_001, connectionId)
    await countHours(world)

    const { totals, bars, barMs } = await read('1h')

    assert.deepEqual([totals.accepted, bars.length, barMs], [10_001, 2, HOUR_MS])
  })

  it('shows one connection alone', async () => {
    const [first, second] = [
      await world.connection(account, '15550001000'),
      await world.connection(account, '15550001001'),
    ]
    await world.accept({ connectionId: first, state: 'PUBLISHED' })
    await world.accept({ connectionId: second, state: 'FAILED' })
    await countHours(world)

    const ofSecond = async (range: OverviewRange) =>
      (await overview.readOverview(wanted(range, { connectionId: second }))).totals

    assert.deepEqual([(await ofSecond('24h')).accepted, (await ofSecond('24h')).failed], [1, 1])
    assert.deepEqual([(await ofSecond('1h')).accepted, (await ofSecond('1h')).failed], [1, 1])
  })

  it('shows which lanes wait and why, those that stand still first, and of each the oldest first', async () => {
    const [flowing, paused, away, empty] = [
      await world.connection(account, '15550001000'),
      await world.connection(account, '15550001001'),
      await world.connection(account, '15550001002'),
      await world.connection(account, '15550001003'),
    ]
    await world.accept({ connectionId: flowing, acceptedAt: NOON - 9_000 })
    await world.accept({ connectionId: paused, acceptedAt: NOON - 3_000 })
    await world.accept({ connectionId: away, acceptedAt: NOON - 5_000 })
    await world.accept({ connectionId: away, acceptedAt: NOON - 4_000 })
    await world.accept({ connectionId: empty, state: 'PUBLISHED' })
    await world.administration.setConnectionState(paused, 'paused', 'test')
    await world.lane(away, { reason: 'connection_away', until: NOON + 60_000, words: 'no route' })

    const { lanes, waiting, furtherLanes } = await read('24h')

    assert.deepEqual(
      lanes.map((lane) => [lane.connectionId, lane.reason, lane.waiting, lane.oldestAt]),
      [
        [away, 'connection_away', 2, NOON - 5_000],
        [paused, 'paused', 1, NOON - 3_000],
        [flowing, null, 1, NOON - 9_000],
      ],
    )
    assert.deepEqual(waiting, { count: 4, isMore: false, oldestAt: NOON - 9_000 })
    assert.equal(furtherLanes, 0)
  })

  it('counts a long queue no further than it can in a moment', async () => {
    const connectionId = await world.connection(account)
    await world.acceptMany(6_000, connectionId)
    const { waiting: before } = await read('24h')

    await countHours(world)
    const { waiting: after } = await read('24h')

    assert.deepEqual([before.count, before.isMore], [5_000, true])
    assert.deepEqual([after.count, after.isMore], [6_000, true])
  })

  it('shows the latency of the newest published messages, also behind a queue', async () => {
    const connectionId = await world.connection(account)
    for (const tookMs of [100, 200, 300, 10_000]) {
      const { sequence } = await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 90_000 })
      await world.database.rewriteMessage(sequence, { published_at: NOON - 90_000 + tookMs })
    }
    const unknown = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown', acceptedAt: 9 })
    await world.administration.resolveMessage(unknown.id, 'arrived', 'anna')
    const { latency: flowing } = await read('24h')
    await world.acceptMany(9_000, connectionId)
    const { latency: queued } = await read('24h')

    assert.deepEqual(flowing, { messages: 4, p50Ms: 200, p95Ms: 10_000 })
    assert.deepEqual(queued, flowing)
  })

  it('G12: shows that all lanes are held, and why', async () => {
    await world.administration.holdLanes('restored the backup of Monday', 'test')

    assert.deepEqual((await read('24h')).hold, { since: NOON, reason: 'restored the backup of Monday', isOwn: true })
  })

  it('shows what is kept, since when, and how much space it takes', async () => {
    await isAsOldAs(world, 21 * DAY_MS, 20 * DAY_MS)
    const connectionId = await world.connection(account)
    await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 20 * DAY_MS })
    const { sequence } = await world.accept({ connectionId, type: 'image' })
    await world.run(`update media set state = 'ready', size_bytes = 4096 where message_sequence = ?`, sequence)
    await refuse(account, NOON)
    await countHours(world)
    await world.accept({ connectionId, state: 'PUBLISHED' })

    const kept = await overview.readRetention(account)

    assert.deepEqual([kept.messages, kept.oldestAt, kept.isComplete], [3, NOON - 20 * DAY_MS, true])
    assert.deepEqual(kept.spool, { files: 1, bytes: 4096, isMore: false })
    assert.ok((kept.databaseBytes ?? 0) > 50_000)
  })

  it('counts as kept no message that has been deleted since, and knows of one that was kept back', async () => {
    await isAsOldAs(world, 200 * DAY_MS, 120 * DAY_MS, 100 * DAY_MS, 2 * DAY_MS)
    const connectionId = await world.connection(account)
    const unknown = { connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' } as const
    const kept = await world.accept({ ...unknown, acceptedAt: NOON - 120 * DAY_MS })
    const old = await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 100 * DAY_MS })
    await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 2 * DAY_MS })
    await countHours(world)
    const before = await overview.readRetention(account)

    await world.run(`delete from ${engine === 'SQLite' ? 'message' : 'settled'} where sequence = ?`, old.sequence)
    await world.run(`insert into retention_kept values (?, ?, 'message')`, account, kept.sequence)
    const after = await overview.readRetention(account)
    await world.run(`delete from ${engine === 'SQLite' ? 'message' : 'settled'} where sequence = ?`, kept.sequence)
    await world.run('delete from retention_kept')
    const last = await overview.readRetention(account)

    assert.deepEqual([before.messages, before.oldestAt], [3, NOON - 120 * DAY_MS])
    assert.deepEqual([after.messages, after.oldestAt], [2, NOON - 120 * DAY_MS])
    assert.deepEqual([last.messages, last.oldestAt], [1, NOON - 2 * DAY_MS])
  })

  it('shows nothing of another account', async () => {
    const other = await world.account('Bolt')
    const connectionId = await world.connection(other)
    await world.accept({ connectionId, state: 'PUBLISHED' })
    await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    await world.accept({ connectionId })
    const { sequence } = await world.accept({ connectionId, type: 'image' })
    await world.run(`update media set state = 'ready', size_bytes = 4096 where message_sequence = ?`, sequence)
    await token(other, 'theirs', NOON + DAY_MS)
    await refuse(other, NOON)
    await countHours(world)

    for (const range of ['1h', '24h'] as const) {
      for (const asked of [null, connectionId]) {
        const seen = await overview.readOverview(wanted(range, { connectionId: asked }))
        assert.deepEqual([seen.totals.accepted, seen.totals.refused, seen.waiting.count], [0, 0, 0])
        assert.deepEqual([seen.lanes, seen.latency], [[], null])
        const byFirstStart = { connection: false, token: false }
        assert.deepEqual(seen.firstSteps, { connection: false, token: false, message: false, byFirstStart })
      }
    }
    assert.deepEqual((await overview.readAttention(account)).groups, [])
    const kept = await overview.readRetention(account)
    assert.deepEqual([kept.messages, kept.oldestAt, kept.spool.files, kept.databaseBytes], [0, null, 0, null])
  })
})

function read(range: OverviewRange): Promise<OverviewView> {
  return overview.readOverview(wanted(range, {}))
}

function wanted(range: OverviewRange, more: Partial<WantedOverview>): WantedOverview {
  return { accountId: account, range, connectionId: null, timeZone: null, offsetMinutes: 0, ...more }
}

function barAt({ bars }: OverviewView, at: number) {
  return bars.find((bar) => bar.at === at)
}

async function refuse(accountId: AccountId, receivedAt: number): Promise<void> {
  await logRequest(world, { accountId, tokenId: 'token' as TokenId, requestId: 'a refused one', receivedAt })
}

async function token(accountId: AccountId, name: string, expiresAt: number): Promise<void> {
  const nothing = { events: [], connectionIds: null, sourceRanges: null }
  const wanted = { accountId, name, expiresAt, ...nothing, sha256: Buffer.from(name), prefix: name.slice(0, 8) }
  await world.administration.createToken(wanted, 'test')
}
