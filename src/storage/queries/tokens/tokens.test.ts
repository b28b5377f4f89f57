import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { NewToken } from '../../../core/ports/administration.ts'

let world: AdministrationWorld
let acme: AccountId
let made = 0

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  acme = await world.account()
  return close
}

function newToken(more: Partial<NewToken> = {}): NewToken {
  made += 1
  return {
    accountId: acme,
    name: 'server',
    events: ['messaging.send_message'],
    expiresAt: NOON + 1_000,
    connectionIds: null,
    sourceRanges: null,
    sha256: Buffer.alloc(32, made),
    prefix: `prefix${made}`,
    ...more,
  }
}

describe.each(ENGINES)('tokens, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are made and listed, newest first, deleted ones too', async () => {
    const first = await world.administration.createToken(newToken(), 'test')
    world.now += 1
    const second = await world.administration.createToken(newToken({ name: 'other' }), 'test')
    await world.administration.deleteToken(first.id, null, 'test')

    const tokens = await world.administration.listTokens(acme)

    assert.match(first.id, /^tok_[0-9a-z]{12}$/)
    assert.deepEqual(
      tokens.map(({ id, deletedAt }) => [id, deletedAt]),
      [
        [second.id, null],
        [first.id, NOON + 1],
      ],
    )
  })

  it('keep what they are bound to', async () => {
    const bound = { connectionIds: ['con_1' as ConnectionId], sourceRanges: ['10.0.0.0/8'] }
    await world.administration.createToken(newToken(bound), 'test')

    assert.deepEqual(await world.all('select connection_ids, source_ranges from token'), [
      { connection_ids: '["con_1"]', source_ranges: '["10.0.0.0/8"]' },
    ])
  })

  it('may take the name of a deleted one, but of no other', async () => {
    await world.administration.createToken(newToken(), 'test')

    await assert.rejects(world.administration.createToken(newToken(), 'test'), { code: 'token_exists' })
    await world.administration.deleteToken('server', acme, 'test')
    await world.administration.createToken(newToken(), 'test')
  })

  it.each(['id', 'name', 'prefix'] as const)('are deleted by %s', async (by) => {
    const token = await world.administration.createToken(newToken(), 'test')

    const deleted = await world.administration.deleteToken(token[by], null, 'test')

    assert.deepEqual([deleted.id, deleted.deletedAt], [token.id, NOON])
    await assert.rejects(world.administration.deleteToken(token[by], null, 'test'), {
      code: 'token_unknown',
      message: `The token “${token[by]}” was deleted already.`,
    })
  })

  it('are not deleted when several fit', async () => {
    const other = await world.account('Other')
    await world.administration.createToken(newToken(), 'test')
    await world.administration.createToken(newToken({ accountId: other }), 'test')

    await assert.rejects(world.administration.deleteToken('server', null, 'test'), { code: 'token_ambiguous' })
    await assert.rejects(world.administration.deleteToken('unknown', null, 'test'), { code: 'token_unknown' })
    await world.administration.deleteToken('server', other, 'test')
  })

  it('are never written in clear: the audit log knows their name, not their hash', async () => {
    await world.administration.createToken(newToken(), 'test')

    assert.deepEqual(await world.audit(), ['account.create', 'token.create'])
    assert.doesNotMatch(JSON.stringify(await world.all('select detail from audit')), /sha256|prefix/)
  })
})
