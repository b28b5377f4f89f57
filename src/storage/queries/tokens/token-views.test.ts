import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { cameWith, logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import type { NewToken } from '../../../core/ports/administration.ts'
import type { TokenTab, TokenViews } from '../../../core/ports/console/tokens.ts'
import { createTokenViews } from './token-views.ts'

const DAY = 86_400_000

let world: AdministrationWorld
let tokens: TokenViews
let acme: AccountId
let connectionId: ConnectionId

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  tokens = createTokenViews(world.store)
  acme = await world.account()
  connectionId = await world.connection(acme)
  return close
}

function wanted(name: string, more: Partial<NewToken> = {}): NewToken {
  return {
    accountId: acme,
    name,
    events: ['messaging.send_message'],
    expiresAt: world.now + 30 * DAY,
    connectionIds: null,
    sourceRanges: null,
    sha256: Buffer.from(`${more.accountId ?? acme} ${name}`),
    prefix: 'prefix00',
    ...more,
  }
}

async function make(name: string, more: Partial<NewToken> = {}): Promise<TokenId> {
  return (await tokens.createBoundToken(wanted(name, more), 'anna')).id
}

async function names(tab: TokenTab, after: string | null = null): Promise<string[]> {
  return (await tokens.listTokenRows(acme, { tab, after })).items.map(({ name }) => name)
}

function rotation(id: TokenId, oldEndsAt: number | null = null) {
  return {
    id,
    oldEndsAt,
    expiresAt: world.now + 90 * DAY,
    sha256: Buffer.from(`successor of ${id}`),
    prefix: 'newer000',
  }
}

/** A request that made a message, as the service stores it. */
async function sent(tokenId: TokenId, acceptedAt = world.now): Promise<void> {
  const { sequence } = await world.accept({ connectionId, acceptedAt, state: 'PUBLISHED' })
  await cameWith(world, sequence, tokenId)
}

describe.each(ENGINES)('the list of tokens, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('says how many are in each tab, of this account alone', async () => {
    const other = await world.account('Other')
    await make('theirs', { accountId: other })
    await make('first')
    await make('second')
    await make('over', { expiresAt: world.now + 1 })
    await world.administration.deleteToken(await make('gone'), acme, 'anna')
    await world.administration.deleteToken(await make('gone and over', { expiresAt: world.now + 1 }), acme, 'anna')
    world.now += 1

    const { counts } = await tokens.listTokenRows(acme, { tab: 'expired', after: null })

    assert.deepEqual(counts, { active: 2, expired: 1, deleted: 2 })
  })

  it('shows a token with all its facts', async () => {
    const id = await make('shop', { connectionIds: [connectionId], sourceRanges: ['10.0.0.0/8'] })

    assert.deepEqual(await tokens.listTokenRows(acme, { tab: 'active', after: null }), {
      items: [
        {
          id,
          name: 'shop',
          prefix: 'prefix00',
          events: ['messaging.send_message'],
          connections: [{ id: connectionId, name: null, number: '15550001000', channel: 'sandbox', state: 'active' }],
          sourceRanges: ['10.0.0.0/8'],
          createdAt: NOON,
          createdBy: 'anna',
          expiresAt: NOON + 30 * DAY,
          lastUsedAt: null,
          deletedAt: null,
          successorId: null,
        },
      ],
      next: null,
      counts: { active: 1, expired: 0, deleted: 0 },
    })
  })

  it('has three tabs: a token is on exactly one of them', async () => {
    await make('living')
    await make('ended', { expiresAt: world.now })
    const id = await make('gone')
    await world.administration.deleteToken(id, acme, 'test')

    assert.deepEqual(
      [await names('active'), await names('expired'), await names('deleted')],
      [['living'], ['ended'], ['gone']],
    )
  })

  it('goes on where a page ended, also among tokens of one moment', async () => {
    for (let number = 1; number <= 51; number++) {
      if (number % 5 === 0) world.now += 1
      await make(`token ${number}`)
    }

    const first = await tokens.listTokenRows(acme, { tab: 'active', after: null })
    const second = await tokens.listTokenRows(acme, { tab: 'active', after: first.next })

    const all = [...first.items, ...second.items].map(({ name }) => name)
    assert.deepEqual([first.items.length, second.items.length, second.next], [50, 1, null])
    assert.equal(new Set(all).size, 51)
    assert.ok(all.indexOf('token 51') < all.indexOf('token 4'))
  })

  it('begins at the newest when asked to go on from nowhere', async () => {
    await make('shop')

    assert.deepEqual(await names('active', 'nonsense'), ['shop'])
  })

  it('shows nothing of another account, and says of its tokens what it says of none', async () => {
    const rival = await world.account('Rival')
    const theirs = await make('theirs', { accountId: rival })
    await make('ours')

    assert.deepEqual(await names('active'), ['ours'])
    for (const id of [theirs, 'tok_none' as TokenId]) {
      await assert.rejects(tokens.readToken(acme, id), { code: 'token_unknown', message: 'There is no such token.' })
      await assert.rejects(tokens.describeTokenUse(acme, id, 0), { code: 'token_unknown' })
      await assert.rejects(tokens.renameToken(acme, { id, name: 'mine' }, 'test'), { code: 'token_unknown' })
      await assert.rejects(tokens.rotateToken(acme, rotation(id), 'test'), { code: 'token_unknown' })
    }
    assert.equal((await tokens.readToken(rival, theirs)).name, 'theirs')
  })
})

describe.each(ENGINES)('a token of the console, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is bound to connections of its own account only', async () => {
    const rival = await world.account('Rival')
    const foreign = await world.connection(rival, '15550009000')

    await assert.rejects(make('shop', { connectionIds: [connectionId, foreign] }), { code: 'connection_unknown' })
    assert.deepEqual(await names('active'), [])
    assert.deepEqual(
      (await tokens.listTokenConnections(acme)).map(({ number }) => number),
      ['15550001000'],
    )
  })

  it('is renamed, but not to the name of another', async () => {
    const id = await make('shop')
    await make('alarm')

    const renamed = await tokens.renameToken(acme, { id, name: 'web shop' }, 'ben')

    assert.equal(renamed.name, 'web shop')
    await assert.rejects(tokens.renameToken(acme, { id, name: 'alarm' }, 'ben'), {
      code: 'token_exists',
      field: 'name',
    })
    assert.deepEqual((await world.audit()).slice(-1), ['token.rename'])
  })
})

describe.each(ENGINES)('a token that was deleted, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('names the person who deleted it', async () => {
    const [id, kept] = [await make('gone'), await make('kept')]
    await world.administration.deleteToken(id, acme, 'anna@example.org')

    const shown = [await tokens.readToken(acme, id), await tokens.readToken(acme, kept)]

    assert.deepEqual(
      shown.map(({ deletedBy }) => deletedBy),
      ['anna@example.org', null],
    )
  })
})

describe.each(ENGINES)('replacing a token, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('hands name, events and bindings to the successor, and lets the old one live for a week', async () => {
    const id = await make('shop', { connectionIds: [connectionId], sourceRanges: ['::1/128'] })
    world.now += DAY

    const successor = await tokens.rotateToken(acme, rotation(id), 'ben')
    const old = await tokens.readToken(acme, id)

    assert.deepEqual(
      [successor.name, successor.events, successor.sourceRanges, successor.createdBy, successor.predecessor],
      ['shop', ['messaging.send_message'], ['::1/128'], 'ben', { id, name: 'shop (old)' }],
    )
    assert.deepEqual(
      successor.connections?.map((connection) => connection.id),
      [connectionId],
    )
    assert.equal(successor.expiresAt, world.now + 90 * DAY)
    assert.deepEqual(
      [old.name, old.expiresAt, old.successor],
      ['shop (old)', world.now + 7 * DAY, { id: successor.id, name: 'shop' }],
    )
    assert.deepEqual((await world.audit()).slice(-3), ['token.rename', 'token.create', 'token.rotate'])
  })

  it('never lets the old one live longer than it would have', async () => {
    const id = await make('shop', { expiresAt: NOON + DAY })

    await assert.rejects(tokens.rotateToken(acme, rotation(id, NOON + 2 * DAY), 'ben'), { code: 'expiry_invalid' })
    await assert.rejects(tokens.rotateToken(acme, rotation(id, NOON), 'ben'), { code: 'expiry_invalid' })
    await tokens.rotateToken(acme, rotation(id), 'ben')

    assert.equal((await tokens.readToken(acme, id)).expiresAt, NOON + DAY)
  })

  it('finds a free name for each old one, however long the name', async () => {
    const first = await make('n'.repeat(60))
    const second = await tokens.rotateToken(acme, rotation(first), 'ben')
    await tokens.rotateToken(acme, rotation(second.id), 'ben')

    assert.deepEqual(
      [(await tokens.readToken(acme, first)).name, (await tokens.readToken(acme, second.id)).name],
      [`${'n'.repeat(54)} (old)`, `${'n'.repeat(52)} (old 2)`],
    )
  })

  it('is refused for one that has ended or has a successor', async () => {
    const deleted = await make('deleted')
    await world.administration.deleteToken(deleted, acme, 'test')
    const expired = await make('expired', { expiresAt: world.now })
    const replaced = await make('replaced')
    await tokens.rotateToken(acme, rotation(replaced), 'ben')

    for (const id of [deleted, expired, replaced])
      await assert.rejects(tokens.rotateToken(acme, rotation(id), 'ben'), { code: 'token_ended' })
  })
})

describe.each(ENGINES)('the use of tokens, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is counted by caller, with what was refused', async () => {
    const [shop, alarm] = [await make('shop'), await make('alarm')]
    await sent(shop, NOON - 2 * DAY)
    await sent(shop, NOON - 2_000)
    await sent(shop, NOON - 1_000)
    await sent(alarm, NOON - 1_000)
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'refused', receivedAt: NOON - 500 })

    const all = await tokens.countTokenUse(acme, { tokenId: null, since: NOON - DAY })
    const one = await tokens.countTokenUse(acme, { tokenId: shop, since: NOON - DAY })

    const callers = { address: '203.0.113.9', userAgent: 'curl/8' }
    assert.deepEqual(all, {
      countedFrom: NOON - DAY,
      isComplete: true,
      callers: [
        { tokenId: shop, ...callers, requests: 3, refused: 1, lastAt: NOON - 500 },
        { tokenId: alarm, ...callers, requests: 1, refused: 0, lastAt: NOON - 1_000 },
      ],
    })
    assert.deepEqual(one.callers, all.callers.slice(0, 1))
  })

  it('shows the activity of a token: numbers, types and results', async () => {
    const shop = await make('shop')
    await sent(shop)
    await sent(shop)
    const waiting = await world.accept({ connectionId, type: 'image' })
    await cameWith(world, waiting.sequence, shop)
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'refused', status: 403 })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'again', messageId: waiting.id })

    const { activity, callers } = await tokens.describeTokenUse(acme, shop, NOON - DAY)

    assert.deepEqual(
      activity.toSorted((one, other) => other.count - one.count || (one.status ?? 0) - (other.status ?? 0)),
      [
        { number: '15550001000', type: 'message', state: 'PUBLISHED', status: null, count: 2 },
        { number: '15550001000', type: 'image', state: 'QUEUED', status: null, count: 1 },
        { number: null, type: null, state: null, status: 403, count: 1 },
      ],
    )
    assert.deepEqual(
      callers.map(({ requests, refused }) => [requests, refused]),
      [[5, 1]],
    )
  })

  it('counts nothing of another account', async () => {
    const rival = await world.account('Rival')
    const theirs = await make('theirs', { accountId: rival })
    await logRequest(world, { accountId: rival, tokenId: theirs, requestId: 'refused' })

    assert.deepEqual((await tokens.countTokenUse(acme, { tokenId: null, since: 0 })).callers, [])
    assert.deepEqual((await tokens.countTokenUse(acme, { tokenId: theirs, since: 0 })).callers, [])
  })

  it('G8: is counted however much another account has sent since', async () => {
    const rival = await world.account('Rival')
    const shop = await make('shop')
    await sent(shop)
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'refused' })
    await world.acceptMany(10_001, await world.connection(rival, '15550002000'))

    const use = await tokens.countTokenUse(acme, { tokenId: null, since: NOON - DAY })

    assert.equal(use.isComplete, true)
    assert.deepEqual(
      use.callers.map(({ requests, refused }) => [requests, refused]),
      [[2, 1]],
    )
  })

  it('says since when it counted if there is more than it reads', async () => {
    const shop = await make('shop')
    world.now = NOON - 60_000
    await sent(shop)
    world.now = NOON
    await world.acceptMany(10_000, connectionId)

    const use = await tokens.countTokenUse(acme, { tokenId: shop, since: NOON - DAY })

    assert.equal(use.isComplete, false)
    assert.ok(use.countedFrom > NOON - 60_000)
    assert.deepEqual(use.callers, [])
  })
})
