import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../../test/support/administration-world/open-administration-world.ts'
import { Browser, hashOf, PASSWORD, PeopleWorld } from '../../../../test/support/people-world/people-world.ts'
import type { AccountId } from '../../../core/ids.ts'
import type { Role } from '../../../core/people/role.ts'

const HOUR = 3_600_000
const OTHER_PASSWORD = 'purple anvil drizzle seven'

let world: PeopleWorld
let account: AccountId
let made = 0

const nothing = { params: {}, query: {}, body: {} }

async function link(kind: 'set-up' | 'reset-password', personId: string | null = null): Promise<string> {
  const secret = `${kind} ${made++}`
  await world.people.createPersonLink({ kind, sha256: hashOf(secret), personId, invitation: null }, 'cli')
  return secret
}

/** The secret at the end of the link. */
async function invite(browser: Browser, email: string, role: Role = 'developer'): Promise<string> {
  const input = { params: { account }, query: {}, body: { email, role } }
  const { url } = await world.handlers.invitePerson(input, await world.accountRequest(browser, account))
  assert.match(url, /^https:\/\/console\.example\/console\/invitation\/[\w-]{43}$/)
  return url.split('/').at(-1) ?? ''
}

function accept(browser: Browser, secret: string, password = PASSWORD) {
  const body = { link: secret, name: 'Ben', password }
  return world.handlers.acceptInvitation({ params: {}, query: {}, body }, world.visit(browser))
}

function setUp(secret: string, password = PASSWORD, browser = new Browser()) {
  const body = { link: secret, name: 'Olga', email: 'olga@example.org', password }
  return world.handlers.setUp({ params: {}, query: {}, body }, world.visit(browser))
}

async function changeRole(browser: Browser, id: string, role: Role): Promise<void> {
  const input = { params: { account, id }, query: {}, body: { role } }
  await world.handlers.changeRole(input, await world.accountRequest(browser, account))
}

describe.each(ENGINES)('the first person, on %s', (engine) => {
  beforeEach(() => {
    world = new PeopleWorld()
    return world.open(engine)
  })

  it('signs up by the setup link and owns the first account', async () => {
    account = await world.account('Default')
    world.now += 1_000
    await world.account('Acme')
    const browser = new Browser()

    await setUp(await link('set-up'), PASSWORD, browser)

    const { person, accounts } = await world.handlers.currentSession(nothing, await world.personRequest(browser))
    assert.deepEqual([person.name, person.email], ['Olga', 'olga@example.org'])
    assert.deepEqual(accounts, [
      { id: account, name: 'Default', role: 'owner', requiresSecondFactor: false, isOpen: true },
    ])
  })

  it('is the only one: the link works once, and no other is made', async () => {
    const [first, second] = [await link('set-up'), hashOf('another')]
    await world.people.createPersonLink({ kind: 'set-up', sha256: second, personId: null, invitation: null }, 'cli')
    await setUp(first)

    await assert.rejects(setUp(first), { code: 'people_exist', message: 'Nuncio is set up already: sign in.' })
    await assert.rejects(setUp('another'), { code: 'people_exist' })
    assert.equal(world.setupLinksDeleted, 1)
    await assert.rejects(link('set-up'), { code: 'people_exist' })
    assert.equal((await world.people.listPeople()).length, 1)
  })

  it('must use the link within the hour', async () => {
    const secret = await link('set-up')
    world.now += HOUR

    await assert.rejects(setUp(secret), { code: 'link_dead', message: 'This link is too old or incomplete.' })
  })

  it('is only one of two at the same time', async () => {
    const secret = await link('set-up')

    const said = await Promise.allSettled([setUp(secret), setUp(secret)])

    assert.deepEqual(said.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    assert.equal((await world.people.listPeople()).length, 1)
  })

  it('may choose again when the password was too weak: the link still works', async () => {
    const secret = await link('set-up')

    await assert.rejects(setUp(secret, 'Password123456789'), { code: 'password_weak', field: 'password' })
    await setUp(secret)
  })
})

describe.each(ENGINES)('people, on %s', (engine) => {
  let owner: Browser

  beforeEach(async () => {
    world = new PeopleWorld()
    const close = await world.open(engine)
    account = await world.account()
    await world.person(account)
    owner = new Browser()
    await world.signIn(owner)
    return close
  })

  it('come in by invitation, with the role they were given; the link works once', async () => {
    const secret = await invite(owner, 'ben@example.org')
    const ben = new Browser()
    const read = { params: {}, query: {}, body: { kind: 'invitation', link: secret } as const }
    const seen = await world.handlers.readLink(read, world.visit(ben))

    await accept(ben, secret)

    assert.deepEqual([seen.email, seen.account, seen.role], ['ben@example.org', 'Acme', 'developer'])
    const { accounts } = await world.handlers.currentSession(nothing, await world.personRequest(ben))
    assert.deepEqual(
      accounts.map(({ id, role }) => [id, role]),
      [[account, 'developer']],
    )
    await assert.rejects(accept(new Browser(), secret), { code: 'link_dead' })
    await assert.rejects(world.handlers.readLink(read, world.visit(ben)), { code: 'link_dead' })
  })

  it('G8: cannot be discovered by an invitation or a name: both read the same whether another account has them', async () => {
    await world.person(await world.account('Other'), 'owner', 'ben@example.org')
    const read = async (email: string) => {
      const body = { kind: 'invitation', link: await invite(owner, email) } as const
      const seen = await world.handlers.readLink({ params: {}, query: {}, body }, world.visit(new Browser()))
      return { ...seen, email: 'any', expiresAt: 0 }
    }
    const rename = async (name: string) =>
      world.handlers.renameAccount(
        { params: { account }, query: {}, body: { name } },
        await world.accountRequest(owner, account),
      )

    assert.deepEqual(await read('ben@example.org'), await read('unknown@example.org'))
    assert.deepEqual(await rename('Other'), await rename('Another'))
  })

  it('with a password join by signing in, and no other person can join in their place', async () => {
    const other = await world.account('Other')
    await world.person(other, 'owner', 'ben@example.org')
    const [secret, ben] = [await invite(owner, 'Ben@Example.org'), new Browser()]
    await world.signIn(ben, { email: 'ben@example.org' })
    const join = async (browser: Browser) => {
      const input = { params: {}, query: {}, body: { link: secret } }
      return world.handlers.joinAccount(input, await world.personRequest(browser))
    }

    await assert.rejects(accept(new Browser(), secret), { code: 'person_exists' })
    await assert.rejects(join(owner), { code: 'link_dead' })
    assert.deepEqual(await join(ben), { account })

    const { accounts } = await world.handlers.currentSession(nothing, await world.personRequest(ben))
    assert.deepEqual(accounts.map(({ name }) => name).toSorted(), ['Acme', 'Other'])
  })

  it('cannot come by an invitation that is withdrawn or a week old', async () => {
    const [old, withdrawn] = [await invite(owner, 'old@example.org'), await invite(owner, 'ben@example.org')]
    const context = await world.accountRequest(owner, account)
    const { invitations } = await world.handlers.listMembers({ ...nothing, params: { account } }, context)
    const id = invitations.find(({ email }) => email === 'ben@example.org')?.id ?? ''
    const withdraw = (from: AccountId) =>
      world.handlers.withdrawInvitation(
        { params: { account: from, id }, query: {}, body: {} },
        { ...context, accountId: from },
      )

    await assert.rejects(withdraw(await world.account('Other')), { code: 'invitation_unknown' })
    await withdraw(account)
    await assert.rejects(withdraw(account), { code: 'invitation_unknown' })
    await assert.rejects(accept(new Browser(), withdrawn), { code: 'link_dead' })
    world.now += 7 * 24 * HOUR
    await assert.rejects(accept(new Browser(), old), { code: 'link_dead' })
  })

  it.each(['demoted', 'removed'])('G8: cannot come by an invitation of an owner who was %s since', async (how) => {
    const ben = new Browser()
    const { id } = await world.person(account, 'owner', 'ben@example.org')
    await world.signIn(ben, { email: 'ben@example.org' })
    await world.person(await world.account('Other'), 'viewer', 'carl@example.org')
    const carl = new Browser()
    await world.signIn(carl, { email: 'carl@example.org' })
    const [toNew, toKnown] = [await invite(ben, 'new@example.org', 'owner'), await invite(ben, 'carl@example.org')]
    const ofOperator = hashOf('by the operator')
    const invitation = { accountId: account, role: 'viewer', email: 'dora@example.org' } as const
    await world.people.createPersonLink({ kind: 'invitation', sha256: ofOperator, personId: null, invitation }, 'cli')

    if (how === 'demoted') await changeRole(owner, id, 'developer')
    else await world.people.removeMember(account, id, 'cli')

    const read = { params: {}, query: {}, body: { kind: 'invitation', link: toNew } as const }
    const join = { params: {}, query: {}, body: { link: toKnown } }
    await assert.rejects(world.handlers.readLink(read, world.visit(ben)), { code: 'link_dead' })
    await assert.rejects(accept(new Browser(), toNew), { code: 'link_dead' })
    await assert.rejects(world.handlers.joinAccount(join, await world.personRequest(carl)), { code: 'link_dead' })
    const open = await world.people.listInvitations(account)
    assert.deepEqual(
      open.map(({ email }) => email),
      ['dora@example.org'],
    )
    await accept(new Browser(), 'by the operator')
  })

  it('G8: who joined or were invited anew cannot use an older invitation', async () => {
    const [first, second] = [await invite(owner, 'Ben@example.org', 'owner'), await invite(owner, 'ben@example.org')]

    await assert.rejects(accept(new Browser(), first), { code: 'link_dead' })
    await accept(new Browser(), second)
    const ben = (await world.people.findCredentials('ben@example.org'))?.personId ?? ''
    await world.people.removeMember(account, ben, 'cli')

    assert.deepEqual(await world.people.listInvitations(account), [])
  })

  it('are not invited twice into the same account', async () => {
    await assert.rejects(invite(owner, 'ANNA@example.org'), { code: 'person_exists' })
  })

  it('always leave an owner behind', async () => {
    const anna = (await world.personRequest(owner)).personId
    const ben = await world.person(account, 'developer', 'ben@example.org')
    const remove = async (id: string) => {
      const input = { params: { account, id }, query: {}, body: {} }
      return world.handlers.removeMember(input, await world.accountRequest(owner, account))
    }

    await assert.rejects(changeRole(owner, anna, 'viewer'), { code: 'last_owner' })
    await assert.rejects(remove(anna), { code: 'last_owner' })
    await changeRole(owner, ben.id, 'owner')
    const both = await Promise.allSettled([changeRole(owner, anna, 'viewer'), changeRole(owner, ben.id, 'viewer')])

    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    assert.equal((await world.people.listMembers(account)).filter(({ role }) => role === 'owner').length, 1)
  })

  it('of another account are unknown here', async () => {
    const other = await world.account('Other')
    const ben = await world.person(other, 'owner', 'ben@example.org')

    await assert.rejects(changeRole(owner, ben.id, 'viewer'), { code: 'member_unknown' })
    await assert.rejects(changeRole(owner, 'per_000000000000', 'viewer'), { code: 'member_unknown' })
    assert.deepEqual(
      (await world.people.listMembers(account)).map(({ email }) => email),
      ['anna@example.org'],
    )
  })

  it('without a second factor find an account closed that requires one', async () => {
    const context = await world.accountRequest(owner, account)
    const input = { params: { account }, query: {}, body: { isRequired: true } }

    await world.handlers.requireSecondFactor(input, context)

    const { accounts } = await world.handlers.currentSession(nothing, await world.personRequest(owner))
    assert.deepEqual(
      accounts.map(({ requiresSecondFactor, isOpen }) => [requiresSecondFactor, isOpen]),
      [[true, false]],
    )
    const session = await world.sessions.find(hashOf(owner.cookies['__Host-sid'] ?? ''))
    assert.deepEqual([session?.hasSecondFactor, session?.memberships[0]?.requiresSecondFactor], [false, true])
  })

  it('who forgot their password get a link for an hour; the newest works, once, and ends all sessions', async () => {
    const anna = (await world.personRequest(owner)).personId
    const first = await link('reset-password', anna)
    world.now += 1_000
    const second = await link('reset-password', anna)
    const reset = (secret: string, password = OTHER_PASSWORD) =>
      world.handlers.resetPassword(
        { params: {}, query: {}, body: { link: secret, password } },
        world.visit(new Browser()),
      )

    await assert.rejects(reset(first), { code: 'link_dead' })
    await reset(second)
    await assert.rejects(reset(second), { code: 'link_dead' })
    assert.equal(await world.isSignedIn(owner), false)
    await assert.rejects(world.signIn(new Browser()), { code: 'sign_in_failed' })
    assert.deepEqual(await world.signIn(new Browser(), { password: OTHER_PASSWORD }), { step: 'done' })
    const late = await link('reset-password', anna)
    world.now += HOUR
    await assert.rejects(reset(late), { code: 'link_dead' })
  })

  it('find in the audit log what happened in their account, and no other', async () => {
    const other = await world.account('Other')
    await world.person(other, 'owner', 'ben@example.org')
    await world.signIn(new Browser(), { email: 'ben@example.org' })
    await invite(owner, 'carl@example.org')
    const rename = { params: { account }, query: {}, body: { name: 'Acme Ltd' } }
    await world.handlers.renameAccount(rename, await world.accountRequest(owner, account))
    const list = async (before?: string) =>
      world.handlers.listAudit(
        { params: { account }, query: { before }, body: {} },
        await world.accountRequest(owner, account),
      )

    const { items, next } = await list()

    assert.deepEqual(
      items.map(({ action, actor, remoteAddress }) => [action, actor, remoteAddress]),
      [
        ['account.rename', 'anna@example.org', '203.0.113.5'],
        ['link.create.invitation', 'anna@example.org', '203.0.113.5'],
        ['sign-in', 'anna@example.org', '203.0.113.5'],
        ['member.add', 'test', null],
        ['account.create', 'test', null],
      ],
    )
    assert.deepEqual(items[0]?.detail, { name: 'Acme Ltd', was: 'Acme' })
    assert.equal(next, null)
    assert.deepEqual((await list(items[2]?.id)).items, items.slice(3))
  })

  it('find in the audit log what one person did, and what is about one kind of thing', async () => {
    await invite(owner, 'carl@example.org')
    const context = await world.accountRequest(owner, account)
    const actions = async (query: { actor?: string; kind?: 'people' | 'sign-in' | 'tokens' }) =>
      (await world.handlers.listAudit({ params: { account }, query, body: {} }, context)).items.map(
        ({ action }) => action,
      )

    assert.deepEqual(await actions({ actor: 'anna@example.org' }), ['link.create.invitation', 'sign-in'])
    assert.deepEqual(await actions({ kind: 'people' }), ['link.create.invitation', 'member.add'])
    assert.deepEqual(await actions({ kind: 'people', actor: 'test' }), ['member.add'])
    assert.deepEqual(await actions({ kind: 'sign-in' }), ['sign-in'])
    assert.deepEqual(await actions({ kind: 'tokens' }), [])
  })

  it('find in the audit log the number of a connection and the name of a token', async () => {
    await world.connection(account)
    const token = { accountId: account, name: 'Shop', events: ['messaging.send_message'] as const }
    const secret = { expiresAt: world.now + HOUR, sha256: Buffer.alloc(32, 1), prefix: 'nuncio_1' }
    await world.administration.createToken({ ...token, ...secret, connectionIds: null, sourceRanges: null }, 'test')
    const context = await world.accountRequest(owner, account)

    const { items } = await world.handlers.listAudit({ params: { account }, query: {}, body: {} }, context)

    assert.deepEqual(
      items.slice(0, 3).map(({ action, objectName }) => [action, objectName]),
      [
        ['token.create', 'Shop'],
        ['connection.add', '15550001000'],
        ['sign-in', null],
      ],
    )
  })

  it('page through a long audit log without gaps', async () => {
    const objects = Array.from({ length: 120 }, (_, at) => `o${at}`)
    await world.noteInAudit(account, objects)
    const context = await world.accountRequest(owner, account)
    const seen: string[] = []
    let before: string | undefined
    do {
      const page = await world.handlers.listAudit({ params: { account }, query: { before }, body: {} }, context)
      seen.push(...page.items.map(({ object }) => object))
      before = page.next ?? undefined
    } while (before)

    assert.deepEqual(
      seen.filter((object) => /^o\d/.test(object)),
      objects.toReversed(),
    )
  })
})
