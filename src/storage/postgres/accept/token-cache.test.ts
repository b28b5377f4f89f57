import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { addSender, type Sender } from '../../../../test/conformance/storage-world.ts'
import type { Query } from '../connection/pg-connection.ts'
import { PgConnection } from '../connection/pg-connection.ts'
import { TokenCache } from './token-cache.ts'

/** Counts what it is asked. */
class CountingConnection extends PgConnection {
  asked = 0

  override query: Query = (sql, values) => {
    this.asked += 1
    return super.query(sql, values)
  }
}

const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

describe('tokens remembered from PostgreSQL', () => {
  it('asks once for all that is wanted in a turn, and once for the same token while its answer is on the way', async () => {
    const { cache, pgConnection, senders } = await cached(3)
    const [anna, ben, carl] = senders as [Sender, Sender, Sender]

    const found = await Promise.all([anna, ben, anna, carl].map(async ({ sha256 }) => cache.find(sha256)))
    const again = cache.find(anna.sha256)

    assert.deepEqual(
      found.map((token) => token?.id),
      [anna.tokenId, ben.tokenId, anna.tokenId, carl.tokenId],
    )
    assert.equal(again, found[0])
    assert.equal(pgConnection.asked, 1)
  })

  it('is asked again after a second, and ahead of that while the token is used', async () => {
    const { world, cache, pgConnection, senders } = await cached(1)
    const { sha256 } = senders[0] as Sender
    await cache.find(sha256)

    await world.clock.pass(499)
    void cache.find(sha256)
    await world.clock.pass(1)
    const early = cache.find(sha256)
    const askedAhead = pgConnection.asked
    await world.clock.pass(1_000)
    const late = cache.find(sha256)

    assert.equal(early instanceof Promise, false)
    assert.equal(late instanceof Promise, true)
    assert.equal((await late)?.id, senders[0]?.tokenId)
    assert.ok(
      askedAhead <= 2 && pgConnection.asked >= 2 && pgConnection.asked <= 3,
      `asked ${pgConnection.asked} times`,
    )
  })

  it('queries again when a token was changed, whatever was on the way', async () => {
    const { world, cache, pgConnection, senders } = await cached(1)
    const sender = senders[0] as Sender
    await cache.find(sender.sha256)
    const before = cache.find(sender.sha256)
    await world.administration.deleteToken(sender.tokenId, null, 'test')

    cache.forgetAll()
    const onTheWay = cache.find(sender.sha256)
    cache.forgetAll()
    const after = await cache.find(sender.sha256)

    assert.equal((await before)?.deletedAt, null)
    assert.equal(typeof (await onTheWay)?.deletedAt, 'number')
    assert.equal(typeof after?.deletedAt, 'number')
    assert.equal(pgConnection.asked, 2)
  })

  it('remembers no token that does not exist', async () => {
    const { cache, pgConnection } = await cached(0)
    const guess = Buffer.alloc(32, 7)

    assert.deepEqual([await cache.find(guess), await cache.find(guess)], [null, null])
    assert.equal(pgConnection.asked, 2)
  })
})

async function cached(senderCount: number): Promise<{
  world: PostgresWorld
  cache: TokenCache
  pgConnection: CountingConnection
  senders: readonly Sender[]
}> {
  const world = await newPostgresWorld()
  closing.push(() => world.close())
  const senders: Sender[] = []
  for (let i = 0; i < senderCount; i++) senders.push(await addSender(world))
  const pgConnection = new CountingConnection({
    url: world.url,
    applicationName: 'test',
    answerWithinMs: 5_000,
    validateConnection: async () => {},
  })
  closing.push(() => pgConnection.close())
  return { world, cache: new TokenCache(world.clock, pgConnection), pgConnection, senders }
}
