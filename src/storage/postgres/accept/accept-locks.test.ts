import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import type { Client } from 'pg'
import { describe, it } from 'vitest'
import {
  addSenderApart,
  newPostgresWorld,
  type PostgresWorld,
  untilSessionWaits,
} from '../../../../test/conformance/postgres-world.ts'
import {
  accept,
  addConnection,
  addSender,
  candidate,
  countMessages,
  type Sender,
} from '../../../../test/conformance/storage-world.ts'

const LANE_LOCK = 'select pg_advisory_xact_lock(2, lane_bucket($1, $2))'
const TOKEN_LOCK = 'select pg_advisory_xact_lock(1, token_bucket($1))'
// Longer than a request waits before it is re-queued. A blocked request is given up after 3 s, and this is a part of them.
const HELD_FOR_MS = 1_000
// So many of one lane that they would take more than 3 s if they went one by one, each after a rest of 40 ms.
const ONE_BY_ONE_TOO_SLOW = 80
const NOT_ACCEPTED = { kind: 'unavailable', code: 'not_accepted' }

describe('accepting on PostgreSQL while another transaction holds a lock', () => {
  it('G11: answers the one lane whose lock is held with not_accepted, and all others as fast as ever', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const others = await addLanes(world, sender, 20)
    const holder = await hold(world, LANE_LOCK, [sender.accountId, sender.number])

    const began = performance.now()
    const blocked = [world.intake.accept(candidate(world, sender)), world.intake.accept(candidate(world, sender))]
    const waits: number[] = []
    while (performance.now() - began < 3_500) {
      const elapsed = performance.now() - began
      // The held lane is asked for again and again: it must go on costing the others nothing.
      blocked.push(world.intake.accept(candidate(world, sender)))
      await Promise.all(others.map((other) => accept(world, other)))
      if (elapsed > 1_000) waits.push(performance.now() - began - elapsed)
      await setTimeout(20)
    }
    const refused = await Promise.all(blocked.slice(0, 2))
    const refusedAfterMs = performance.now() - began
    await holder.query('rollback')
    const after = await Promise.all(blocked.slice(2))

    assert.deepEqual(refused, [NOT_ACCEPTED, NOT_ACCEPTED])
    // No other request is concerned, so the service as a whole is healthy.
    assert.equal(world.storage.health.error, null)
    assert.ok(refusedAfterMs < 5_000, `refused after ${refusedAfterMs} ms`)
    waits.sort((a, b) => a - b)
    // The machine may stand still once. A request that waited for the held lane would do so again and again.
    const [median, second] = [waits[waits.length >> 1] ?? 0, waits.at(-2) ?? 0]
    assert.ok(median < 100 && second < 450, `others waited for ${median} ms, and twice for ${second} ms`)
    assert.equal(after.at(-1)?.kind, 'accepted')
    await world.close()
  })

  it('accepts a blocked request as soon as its lock is free, and its lane as fast as before from then on', async () => {
    const world = await newPostgresWorld()
    const [sender, other] = [await addSender(world), await addSender(world)]
    const usualMs = await timeOf(world, Array(ONE_BY_ONE_TOO_SLOW).fill(other))
    const holder = await hold(world, LANE_LOCK, [sender.accountId, sender.number])

    const results = Array.from({ length: ONE_BY_ONE_TOO_SLOW }, (_, at) =>
      world.intake.accept(candidate(world, sender, { text: `${at}` })),
    )
    await setTimeout(HELD_FOR_MS)
    const released = performance.now()
    await holder.query('rollback')
    const kinds = new Set((await Promise.all(results)).map(({ kind }) => kind))
    const allAfterMs = performance.now() - released
    const texts = (await world.lanes.fetchNext(sender.connectionId, 100, 0)).map(({ content }) =>
      content?.type === 'message' ? Number(content.text) : null,
    )

    assert.deepEqual([...kinds], ['accepted'])
    assert.ok(allAfterMs < Math.max(2_500, 4 * usualMs), `all accepted after ${allAfterMs} ms, usually ${usualMs}`)
    assert.deepEqual(
      texts,
      texts.map((_, at) => at),
    )
    await world.close()
  })

  it('is through with many lanes soon after all of them were held, as when a disk stood still', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const lanes = await addLanes(world, sender, 60)
    const numbers = lanes.map(({ number }) => number)
    const usualMs = await timeOf(world, [...lanes, ...lanes, ...lanes])
    const holder = await hold(world, 'select pg_advisory_xact_lock(2, lane_bucket($1, n)) from unnest($2::text[]) n', [
      sender.accountId,
      numbers,
    ])

    const results = [...lanes, ...lanes, ...lanes].map((lane) => world.intake.accept(candidate(world, lane)))
    await setTimeout(HELD_FOR_MS)
    const released = performance.now()
    await holder.query('rollback')
    const kinds = new Set((await Promise.all(results)).map(({ kind }) => kind))
    const tookMs = performance.now() - released

    assert.deepEqual([...kinds], ['accepted'])
    assert.ok(tookMs < Math.max(2_500, 4 * usualMs), `all accepted after ${tookMs} ms, usually ${usualMs}`)
    await world.close()
  })

  it('G11: a token whose lock is held stops no other token', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const other = await addSenderApart(world, sender)
    const holder = await hold(world, TOKEN_LOCK, [sender.tokenId])

    const blocked = world.intake.accept(candidate(world, sender))
    await accept(world, other)
    const tookMs = Math.min(await timeOf(world, [other]), await timeOf(world, [other]))
    await holder.query('rollback')

    assert.ok(tookMs < 450, `the other token waited for ${tookMs} ms`)
    assert.equal((await blocked).kind, 'accepted')
    await world.close()
  })

  it('G11: a key that another transaction is claiming stops only its own message', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const holder = await world.session()
    await holder.query('begin')
    await holder.query(`insert into idempotency values ($1, 'taken', 'fingerprint', 1, 1)`, [sender.accountId])

    const began = performance.now()
    const taken = world.intake.accept(candidate(world, sender, { key: 'taken' }))
    const others = await Promise.all(
      Array.from({ length: 40 }, (_, at) => world.intake.accept(candidate(world, sender, { key: `free ${at}` }))),
    )
    const othersMs = performance.now() - began
    await holder.query('rollback')

    assert.ok(others.every(({ kind }) => kind === 'accepted'))
    assert.ok(othersMs < 2_500, `the others waited for ${othersMs} ms`)
    assert.equal((await taken).kind, 'accepted')
    await world.close()
  })

  it('goes on when another transaction has locked a whole table for a while', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const holder = await hold(world, 'lock table queued in access exclusive mode', [])

    const results = [accept(world, sender), accept(world, sender)]
    await setTimeout(1_200)
    await holder.query('rollback')
    await Promise.all(results)

    assert.equal(await countMessages(world), 2)
    await world.close()
  })
})

describe('a right that is taken away on PostgreSQL while an acceptance waits for a lock', () => {
  it('G7: refuses under a token whose deletion commits meanwhile', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const deleter = await hold(world, 'update token set deleted_at = 1 where id = $1', [sender.tokenId])

    const result = world.intake.accept(candidate(world, sender))
    await untilSessionWaits(world)
    await deleter.query('commit')

    assert.deepEqual(await result, { kind: 'refused', code: 'unauthorized' })
    await world.close()
  })

  it('G7: refuses for a connection whose removal commits meanwhile', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const remover = await hold(world, `update connection set state = 'removed' where id = $1`, [sender.connectionId])

    const result = world.intake.accept(candidate(world, sender))
    await untilSessionWaits(world)
    await remover.query('commit')

    assert.deepEqual(await result, { kind: 'refused', code: 'connection_not_found' })
    await world.close()
  })

  it('G7: refuses under a token that is deleted while the lane of its message is held', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const holder = await hold(world, LANE_LOCK, [sender.accountId, sender.number])

    const result = world.intake.accept(candidate(world, sender))
    await untilSessionWaits(world)
    await world.administration.deleteToken(sender.tokenId, null, 'test')
    await holder.query('rollback')

    assert.deepEqual(await result, { kind: 'refused', code: 'unauthorized' })
    assert.equal(await countMessages(world), 0)
    await world.close()
  })

  it('G7: would have accepted it if one statement waited and decided (the control)', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const naive = await world.session()
    const deleter = await hold(world, 'update token set deleted_at = 1 where id = $1', [sender.tokenId])

    const accepted = naive.query(NAIVE_ACCEPT, [sender.tokenId, sender.accountId, sender.connectionId])
    await untilSessionWaits(world)
    await deleter.query('commit')

    assert.equal((await accepted).rowCount, 1)
    await world.close()
  })

  it('G7: a deletion waits for an acceptance that was first', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const accepting = await hold(world, 'select pg_advisory_xact_lock_shared(1, token_bucket($1))', [sender.tokenId])

    let isDeleted = false
    const deletion = world.administration.deleteToken(sender.tokenId, null, 'test').then(() => {
      isDeleted = true
    })
    await untilSessionWaits(world)
    const before = isDeleted
    await accepting.query('commit')
    await deletion

    assert.deepEqual([before, isDeleted], [false, true])
    await world.close()
  })

  it('G7: accepts nothing in a transaction that would see only what was committed before it began', async () => {
    const world = await newPostgresWorld()
    const session = await world.session()
    await session.query('begin isolation level repeatable read')

    await assert.rejects(session.query('select begin_durable_write(100)'), /read committed/)
    await world.close()
  })
})

// Whatever a statement waits for, it sees what was committed when it began.
const NAIVE_ACCEPT = `with locked as materialized (select pg_advisory_xact_lock_shared(1, token_bucket($1)))
  insert into queued (sequence, id, account_id, connection_id, token_id, body, body_crc, recipient, type, accepted_at)
    select 1, 'm', $2, $3, t.id, '{}', 0, '1', 'message', 0
      from locked cross join token t where t.id = $1 and t.deleted_at is null`

/** Lanes of the same account, none of which shares the lock of its sender: of 1,024 lanes one does. */
async function addLanes(world: PostgresWorld, sender: Sender, count: number): Promise<Sender[]> {
  const session = await world.session()
  const { rows } = await session.query<{ number: string }>(
    `select number from (select (15559001000 + i)::text as number from generate_series(0, 99) i) free
       where lane_bucket($1, number) <> lane_bucket($1, $2) limit $3`,
    [sender.accountId, sender.number, count],
  )
  const senders: Sender[] = []
  for (const { number } of rows)
    senders.push({ ...sender, number, connectionId: await addConnection(world, sender.accountId, { number }) })
  return senders
}

/** Another transaction, in which this was done. */
async function hold(world: PostgresWorld, sql: string, values: readonly unknown[]): Promise<Client> {
  const session = await world.session()
  await session.query('begin')
  await session.query(sql, [...values])
  return session
}

/** How many milliseconds it takes to accept a message of each, all at once. */
async function timeOf(world: PostgresWorld, senders: readonly Sender[]): Promise<number> {
  const began = performance.now()
  await Promise.all(senders.map((sender) => accept(world, sender)))
  return performance.now() - began
}
