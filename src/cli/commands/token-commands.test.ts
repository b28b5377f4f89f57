import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import { isWellFormedToken } from '../../core/token/token-format.ts'

let world: CliWorld

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  await world.cli('account', 'create', 'Acme')
  return close
}

const CREATE = ['token', 'create', '--name', 'shop', '--expires', '30d']

describe.each(ENGINES)('tokens, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are shown once, with exactly the promised fields, and kept as a hash', async () => {
    const made = await world.json<{ id: string; token: string }>(...CREATE, '--event', 'messaging.send_message')

    assert.deepEqual(made, {
      id: made.id,
      token: made.token,
      name: 'shop',
      events: ['messaging.send_message'],
      expiresAt: '2026-02-14T12:00:00.000Z',
    })
    assert.ok(isWellFormedToken(made.token))
    const [row] = await world.all('select sha256, prefix from token')
    assert.deepEqual(Buffer.from(row?.['sha256'] as Uint8Array), createHash('sha256').update(made.token).digest())
    assert.equal(row?.['prefix'], made.token.slice(4, 12))
    assert.deepEqual(await world.json('token', 'list'), [
      {
        id: made.id,
        name: 'shop',
        prefix: made.token.slice(4, 12),
        events: ['messaging.send_message'],
        expiresAt: '2026-02-14T12:00:00.000Z',
        lastUsedAt: null,
        deletedAt: null,
      },
    ])
  })

  it('carry every event by default; without any the tool warns', async () => {
    const all = await world.json(...CREATE)
    const none = await world.cli('token', 'create', '--name', 'mute', '--expires', '7d', '--no-events', '--json')

    assert.deepEqual(all['events'], ['messaging.send_message'])
    assert.deepEqual((JSON.parse(none.stdout) as { events: string[] }).events, [])
    assert.match(none.stderr, /warning: this token carries no event/)
  })

  it('are bound to connections and addresses', async () => {
    const { id } = await world.json('connection', 'add', '15550001000', '--channel', 'sandbox')
    await world.cli(...CREATE, '--connection', '15550001000', '--from-address', '10.0.0.0/8', '--from-address', '::1')

    assert.deepEqual(await world.all('select connection_ids, source_ranges from token'), [
      { connection_ids: JSON.stringify([id]), source_ranges: '["10.0.0.0/8","::1/128"]' },
    ])
  })

  it.each([
    [['token', 'create', '--name', 'x', '--expires', '45d'], 2, 'expiry_invalid'],
    [['token', 'create', '--name', 'x', '--expires', '2029-01-01'], 2, 'expiry_invalid'],
    [['token', 'create', '--name', ' ', '--expires', '7d'], 2, 'argument_invalid'],
    [[...CREATE, '--event', 'messaging.fly'], 2, 'event_unknown'],
    [[...CREATE, '--event', 'messaging.send_message', '--no-events'], 2, 'argument_invalid'],
    [[...CREATE, '--connection', '15559999999'], 1, 'connection_unknown'],
    [[...CREATE, '--connection', '+1555'], 2, 'number_malformed'],
    [[...CREATE, '--from-address', 'office'], 2, 'argument_invalid'],
    [['token', 'delete', 'missing'], 1, 'token_unknown'],
  ])('refuse %j', async (args, code, refusal) => {
    const answer = await world.cli(...args)

    assert.deepEqual([answer.code, answer.stdout], [code, ''])
    assert.match(answer.stderr, new RegExp(`\\(${refusal}\\)\n$`))
    assert.deepEqual(await world.json('token', 'list'), [])
  })

  it('refuse a name that is taken', async () => {
    await world.cli(...CREATE)

    assert.match((await world.cli(...CREATE)).stderr, /token_exists/)
  })

  it.each(['shop', 'as listed', 'whole'])(
    'are deleted by name or by their beginning (%s), and stay in the list',
    async (by) => {
      const { token } = await world.json<{ token: string }>(...CREATE)
      const which = by === 'shop' ? 'shop' : by === 'whole' ? token : `${token.slice(0, 12)}…`

      const deleted = await world.json('token', 'delete', which)

      assert.equal(deleted['deletedAt'], '2026-01-15T12:00:00.000Z')
      assert.match((await world.cli('token', 'list')).stdout, /shop .*deleted now/)
    },
  )

  it('are found by a name that has the form of a token', async () => {
    await world.cli('token', 'create', '--name', 'nco_production', '--expires', '7d')

    assert.equal((await world.json('token', 'delete', 'nco_production'))['name'], 'nco_production')
  })
})
