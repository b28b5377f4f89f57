import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newPostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { addConnection, addSender } from '../../../../test/conformance/storage-world.ts'
import type { ConnectionId } from '../../../core/ids.ts'
import { PgConnection, type Query } from '../connection/pg-connection.ts'
import { COUNTED_UP_TO, countOn } from './backlog.ts'
import { FullCount } from './full-count.ts'

const LEAST = { perConnection: 25_000, perAccount: 30_000 }
const IN_A_MS = 10_000
const NO_LIMIT = Number.POSITIVE_INFINITY
const goOn = () => Promise.resolve(true)
const stopHere = () => Promise.resolve(false)

describe('what is full, on PostgreSQL', () => {
  it('is not counted while nothing can be full, and known at once', async () => {
    const few = counting({ counts: { con_a: 100_000 }, waiting: COUNTED_UP_TO - 1 })
    const limitless = counting({ counts: { con_a: 100_000 }, waiting: 100_000 })

    const found = [
      await few.full.atLeast(LEAST, goOn),
      await limitless.full.atLeast({ perConnection: NO_LIMIT, perAccount: NO_LIMIT }, goOn),
    ]

    assert.deepEqual(found, [NOTHING, NOTHING])
    assert.deepEqual([few.parts.length, limitless.parts.length], [0, 0])
  })

  it('is counted once more waits than is counted exactly, however little the server estimates', async () => {
    const { full } = counting({ counts: { con_a: 100_000 }, waiting: COUNTED_UP_TO })

    assert.deepEqual(await full.atLeast(LEAST, goOn), found({ con_a: 100_000 }, { acc_a: 100_000 }))
  })

  it('is counted in parts, over the bounds of lanes, as far as there is time at each check', async () => {
    const { full, parts } = counting({ counts: { con_a: 50_000, con_b: 1, con_c: 29_998 }, waiting: 80_000 })
    const results: (number | null)[] = []
    const check = async () => results.push((await full.atLeast(LEAST, stopHere))?.connections.size ?? null)

    for (let i = 0; i < 5; i += 1) await check()

    assert.deepEqual(results, [null, null, null, null, 2])
    assert.deepEqual(parts, [20_000, 20_000, 20_000, 19_999])
    assert.deepEqual(await full.atLeast(LEAST, stopHere), found({ con_a: 50_000, con_c: 29_998 }, { acc_a: 79_999 }))
  })

  it('takes the server longer parts where more waits, so that some four hundred are enough', async () => {
    const { full, parts } = counting({ counts: { con_a: 100_000_000 }, waiting: 100_000_000 })

    await full.atLeast(LEAST, stopHere)

    assert.deepEqual(parts, [77 * IN_A_MS])
  })

  it('is counted anew after five minutes, and is what it was until that is done', async () => {
    const world = counting({ counts: { con_a: 39_000 }, waiting: 39_000 })
    const { full, parts } = world
    const check = async (throttle: () => Promise<boolean>) =>
      (await full.atLeast(LEAST, throttle))?.connections.get('con_a' as ConnectionId)

    const first = await check(goOn)
    world.counts = { con_a: 45_000 }
    const young = await checkFor(world, 299_000, () => check(goOn))
    const before = parts.length
    const meanwhile = await checkFor(world, 2_000, () => check(stopHere))
    const last = await check(goOn)

    assert.deepEqual([first, young, before, meanwhile, last], [39_000, 39_000, 2, 39_000, 45_000])
  })

  it('is not known any more where another process has watched meanwhile, and counted from the start', async () => {
    const world = counting({ counts: { con_a: 39_000 }, waiting: 39_000 })
    await world.full.atLeast(LEAST, goOn)
    await checkFor(world, 290_000, () => world.full.atLeast(LEAST, goOn))
    await checkFor(world, 20_000, () => world.full.atLeast(LEAST, stopHere))
    world.nowMs += 121_000
    world.counts = { con_a: 5_000, con_b: 40_000 }

    const parts = [await world.full.atLeast(LEAST, stopHere), await world.full.atLeast(LEAST, stopHere)]

    assert.deepEqual(parts, [null, null])
    assert.deepEqual(await world.full.atLeast(LEAST, goOn), found({ con_b: 40_000 }, { acc_a: 45_000 }))
  })

  it('goes on with a count in which the database was away', async () => {
    const world = counting({ counts: { con_a: 45_000 }, waiting: 45_000 })
    await world.full.atLeast(LEAST, stopHere)
    world.isAway = true
    await assert.rejects(world.full.atLeast(LEAST, goOn), /away/)
    world.isAway = false

    assert.deepEqual(await world.full.atLeast(LEAST, goOn), found({ con_a: 45_000 }, { acc_a: 45_000 }))
  })

  it('is what waits in the tables, of each connection and account', async () => {
    const world = await newPostgresWorld()
    const anna = await addSender(world)
    const ben = await addSender(world)
    const more = await addConnection(world, anna.accountId, { number: '15550002000' })
    const session = await world.session()
    const add = (
      sender: { accountId: string; connectionId: string },
      { first, last }: { first: number; last: number },
    ) =>
      session.query(
        `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
           select i, 'm' || i, $1, $2, '{}', 0, '1', 'message', 0 from generate_series($3::int, $4::int) i`,
        [sender.accountId, sender.connectionId, first, last],
      )
    await add(anna, { first: 1, last: 26_000 })
    await add({ ...anna, connectionId: more }, { first: 26_001, last: 47_000 })
    await add(ben, { first: 47_001, last: 75_000 })
    const pgConnection = new PgConnection({
      url: world.url,
      applicationName: 'test',
      answerWithinMs: 30_000,
      validateConnection: async () => {},
    })
    onTestFinished(async () => {
      await pgConnection.close()
      await world.close()
    })
    const query: Query = (sql, values) => pgConnection.query(sql, values)
    let parts = 0
    const full = new FullCount({
      query,
      // Hardly any time, so that it takes several parts.
      count: (steps) => {
        parts += 1
        return countOn(query, steps, 1)
      },
      waiting: () => 75_000,
      monotonic: () => 0,
    })

    const counts = await full.atLeast(LEAST, goOn)

    assert.deepEqual(
      counts,
      found({ [anna.connectionId]: 26_000, [ben.connectionId]: 28_000 }, { [anna.accountId]: 47_000 }),
    )
    assert.ok(parts > 1, `${parts}`)
  })
})

const NOTHING = { connections: new Map(), accounts: new Map() }

function found(connections: Readonly<Record<string, number>>, accounts: Readonly<Record<string, number>>) {
  return { connections: new Map(Object.entries(connections)), accounts: new Map(Object.entries(accounts)) }
}

interface CountingWorld {
  readonly full: FullCount
  /** How many were counted in each part. */
  readonly parts: number[]
  counts: Readonly<Record<string, number>>
  nowMs: number
  isAway: boolean
}

/** A database of one account that counts so many messages in a millisecond, in lanes with sequences from 1 on. */
function counting({ counts, waiting }: { counts: CountingWorld['counts']; waiting: number }): CountingWorld {
  const parts: number[] = []
  const world = { parts, counts, nowMs: 1_000, isAway: false }
  const full = new FullCount({
    query: async (_, values) => {
      const [after] = values as [string]
      const ids = Object.keys(world.counts).filter((id) => id > after)
      return ids.map((id) => ({ id, account_id: 'acc_a', number: id }))
    },
    count: async (steps, withinMs) => {
      if (world.isAway) throw new Error('away')
      let room = withinMs * IN_A_MS
      const found = steps.map(({ number, after }) => {
        const left = (world.counts[number ?? ''] ?? 0) - after
        const count = Math.min(room, left)
        room -= count
        return { count, after: count < left || room === 0 ? after + count : null }
      })
      parts.push(withinMs * IN_A_MS - room)
      return found
    },
    waiting: () => waiting,
    monotonic: () => world.nowMs,
  })
  return Object.assign(world, { full })
}

/** As a watchdog does: again and again while time passes. Returns the result of the last check. */
async function checkFor<Found>(world: CountingWorld, ms: number, check: () => Promise<Found>): Promise<Found> {
  const endMs = world.nowMs + ms
  for (;;) {
    world.nowMs = Math.min(endMs, world.nowMs + 15_000)
    const result = await check()
    if (world.nowMs === endMs) return result
  }
}
