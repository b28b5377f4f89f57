import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../../test/support/administration-world/open-administration-world.ts'
import { Browser, hashOf, PeopleWorld } from '../../../../test/support/people-world/people-world.ts'
import type { Role } from '../../../core/people/role.ts'
import { JoinedRefusal } from '../../../core/refusals.ts'

const WEAK = 'Password123456789'

let world: PeopleWorld

/** The fields of all that is wrong. */
async function faultsOf(call: Promise<unknown>): Promise<(string | null)[]> {
  const error = await call.catch((caught: unknown) => caught)
  assert.ok(error instanceof JoinedRefusal)
  return error.parts.map(({ field }) => field)
}

describe.each(ENGINES)('the form behind a link, on %s', (engine) => {
  beforeEach(() => {
    world = new PeopleWorld()
    return world.open(engine)
  })

  it('reports all faults of a set-up at once', async () => {
    const body = { link: await setupLink(), name: 'Ol\u200bga', email: 'ol\u202ega@example.org', password: WEAK }

    assert.deepEqual(await faultsOf(setUp(body)), ['name', 'email', 'password'])
  })

  it('reports all faults of an invitation at once', async () => {
    const account = await world.account()
    await world.person(account)
    const owner = new Browser()
    await world.signIn(owner)
    const invited = { params: { account }, query: {}, body: { email: 'ben@example.org', role: 'developer' as Role } }
    const { url } = await world.handlers.invitePerson(invited, await world.accountRequest(owner, account))
    const body = { link: url.split('/').at(-1) ?? '', name: 'Ben\u200b', password: WEAK }

    const accepted = world.handlers.acceptInvitation({ params: {}, query: {}, body }, world.visit(new Browser()))

    assert.deepEqual(await faultsOf(accepted), ['name', 'password'])
  })

  it('takes no password that is made of the e-mail, also when the e-mail has blanks around it', async () => {
    const body = { link: await setupLink(), name: 'Olga', email: ' rainbow@example.org ', password: 'rainbow@example9' }

    await assert.rejects(setUp(body), { code: 'password_weak', field: 'password' })
  })
})

async function setupLink(): Promise<string> {
  await world.people.createPersonLink(
    { kind: 'set-up', sha256: hashOf('secret'), personId: null, invitation: null },
    'cli',
  )
  return 'secret'
}

function setUp(body: Parameters<PeopleWorld['handlers']['setUp']>[0]['body']) {
  return world.handlers.setUp({ params: {}, query: {}, body }, world.visit(new Browser()))
}
