import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addSender,
  attempt,
  BEN,
  head,
  step,
} from '../../../../test/conformance/storage-world.ts'
import { hasValidLease, LONGEST_LEASE_MS, validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import type { ConnectionId, SpoolId, WorkerId } from '../../../core/ids.ts'
import type { ClaimedLane, Lanes } from '../../../core/ports/lanes.ts'

const CARL = 'carl' as WorkerId
const SPOOL = 'spool' as SpoolId
const LASTS_MS = 15_000
const HEARTBEAT_EVERY_MS = 3_000
const DAY = 24 * 3_600_000

describe('claims on PostgreSQL, when the clock of the database is set', () => {
  it.each([2 * DAY, -2 * DAY, 30_000, -30_000])('G6: steals no lane of a living worker after %d ms', async (byMs) => {
    const { world, anna, ben } = await twoWorkers()

    await world.setDatabaseClock(byMs)
    const stolen = [await claimAll(BEN, ben)]
    for (let passedMs = 0; passedMs < 3 * LASTS_MS; passedMs += HEARTBEAT_EVERY_MS) {
      // The worst case: the one who wants lanes notices first, and the one who has them beats last.
      await ben.heartbeat(BEN, LASTS_MS)
      stolen.push(await claimAll(BEN, ben))
      await anna.heartbeat(ANNA, LASTS_MS)
      await world.clock.pass(HEARTBEAT_EVERY_MS)
      stolen.push(await claimAll(BEN, ben))
    }

    assert.deepEqual(stolen.flat(), [])
    await world.close()
  })

  it.each([2 * DAY, -2 * DAY])('G6: frees the lanes of a dead worker within 20 s after %d ms', async (byMs) => {
    const { world, ben } = await twoWorkers()

    await world.setDatabaseClock(byMs)
    await ben.heartbeat(BEN, LASTS_MS)
    let passedMs = 0
    while ((await claimAll(BEN, ben)).length === 0) {
      assert.ok(passedMs < 20_000, 'the lane is stuck')
      await world.clock.pass(1_000)
      passedMs += 1_000
      await ben.heartbeat(BEN, LASTS_MS)
    }

    assert.ok(passedMs >= LASTS_MS, `its owner had no time to beat again: ${passedMs} ms`)
    await world.close()
  })

  it('would steal it if it did not know the time from before', async () => {
    const { world } = await twoWorkers()
    const carl = world.processOf(CARL, SPOOL).lanes

    await world.setDatabaseClock(2 * DAY)
    const stolen = await claimAll(CARL, carl)

    assert.equal(stolen.length, 1)
    await world.close()
  })

  it('takes over at once from a worker that has retired', async () => {
    const { world, anna, ben } = await twoWorkers()
    await anna.deleteLease(ANNA)

    await world.setDatabaseClock(2 * DAY)
    const claimed = await claimAll(BEN, ben)

    assert.equal(claimed.length, 1)
    await world.close()
  })

  it.each([2 * DAY, -2 * DAY])('changes nothing when the clock of a worker’s machine is set by %d ms', async (byMs) => {
    const { world, anna, ben, lane } = await twoWorkers()
    const [before, time] = [world.storage.clock.now(), world.clock.monotonic()]

    world.clock.setNow(byMs)
    world.clock.setWall(byMs)
    const stolen = await claimAll(BEN, ben)
    const message = await head(world, lane.connectionId)
    const now = world.storage.clock.now()
    const opened = await anna.record({
      ...step(world, lane, { start: { sequence: message.sequence, number: 1 } }),
      at: now,
    })

    assert.deepEqual(stolen, [])
    assert.equal(now, before + world.clock.monotonic() - time)
    assert.deepEqual(opened, { fenced: false, started: true })
    await world.close()
  })
})

describe('claims on PostgreSQL', () => {
  it('holds the same heartbeats for valid in SQL as in TypeScript', async () => {
    const { world } = await twoWorkers()
    const now = 1_000_000
    const edges = [-1, 0, 1, LONGEST_LEASE_MS, LONGEST_LEASE_MS + 1].map((ms) => now + ms)

    const rows = await world.sql(
      `select has_valid_lease(heartbeat_until, ${now}) as stored, ${validLeaseSql(`${now}`)} as written
         from unnest(array[${edges.join()}]::bigint[]) heartbeat_until`,
    )

    const expected = edges.map((until) => hasValidLease(until, now))
    assert.deepEqual(expected, [false, false, true, true, false])
    assert.deepEqual(
      rows.map(({ stored }) => stored),
      expected,
    )
    assert.deepEqual(
      rows.map(({ written }) => written),
      expected,
    )
    await world.close()
  })

  it('counts no process among those that accept whose heartbeat was written before the clock was set back', async () => {
    const { world } = await twoWorkers()
    await world.sql('delete from worker')
    await world.sql(`insert into worker (id, heartbeat_until, roles) values ('w', now_ms() + 3600000, 'api')`)
    const carl = world.processOf(CARL, SPOOL)

    await carl.start({ lanesChanged: () => {}, lanesWoken: () => {} })

    assert.equal(carl.acceptingProcesses(), 1)
    await world.close()
  })

  it('G12: opens nothing while the lanes are held, but brings to an end what is open', async () => {
    const { world, anna, lane } = await twoWorkers()
    const sequence = (await head(world, lane.connectionId)).sequence
    const session = await world.session()
    await session.query(`insert into hold values (1, 1, 'test')`)

    const [held, opened] = [
      await anna.inspect(lane),
      await anna.record(step(world, lane, { start: { sequence, number: 1 } })),
    ]
    const none = await claimAll(ANNA, anna)
    await session.query('delete from hold')
    await anna.record(step(world, lane, { start: { sequence, number: 1 } }))
    await session.query(`insert into hold values (1, 1, 'test')`)
    const [withOne] = await claimAll(ANNA, anna)

    assert.equal(held?.mayOpen, false)
    assert.deepEqual(opened, { fenced: false, started: false })
    assert.deepEqual(none, [])
    assert.deepEqual([withOne?.mayOpen, withOne?.open?.message.sequence], [false, sequence])
    await world.close()
  })

  it('G2: records no end later than the shared clock, and no beginning earlier than the claim', async () => {
    const { world, anna, lane } = await twoWorkers()
    const message = await head(world, lane.connectionId)
    const now = world.clock.now()
    // Of a worker whose clock is ahead of it.
    const ahead = { ...attempt(world, message), startedAt: now + 400, endedAt: now + 500 }
    await anna.record(step(world, lane, { start: { sequence: message.sequence, number: 1 } }))
    await anna.record(step(world, lane, { finish: { attempt: ahead, disposition: AS_PUBLISHED } }))
    const session = await world.session()
    const { rows } = await session.query('select attempt_started_at, published_at, settled_at from settled')
    // Of one whose clock is behind it.
    await accept(world, await addSender(world, { number: '15550001001' }))
    await world.setDatabaseClock(30)
    const [claimed] = await claimAll(ANNA, anna)

    assert.deepEqual(Object.values(rows[0] as object).map(Number), [now, now, now])
    assert.ok(claimed)
    assert.ok(world.storage.clock.now() >= now + 30, `${world.storage.clock.now() - now} ms later`)
    await world.close()
  })

  it('claims a lane that has no row yet, and one whose worker has no row any more', async () => {
    const { world, anna, lane } = await twoWorkers()
    const session = await world.session()
    await session.query(`update lane set owner = 'unknown'`)
    const [orphaned] = await claimAll(ANNA, anna)
    await session.query('delete from lane')

    const [unknown] = await claimAll(ANNA, anna)

    assert.ok(orphaned && orphaned.epoch > lane.epoch)
    assert.equal(unknown?.connectionId, lane.connectionId)
    await world.close()
  })
})

describe('times in which no process could send, on PostgreSQL', () => {
  it('G10: are those of a process that ended, or of one that stood still', async () => {
    const { world, ben } = await twoWorkers()
    const pass = () => world.clock.pass(2 * LASTS_MS)

    await world.lanes.deleteLease(ANNA)
    await pass()
    await ben.heartbeat(BEN, LASTS_MS)
    await pass()
    await world.processOf(CARL, SPOOL).lanes.heartbeat(CARL, LASTS_MS)

    const rows = await world.sql('select words from standstill order by since')
    assert.deepEqual(
      rows.map(({ words }) => words),
      ['frozen', 'killed'],
    )
    await world.close()
  })
})

/** ANNA holds the only lane. Both know the time. */
async function twoWorkers(): Promise<{ world: PostgresWorld; anna: Lanes; ben: Lanes; lane: ClaimedLane }> {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  await accept(world, sender)
  const anna = world.lanes
  const ben = world.processOf(BEN, SPOOL).lanes
  await anna.heartbeat(ANNA, LASTS_MS)
  await ben.heartbeat(BEN, LASTS_MS)
  const [lane] = await claimAll(ANNA, anna)
  assert.ok(lane)
  return { world, anna, ben, lane }
}

function claimAll(worker: WorkerId, lanes: Lanes): Promise<readonly ClaimedLane[]> {
  return lanes.claim({ worker, only: null, held: new Set<ConnectionId>(), shouldDefer: () => false, limit: 100 })
}
