import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../../test/support/administration-world/open-administration-world.ts'
import { Browser, CHEAP, PASSWORD, PeopleWorld } from '../../../../test/support/people-world/people-world.ts'
import type { AccountId } from '../../../core/ids.ts'
import { PasswordHasher } from './password-hasher.ts'
import { openTotp } from './sealed-totp.ts'
import { totpCode } from './totp.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SID = '__Host-sid'

let world: PeopleWorld
let account: AccountId

/** For tests that guess often. */
class QuickHasher extends PasswordHasher {
  override async isRight(password: string): Promise<boolean> {
    return password === PASSWORD
  }
}

async function tries(browser: Browser, password: string, email = 'anna@example.org'): Promise<string> {
  try {
    return (await world.signIn(browser, { email, password })).step
  } catch (error) {
    return (error as { code?: string }).code ?? String(error)
  }
}

function stepNow(): number {
  return Math.floor(world.now / 30_000)
}

/** Signs in, sets a code app up, and returns its secret. */
async function enrol(browser: Browser): Promise<{ secret: Buffer; recoveryCodes: readonly string[] }> {
  await world.signIn(browser)
  const context = await world.personRequest(browser)
  await world.handlers.beginTotp({ params: {}, query: {}, body: {} }, context)
  const begun = await world.people.readTotp(context.personId, 'begun')
  assert.ok(begun)
  const secret = openTotp(world.deps.secrets, context.personId, begun)
  const body = { code: totpCode(secret, stepNow()) }
  const { recoveryCodes } = await world.handlers.confirmTotp({ params: {}, query: {}, body }, context)
  return { secret, recoveryCodes: recoveryCodes ?? [] }
}

async function firstStep(browser: Browser): Promise<string> {
  const reply = await world.signIn(browser)
  assert.ok(reply.step === 'second-factor')
  return reply.ticket
}

function finish(browser: Browser, ticket: string, code: string) {
  return world.handlers.finishSignIn({ params: {}, query: {}, body: { ticket, code } }, world.visit(browser))
}

describe.each(ENGINES)('signing in, on %s', (engine) => {
  beforeEach(async () => {
    world = new PeopleWorld()
    const close = await world.open(engine)
    account = await world.account()
    await world.person(account)
    return close
  })

  it('gives a new session each time, and ends the one the browser brought', async () => {
    const [browser, other] = [new Browser(), new Browser()]
    other.cookies[SID] = 'A'.repeat(43)
    await world.signIn(browser)
    const first = browser.cookies[SID] ?? ''
    const stolen = new Browser()
    stolen.cookies[SID] = first

    await world.signIn(browser, { email: ' ANNA@example.org ' })
    await world.signIn(other)

    assert.notEqual(browser.cookies[SID], first)
    assert.notEqual(other.cookies[SID], 'A'.repeat(43))
    assert.deepEqual([await world.isSignedIn(stolen), await world.isSignedIn(browser)], [false, true])
  })

  it('gives one answer to a wrong password and to an unknown person, after the same work', async () => {
    const work: unknown[] = []
    class Watched extends PasswordHasher {
      override isRight(password: string, phc: string | null): Promise<boolean> {
        work.push(phc === null ? 'the same for an unknown person' : 'compared')
        return super.isRight(password, phc)
      }
    }
    world.hasher = new Watched(CHEAP)
    const said = async (email: string) => world.signIn(new Browser(), { email, password: 'wrong' }).catch(String)

    const [known, unknown] = [await said('anna@example.org'), await said('unknown@example.org')]

    assert.equal(known, unknown)
    assert.deepEqual(work, ['compared', 'the same for an unknown person'])
  })

  it('slows down guesses at one person step by step, never permanently', async () => {
    world.hasher = new QuickHasher(CHEAP)
    const guesser = new Browser()
    for (let guess = 0; guess < 5; guess += 1) assert.equal(await tries(guesser, 'wrong'), 'sign_in_failed')
    assert.equal(await tries(guesser, PASSWORD), 'sign_in_throttled')

    for (const seconds of [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900]) {
      world.now += seconds * 1_000 - 1
      assert.equal(await tries(guesser, 'wrong'), 'sign_in_throttled', `${seconds} s`)
      world.now += 1
      assert.equal(await tries(guesser, 'wrong'), 'sign_in_failed', `${seconds} s`)
    }

    world.now += DAY
    assert.equal(await tries(new Browser(), PASSWORD), 'done')
  })

  it('has a separate counter for a known browser', async () => {
    const own = new Browser()
    await world.signIn(own)
    for (let guess = 0; guess < 5; guess += 1) await tries(new Browser(), 'wrong')

    assert.equal(await tries(new Browser(), PASSWORD), 'sign_in_throttled')
    assert.equal(await tries(own, PASSWORD), 'done')
  })

  it('does not lock out a person who shares an address with a guesser', async () => {
    world.hasher = new QuickHasher(CHEAP)
    await world.person(account, 'viewer', 'ben@example.org')
    const [known, guesser] = [new Browser(), new Browser()]
    await world.signIn(known)
    for (let guess = 0; guess < 32; guess += 1) {
      world.now += MINUTE
      await tries(guesser, 'wrong', `unknown-${guess}@example.org`)
      await tries(guesser, 'wrong')
    }

    assert.equal(await tries(new Browser(), PASSWORD), 'sign_in_throttled')
    assert.equal(await tries(known, PASSWORD), 'done')
    assert.equal(await tries(new Browser(), PASSWORD, 'ben@example.org'), 'done')
  })

  it('lets an address with 30 wrong tries in an hour try each further account three times', async () => {
    world.hasher = new QuickHasher(CHEAP)
    await world.person(account, 'viewer', 'ben@example.org')
    const guesser = new Browser()
    for (let guess = 0; guess < 30; guess += 1)
      assert.equal(await tries(guesser, 'wrong', `unknown-${guess}@example.org`), 'sign_in_failed')
    for (let guess = 0; guess < 3; guess += 1)
      assert.equal(await tries(guesser, 'wrong', 'ben@example.org'), 'sign_in_failed')

    assert.equal(await tries(guesser, PASSWORD, 'ben@example.org'), 'sign_in_throttled')
    const elsewhere = new Browser()
    elsewhere.remoteAddress = '203.0.113.99'
    assert.equal(await tries(elsewhere, PASSWORD, 'ben@example.org'), 'done')
    world.now += HOUR
    assert.equal(await tries(guesser, PASSWORD, 'ben@example.org'), 'done')
  })

  it('lets one address make no more than 60 tries a minute, for whichever person', async () => {
    world.hasher = new QuickHasher(CHEAP)
    const [known, guesser] = [new Browser(), new Browser()]
    await world.signIn(known)
    for (let guess = 0; guess < 60; guess += 1)
      assert.equal(await tries(guesser, 'wrong', `unknown-${guess}@example.org`), 'sign_in_failed')

    assert.equal(await tries(guesser, PASSWORD), 'sign_in_throttled')
    assert.equal(await tries(known, PASSWORD), 'done')
    world.now += MINUTE
    assert.equal(await tries(guesser, PASSWORD), 'done')
  })

  it('limits concurrent tries', async () => {
    const crowd = Array.from({ length: 12 }, () => tries(new Browser(), 'wrong'))

    const said = await Promise.all(crowd)

    assert.equal(said.filter((code) => code === 'sign_in_failed').length, 5)
    assert.equal(said.filter((code) => code === 'sign_in_throttled').length, 7)
  })

  it('rehashes cheaper hashes', async () => {
    const before = (await world.people.findCredentials('anna@example.org'))?.passwordHash ?? ''
    world.hasher = new PasswordHasher({ memoryKib: 20_480, passes: 2 })

    await world.signIn(new Browser())

    const after = (await world.people.findCredentials('anna@example.org'))?.passwordHash ?? ''
    assert.match(before, /m=19456/)
    assert.match(after, /m=20480/)
    assert.equal(await tries(new Browser(), PASSWORD), 'done')
  })

  it('asks for a code where there is a second factor, and accepts each code once', async () => {
    const browser = new Browser()
    const { secret } = await enrol(browser)
    const used = totpCode(secret, stepNow())

    const ticket = await firstStep(new Browser())
    await assert.rejects(finish(new Browser(), ticket, used), { code: 'code_wrong' })
    world.now += 30_000
    const fresh = totpCode(secret, stepNow())
    const there = new Browser()
    assert.deepEqual(await finish(there, ticket, fresh), { step: 'done' })

    assert.equal(await world.isSignedIn(there), true)
    await assert.rejects(finish(new Browser(), ticket, totpCode(secret, stepNow() + 1)), { code: 'ticket_dead' })
    await assert.rejects(finish(new Browser(), await firstStep(new Browser()), fresh), { code: 'code_wrong' })
  })

  it('accepts codes of a clock that is half a minute off, and no others', async () => {
    const { secret } = await enrol(new Browser())
    world.now += 10 * MINUTE
    const ticket = await firstStep(new Browser())

    await assert.rejects(finish(new Browser(), ticket, totpCode(secret, stepNow() - 2)), { code: 'code_wrong' })
    await assert.rejects(finish(new Browser(), ticket, totpCode(secret, stepNow() + 2)), { code: 'code_wrong' })
    assert.deepEqual(await finish(new Browser(), ticket, totpCode(secret, stepNow() - 1)), { step: 'done' })
  })

  it('limits guesses at codes: five in five minutes', async () => {
    const { secret } = await enrol(new Browser())
    world.now += 10 * MINUTE
    const ticket = await firstStep(new Browser())
    for (let guess = 0; guess < 5; guess += 1)
      await assert.rejects(finish(new Browser(), ticket, '000000'), { code: 'code_wrong' })

    await assert.rejects(finish(new Browser(), ticket, totpCode(secret, stepNow())), { code: 'sign_in_throttled' })
    world.now += 5 * MINUTE
    const again = await firstStep(new Browser())
    assert.deepEqual(await finish(new Browser(), again, totpCode(secret, stepNow())), { step: 'done' })
  })

  it('takes a recovery code instead, each once, however it is typed', async () => {
    const { recoveryCodes } = await enrol(new Browser())
    const code = recoveryCodes[3] ?? ''

    assert.equal(recoveryCodes.length, 10)
    const typed = code.toLowerCase().replaceAll('-', ' ')
    assert.deepEqual(await finish(new Browser(), await firstStep(new Browser()), typed), { step: 'done' })
    await assert.rejects(finish(new Browser(), await firstStep(new Browser()), code), { code: 'code_wrong' })
  })

  it('ends sessions that are idle for half an hour, or 12 hours old; those kept, after 14 and 30 days', async () => {
    const [deps, kept] = [new Browser(), new Browser()]
    await world.signIn(deps)
    await world.signIn(kept, { keep: true })
    const begun = world.now

    for (; world.now < begun + 12 * HOUR - 20 * MINUTE; world.now += 20 * MINUTE)
      assert.equal(await world.isSignedIn(deps), true)
    assert.equal(await world.isSignedIn(deps), true)
    world.now = begun + 12 * HOUR
    assert.deepEqual([await world.isSignedIn(deps), await world.isSignedIn(kept)], [false, true])
    await world.signIn(deps)
    world.now += 30 * MINUTE
    assert.equal(await world.isSignedIn(deps), false)
    world.now = begun + 13 * DAY
    assert.equal(await world.isSignedIn(kept), true)
    world.now = begun + 26 * DAY
    assert.equal(await world.isSignedIn(kept), true)
    world.now = begun + 30 * DAY
    assert.equal(await world.isSignedIn(kept), false)
  })

  it('gives a new session id at a step-up, and the old one is invalid', async () => {
    const browser = new Browser()
    await world.signIn(browser)
    const seen = new Browser()
    seen.cookies[SID] = browser.cookies[SID] ?? ''
    world.now += 6 * MINUTE
    const step = async (password: string) =>
      world.handlers.stepUp({ params: {}, query: {}, body: { password } }, await world.personRequest(browser))

    await assert.rejects(step('wrong'), { code: 'proof_wrong' })
    await step(PASSWORD)

    const { provenUntil } = await world.handlers.currentSession(
      { params: {}, query: {}, body: {} },
      await world.personRequest(browser),
    )
    assert.equal(provenUntil, world.now + 5 * MINUTE)
    assert.deepEqual([await world.isSignedIn(seen), await world.isSignedIn(browser)], [false, true])
  })

  it('ends all other sessions when the password or a factor changes', async () => {
    const [own, other] = [new Browser(), new Browser()]
    await world.signIn(own)
    await world.signIn(other)
    const halfway = { params: {}, query: {}, body: { password: 'purple anvil drizzle seven' } }

    await world.handlers.changePassword(halfway, await world.personRequest(own))
    assert.deepEqual([await world.isSignedIn(own), await world.isSignedIn(other)], [true, false])
    await world.signIn(other, { password: 'purple anvil drizzle seven' })
    await world.handlers.beginTotp({ params: {}, query: {}, body: {} }, await world.personRequest(own))
    const { personId } = await world.personRequest(own)
    const secret = openTotp(
      world.deps.secrets,
      personId,
      (await world.people.readTotp(personId, 'begun')) ?? Buffer.of(),
    )
    const body = { code: totpCode(secret, stepNow()) }
    await world.handlers.confirmTotp({ params: {}, query: {}, body }, await world.personRequest(own))

    assert.deepEqual([await world.isSignedIn(own), await world.isSignedIn(other)], [true, false])
  })

  it('lists sessions and ends them, but not those of other people', async () => {
    const [own, phone, bens] = [new Browser(), new Browser(), new Browser()]
    await world.person(account, 'viewer', 'ben@example.org')
    await world.signIn(own)
    await world.signIn(phone)
    await world.signIn(bens, { email: 'ben@example.org' })
    const end = async (id: string) =>
      world.handlers.endSession({ params: { id }, query: {}, body: {} }, await world.personRequest(own))

    const { items } = await world.handlers.listSessions(
      { params: {}, query: {}, body: {} },
      await world.personRequest(own),
    )
    await assert.rejects(end((await world.personRequest(bens)).sessionId), { code: 'session_unknown' })
    await end((await world.personRequest(phone)).sessionId)

    assert.equal(items.length, 2)
    assert.equal(items.filter(({ isThis }) => isThis).length, 1)
    assert.deepEqual(
      [await world.isSignedIn(own), await world.isSignedIn(phone), await world.isSignedIn(bens)],
      [true, false, true],
    )
  })

  it('writes who, where from and how into the audit log, and nothing secret', async () => {
    const browser = new Browser()
    await tries(browser, 'wrong horse')
    await tries(browser, 'my secret', 'my-password-typed-here@x')
    await world.signIn(browser)

    const rows = await world.all('select * from audit where remote_address is not null order by sequence')

    assert.deepEqual(
      rows.map(({ actor, action, remote_address }) => [actor, action, remote_address]),
      [
        ['anna@example.org', 'sign-in.failed', '203.0.113.5'],
        ['unknown person', 'sign-in.failed', '203.0.113.5'],
        ['anna@example.org', 'sign-in', '203.0.113.5'],
      ],
    )
    assert.doesNotMatch(JSON.stringify(rows), /horse|typed|secret/)
  })
})
