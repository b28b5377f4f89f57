import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { accept, addSender, candidate, type Sender } from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { RequestView } from '../../../core/ports/administration.ts'
import type { RefusedRequest } from '../../../core/ports/intake.ts'

const SOON = { deadlineMs: 30_000, everyMs: 10 }
const MINUTE = 60_000

// What is written beside an acceptance, and must not hold it up.
describe('what PostgreSQL keeps of requests besides messages', () => {
  it('stores shortly afterwards how long the commit of each accepted request took', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const ids = await Promise.all([1, 2, 3].map(() => accept(world, sender)))
    ids.push(await accept(world, sender))

    const requests = await waitUntil('all durations are there', () => acceptedRequests(world), SOON)

    assert.equal(requests.length, 4)
    assert.ok(requests.every(({ tookMs }) => tookMs !== null && tookMs > 0 && tookMs < 5_000))
    const session = await world.session()
    const { rows } = await session.query(
      'select count(*)::int as commits, sum(took_us)::int as took from accept_commit',
    )
    assert.equal(rows[0].commits, 2)
    assert.ok(rows[0].took > 0)
    await world.close()
  })

  it('notes the use of a token once a minute, and not in the transaction that accepts', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const began = world.clock.now()
    await accept(world, sender)
    await usedAt(world, sender, began)

    await world.clock.pass(MINUTE - 1)
    await accept(world, sender)
    await acceptedRequests(world)
    await world.clock.pass(1)
    await accept(world, sender)
    await usedAt(world, sender, began + MINUTE)

    const session = await world.session()
    const { rows } = await session.query(
      'select count(*)::int as shared from token t where t.xmin::text in (select q.xmin::text from queued q)',
    )
    assert.equal(rows[0].shared, 0)
    await world.close()
  })

  it('does not wait for a token that another transaction is changing', async () => {
    const world = await newPostgresWorld()
    const [changed, other] = [await addSender(world), await addSender(world)]
    const changer = await world.session()
    await changer.query('begin')
    await changer.query(`update token set name = 'new name' where id = $1`, [changed.tokenId])

    await accept(world, changed)
    await accept(world, other)
    await usedAt(world, other, world.clock.now())
    await changer.query('rollback')

    await world.close()
  })

  it('G10: counts refused requests once, also where a first try has neither failed nor come through', async () => {
    const world = await newPostgresWorld()
    const { accountId, tokenId } = await addSender(world)
    const now = world.clock.now()
    const sum = {
      requestId: 'sum',
      accountId,
      tokenId,
      status: 429,
      code: 'HC-5',
      errors: '[]',
      requests: 3,
      since: now,
      until: now,
    }
    // Such as one that waits for its standby, and whose connection was given up meanwhile.
    const first = await world.session()
    await first.query('begin')
    await first.query(
      `select log_summed_requests(500, array[$1], array[$2], '{sum}', array[$3::bigint], array[$3::bigint], '{429}', '{HC-5}', '{[]}', '{3}')`,
      [accountId, tokenId, now],
    )

    const meanwhile = await world.intake.logSummed(sum)
    await first.query('commit')
    const after = await world.intake.logSummed(sum)

    assert.deepEqual([meanwhile, after], [false, true])
    const { rows } = await first.query('select summed_requests from request')
    assert.deepEqual(rows, [{ summed_requests: 3 }])
    await world.close()
  })

  it('keeps refused requests of one turn, whatever their bodies hold', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const bodies = ['{"message":"zero \0 and half \ud800"}', null, `{"long":"${'x'.repeat(60_000)}"}`]

    const kept = await Promise.all(bodies.map((body) => world.intake.logRefused(refused(world, sender, body))))

    assert.deepEqual(kept, [true, true, true])
    const session = await world.session()
    const { rows } = await session.query('select body from request order by sequence')
    assert.deepEqual(
      rows.map(({ body }) => body),
      ['{"message":"zero ␀ and half \ufffd"}', bodies[1], bodies[2]],
    )
    await usedAt(world, sender, world.clock.now())
    await world.close()
  })

  it('keeps many long ones in several goes', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const long = 'x'.repeat(60_000)

    const kept = await Promise.all(
      Array.from({ length: 60 }, () => world.intake.logRefused(refused(world, sender, long))),
    )

    assert.ok(kept.every(Boolean))
    const session = await world.session()
    const { rows } = await session.query(
      'select count(*)::int as requests, count(distinct xmin::text)::int as commits from request',
    )
    assert.equal(rows[0].requests, 60)
    assert.ok(rows[0].commits > 3 && rows[0].commits < 10)
    await world.close()
  })

  it('stores a user agent with a zero character in it', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    const plain = candidate(world, sender)

    const result = await world.intake.accept({ ...plain, facts: { ...plain.facts, userAgent: 'a\0b' } })

    assert.equal(result.kind, 'accepted')
    const session = await world.session()
    assert.deepEqual((await session.query('select user_agent from queued')).rows, [{ user_agent: 'a␀b' }])
    await world.close()
  })
})

const EVERYTHING = { accountId: null, tokenIds: null, connection: null, statuses: null, limit: null }

function refused(world: PostgresWorld, sender: Sender, body: string | null): RefusedRequest {
  return { ...candidate(world, sender), status: 400, code: 'HC-2', errors: '[]', body }
}

/** Null as long as the duration of any is not known. */
async function acceptedRequests(world: PostgresWorld) {
  const requests: RequestView[] = []
  for await (const request of world.administration.listRequests(EVERYTHING)) requests.push(request)
  return requests.every(({ tookMs }) => tookMs !== null) ? requests : null
}

async function usedAt(world: PostgresWorld, sender: Sender, at: number): Promise<void> {
  const session = await world.session()
  await waitUntil(
    `the token was used at ${at}`,
    async () => {
      const { rows } = await session.query('select last_used_at from token where id = $1', [sender.tokenId])
      return Number(rows[0].last_used_at) === at
    },
    SOON,
  )
}
