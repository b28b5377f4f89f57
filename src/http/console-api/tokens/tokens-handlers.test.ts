import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, it } from 'vitest'
import { cameWith, logRequest } from '../../../../test/support/administration-world/log-request.ts'
import { AdministrationWorld, NOON } from '../../../../test/support/administration-world/open-administration-world.ts'
import { newTokenForm } from '../../../contract/console/tokens.ts'
import type { AccountId, TokenId } from '../../../core/ids.ts'
import { JoinedRefusal } from '../../../core/refusals.ts'
import { isWellFormedToken } from '../../../core/token/token-format.ts'
import { createTokenViews } from '../../../storage/queries/tokens/token-views.ts'
import type { AccountRequest } from '../request-context.ts'
import { tokensHandlers } from './tokens-handlers.ts'

const DAY = 86_400_000
const FORM = {
  name: 'shop',
  expiration: '90d',
  expiresAt: null,
  events: ['messaging.send_message'],
  connectionIds: null,
  sourceRanges: null,
} as const

let world: AdministrationWorld
let handlers: ReturnType<typeof tokensHandlers>
let acme: AccountId

async function open() {
  world = new AdministrationWorld()
  const close = await world.open('SQLite')
  const store = { tokens: createTokenViews(world.store), administration: world.administration }
  handlers = tokensHandlers({ store, publicUrl: 'https://nuncio.example', randomBytes } as never)
  acme = await world.account()
  return close
}

function context(accountId = acme): AccountRequest {
  return { accountId, now: world.now, actor: 'anna', role: 'developer' } as unknown as AccountRequest
}

function create(more: object = {}) {
  return handlers.createToken({ params: { account: acme }, query: {}, body: { ...FORM, ...more } as never }, context())
}

function at(id: string) {
  return { params: { account: acme, id }, query: {} }
}

async function refusalOf(call: Promise<unknown>): Promise<JoinedRefusal> {
  const error = await call.catch((caught: unknown) => caught)
  assert.ok(error instanceof JoinedRefusal)
  return error
}

function fieldsOf({ parts }: JoinedRefusal) {
  return parts.map(({ field }) => field)
}

describe('the console’s tokens', () => {
  beforeEach(open)

  it('are shown once, when they are made', async () => {
    const { token, details } = await create()
    const [row] = await world.all('select * from token')
    const read = await handlers.readToken({ ...at(details.id), body: {} }, context())

    assert.ok(isWellFormedToken(token))
    assert.equal(details.prefix, token.slice(4, 12))
    assert.equal(details.expiresAt, NOON + 90 * DAY)
    assert.ok(!JSON.stringify([row, read]).includes(token))
  })

  it('end when the form says', async () => {
    const ends: number[] = []
    for (const expiration of ['7d', '30d', '60d', '90d', '1y'] as const)
      ends.push((await create({ name: expiration, expiration })).details.expiresAt)
    const dated = await create({ name: 'dated', expiration: 'date', expiresAt: NOON + 700 * DAY })

    assert.deepEqual(
      ends.map((end) => (end - NOON) / DAY),
      [7, 30, 60, 90, 365],
    )
    assert.equal(dated.details.expiresAt, NOON + 700 * DAY)
  })

  it.each([
    [{ expiration: 'date' }, 'expiry_invalid', 'expiresAt'],
    [{ expiration: 'date', expiresAt: NOON }, 'expiry_invalid', 'expiresAt'],
    [{ expiration: 'date', expiresAt: NOON + 733 * DAY }, 'expiry_invalid', 'expiresAt'],
    [{ events: ['messaging.fly'] }, 'event_unknown', 'events'],
    [{ name: ' ' }, 'argument_invalid', 'name'],
    [{ name: 'x'.repeat(61) }, 'argument_invalid', 'name'],
    [{ name: 'two\nlines' }, 'argument_invalid', 'name'],
    [{ sourceRanges: ['office'] }, 'argument_invalid', 'sourceRanges'],
    [{ sourceRanges: ['10.0.0.1/8'] }, 'argument_invalid', 'sourceRanges'],
    [{ connectionIds: ['con_unknown'] }, 'connection_unknown', 'connectionIds'],
  ])('are refused at the field that is wrong: %j', async (more, code, field) => {
    await assert.rejects(create(more), { code, field })
    assert.deepEqual(await world.administration.listTokens(null), [])
  })

  it('are refused with all that is wrong at once', async () => {
    await create()
    const wrong = { expiration: 'date', connectionIds: ['con_unknown'], sourceRanges: ['office', '10.0.0.1/8'] }
    const error = await refusalOf(create({ ...wrong, name: '' }))
    const taken = await refusalOf(create({ ...wrong, name: ' shop ' }))

    assert.deepEqual(fieldsOf(error), ['name', 'expiresAt', 'connectionIds', 'sourceRanges'])
    assert.deepEqual(fieldsOf(taken), ['name', 'expiresAt', 'connectionIds', 'sourceRanges'])
    assert.match(taken.message, /There is a token named “shop” already/)
    assert.match(error.message, /“office” is no address range.*“10\.0\.0\.1\/8” is no range/)
  })

  it('keep addresses with their prefix', async () => {
    const { details } = await create({ sourceRanges: ['203.0.113.7', '10.0.0.0/8', '2001:db8::1', '10.0.0.0/8'] })

    assert.deepEqual(details.sourceRanges, ['203.0.113.7/32', '10.0.0.0/8', '2001:db8::1/128'])
  })

  it('count how many of their requests were refused, beside those that were accepted', async () => {
    const { details } = await create()
    const { sequence } = await world.accept({ connectionId: await world.connection(acme) })
    await cameWith(world, sequence, details.id as TokenId)
    for (const [at, status] of [400, 403, 403].entries())
      await logRequest(world, { accountId: acme, tokenId: details.id as TokenId, requestId: `refused ${at}`, status })

    const { accepted, refused, results } = await handlers.describeTokenUse({ ...at(details.id), body: {} }, context())

    assert.deepEqual([accepted, refused], [1, 3])
    assert.deepEqual(results[0], { value: 'Refused 403', count: 2 })
  })

  it('are deleted at once, but only when their name is typed', async () => {
    const { details } = await create()
    const remove = (name: string) => handlers.deleteToken({ ...at(details.id), body: { name } }, context())

    await assert.rejects(remove('shopp'), { code: 'token_name_differs', field: 'name' })
    await remove('shop')

    assert.deepEqual((await world.audit()).slice(-1), ['token.delete'])
    const { items } = await handlers.listTokens({ ...at(''), query: { tab: 'deleted' }, body: {} }, context())
    assert.deepEqual(
      items.map(({ id, deletedAt }) => [id, deletedAt]),
      [[details.id, NOON]],
    )
  })

  it('of another account are unknown for every action', async () => {
    const { details } = await create()
    const foreign = context(await world.account('Rival'))
    const rotation = { expiration: '90d', expiresAt: null, oldEndsAt: null } as const

    for (const act of [
      () => handlers.readToken({ ...at(details.id), body: {} }, foreign),
      () => handlers.describeTokenUse({ ...at(details.id), body: {} }, foreign),
      () => handlers.renameToken({ ...at(details.id), body: { name: 'mine' } }, foreign),
      () => handlers.rotateToken({ ...at(details.id), body: rotation }, foreign),
      () => handlers.deleteToken({ ...at(details.id), body: { name: 'shop' } }, foreign),
    ])
      await assert.rejects(act, { code: 'token_unknown', message: 'There is no such token.' })
  })

  it('are replaced by one that is shown once, too', async () => {
    const { details } = await create()

    const successor = await handlers.rotateToken(
      { ...at(details.id), body: { expiration: '30d', expiresAt: null, oldEndsAt: NOON + DAY } },
      context(),
    )
    const old = await handlers.readToken({ ...at(details.id), body: {} }, context())

    assert.ok(isWellFormedToken(successor.token))
    assert.deepEqual([successor.details.name, successor.details.expiresAt], ['shop', NOON + 30 * DAY])
    assert.deepEqual([old.name, old.expiresAt], ['shop (old)', NOON + DAY])
  })

  it('are not replaced before both ends are right, and say so of both at once', async () => {
    const { details } = await create()
    const rotate = (expiresAt: number) =>
      handlers.rotateToken(
        { ...at(details.id), body: { expiration: 'date', expiresAt, oldEndsAt: NOON + 91 * DAY } },
        context(),
      )

    assert.deepEqual(fieldsOf(await refusalOf(rotate(NOON))), ['expiresAt', 'oldEndsAt'])
    assert.deepEqual(fieldsOf(await refusalOf(rotate(NOON + DAY))), ['oldEndsAt'])
    await handlers.deleteToken({ ...at(details.id), body: { name: 'shop' } }, context())
    await assert.rejects(rotate(NOON), { code: 'token_ended' })
  })

  it('offers events by group, and the address to send to', async () => {
    const form = await handlers.describeTokenForm({ ...at(''), body: {} }, context())

    assert.deepEqual([form.events[0]?.group, form.events[0]?.name], ['Messaging', 'Send Message'])
    assert.equal(form.endpoint, 'https://nuncio.example/chat/api/v1/public/message/send')
  })
})

describe('the form for a token', () => {
  it.each([
    [{ connectionIds: [] }, 'connectionIds'],
    [{ sourceRanges: [] }, 'sourceRanges'],
    [{ expiration: 'never' }, 'expiration'],
  ])('says where it is wrong: %j', (more, field) => {
    const { error } = newTokenForm.safeParse({ ...FORM, ...more })

    assert.deepEqual(
      error?.issues.map(({ path }) => path[0]),
      [field],
    )
  })
})
