import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { type ConsoleRoute, ROLES, type Role } from '../../src/contract/console/route.ts'
import { CONSOLE_ROUTES, type ConsoleRouteName } from '../../src/contract/console/routes.ts'
import { ENGINES } from '../support/administration-world/open-administration-world.ts'
import { BODIES, makeThings, paramsOf, type Things } from '../support/console-world/account-things.ts'
import { ConsoleWorld } from '../support/console-world/console-world.ts'

/** These change nothing, or need a code, a passkey, a link or a connection of another channel. */
const CHANGES_NOTHING: readonly ConsoleRouteName[] = [
  'checkConnection',
  'requestPhone',
  'watchPhone',
  'stepUp',
  'requestPasskeyStepUp',
  'stepUpByPasskey',
  'joinAccount',
  'beginTotp',
  'confirmTotp',
  'requestNewPasskey',
  'addPasskey',
]
const CHANGING = Object.entries(CONSOLE_ROUTES)
  .map(([name, route]) => ({ name: name as ConsoleRouteName, route: route as ConsoleRoute }))
  .filter(({ name, route }) => route.method !== 'GET' && route.access !== 'public' && !CHANGES_NOTHING.includes(name))

let world: ConsoleWorld
let acme: Things

describe.each(ENGINES)('rights that end while a request is under way, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    acme = await makeThings(world, 'Acme', '15550001000')
    return close
  })

  it('G8: change nothing in an account after the person was given a lower role', async () => {
    const answers: string[] = []
    for (const { name, route } of CHANGING.filter(({ route }) => ROLES.some((role) => role === route.access))) {
      const person = await world.visitor(acme.account, route.access as Role)
      const demote = () =>
        world.console.people.changeRole({ accountId: acme.account, personId: person.personId, role: 'viewer' }, 'cli')
      const asked = { as: person, params: paramsOf(route, acme), body: BODIES[name] }

      answers.push(`${name}: ${await world.refusalInHalves(name, asked, demote)}`)
    }

    assert.deepEqual(
      answers.filter((answer) => !answer.endsWith(': 403 role_too_low')),
      [],
    )
  })

  it('G8: change nothing after the session was ended', async () => {
    const answers: string[] = []
    for (const { name, route } of CHANGING) {
      const { owner } = acme
      const as = await world.signIn(owner)
      const end = () => world.console.sessions.end(owner.personId, as.sessionId)
      const asked = { as, params: paramsOf(route, acme), body: BODIES[name] }

      answers.push(`${name}: ${await world.refusalInHalves(name, asked, end)}`)
    }

    assert.deepEqual(
      answers.filter((answer) => !answer.endsWith(': 401 not_signed_in')),
      [],
    )
  })

  it('G8: change nothing in an account from which the person was removed', async () => {
    const person = await world.visitor(acme.account, 'owner')
    const remove = () => world.console.people.removeMember(acme.account, person.personId, 'cli')
    const asked = { as: person, params: { account: acme.account }, body: BODIES.invitePerson }

    assert.equal(await world.refusalInHalves('invitePerson', asked, remove), '404 account_unknown')
  })
})
