import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { type ConsoleRoute, ROLES, type Role } from '../../src/contract/console/route.ts'
import { CONSOLE_ROUTES, type ConsoleRouteName } from '../../src/contract/console/routes.ts'
import { ENGINES } from '../support/administration-world/open-administration-world.ts'
import { BODIES, makeThings, paramsOf, type ThingName, type Things } from '../support/console-world/account-things.ts'
import { type Asked, ConsoleWorld } from '../support/console-world/console-world.ts'

const ROUTES = Object.entries(CONSOLE_ROUTES).map(([name, route]) => ({
  name: name as ConsoleRouteName,
  route: route as ConsoleRoute,
}))
const UNSAFE = ROUTES.filter(({ route }) => route.method !== 'GET')
const OF_ACCOUNTS = ROUTES.filter(({ route }) => isRole(route.access))

const NAMED_IN_QUERIES: Readonly<Record<string, ThingName>> = {
  connection: 'connection',
  token: 'token',
  id: 'message',
}

let world: ConsoleWorld
let acme: Things
let others: Things

describe.each(ENGINES)('the private API of the console, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    acme = await makeThings(world, 'Acme', '15550001000')
    others = await makeThings(world, 'Others', '15550002000')
    return close
  })

  it('G8: refuses requests without a session, on every route that is not public', async () => {
    const answers = await askAll(
      ROUTES.filter(({ route }) => route.access !== 'public'),
      ({ route }) => ({ params: paramsOf(route, acme) }),
    )

    assert.deepEqual(butFor('401 not_signed_in', answers), [])
  })

  it('G8: refuses every role below the one that a route asks for', async () => {
    for (const role of ROLES) {
      const visitor = await world.visitor(acme.account, role)
      const tooHigh = OF_ACCOUNTS.filter(({ route }) => ROLES.indexOf(route.access as Role) > ROLES.indexOf(role))

      const answers = await askAll(tooHigh, ({ route }) => ({ as: visitor, params: paramsOf(route, acme) }))

      assert.deepEqual(butFor('403 role_too_low', answers), [], `as ${role}`)
    }
  })

  it('G8: answers for a foreign account as for a missing one', async () => {
    const faults: string[] = []
    for (const { name, route } of OF_ACCOUNTS) {
      const params = paramsOf(route, acme)
      const foreign = await world.ask(name, { as: others.owner, params, body: BODIES[name] })
      const unknown = await world.ask(name, {
        as: others.owner,
        params: { ...paramsOf(route, unknownThings()), account: 'acc-unknown' },
        body: BODIES[name],
      })
      if (foreign.status !== 404 || plain(foreign.text) !== plain(unknown.text)) faults.push(`${name}: ${foreign.text}`)
    }

    assert.deepEqual(faults, [])
  })

  it('G8: answers for foreign objects as for missing ones, and does not change them', async () => {
    const before = await dump()
    const faults: string[] = []
    for (const { name, route } of ROUTES.filter(({ route }) => namesThings(route))) {
      const ask = (things: Things) =>
        world.ask(name, {
          as: others.owner,
          params: { ...paramsOf(route, things), account: others.account },
          body: BODIES[name],
        })
      const [foreign, unknown] = [await ask(acme), await ask(unknownThings())]
      if (foreign.status !== 404 || comparable(foreign.text, acme) !== comparable(unknown.text, unknownThings()))
        faults.push(`${name}: ${foreign.status} ${foreign.text} but ${unknown.status} ${unknown.text}`)
    }

    assert.deepEqual(faults, [])
    assert.equal(await dump(), before)
  })

  it('G8: finds nothing with a filter that names foreign objects', async () => {
    const faults: string[] = []
    for (const { name, route } of OF_ACCOUNTS.filter(({ route }) => route.method === 'GET')) {
      for (const [key, thing] of Object.entries(NAMED_IN_QUERIES)) {
        if (!(key in shapeOf(route))) continue
        const ask = (value: string) =>
          world.ask(name, {
            as: others.owner,
            params: paramsOf(route, others),
            query: { ...queryOf(name), [key]: value },
          })
        const [foreign, unknown] = [await ask(acme[thing]), await ask(unknownThings()[thing])]
        if (
          foreign.status !== unknown.status ||
          comparable(foreign.text, acme) !== comparable(unknown.text, unknownThings())
        )
          faults.push(`${name} by ${key}: ${foreign.text} but ${unknown.text}`)
      }
    }

    assert.deepEqual(faults, [])
  })

  it('finds all of them for their owner, so that the tests above use existing objects', async () => {
    const faults: string[] = []
    const reading = ROUTES.filter(
      ({ name, route }) => route.method === 'GET' && namesThings(route) && name !== 'readSandboxMedia',
    )
    for (const { name, route } of reading) {
      const { status, text } = await world.ask(name, { as: acme.owner, params: paramsOf(route, acme) })
      if (status !== 200) faults.push(`${name}: ${status} ${text}`)
    }

    assert.deepEqual(faults, [])
  })

  it('refuses requests of other sites on every route that changes something', async () => {
    const answers = await askAll(UNSAFE, ({ route }) => ({
      as: acme.owner,
      params: paramsOf(route, acme),
      headers: { 'sec-fetch-site': 'cross-site' },
    }))

    assert.deepEqual(butFor('403 cross_site_request', answers), [])
  })

  it('requires a recent sign-in on every route that needs one', async () => {
    world.now += 6 * 60_000
    const answers = await askAll(
      ROUTES.filter(({ route }) => route.stepUp),
      ({ route }) => ({ as: acme.owner, params: paramsOf(route, acme) }),
    )

    assert.deepEqual(butFor('403 step_up_required', answers), [])
  })

  it('lets a phone be linked to the end with the sign-in that it was begun with', async () => {
    const params = paramsOf(CONSOLE_ROUTES.watchPhone, acme)
    const watch = () => world.refusal('watchPhone', { as: acme.owner, params })
    const before = world.now
    world.now = before + 6 * 60_000
    const soon = await watch()
    world.now = before + 16 * 60_000
    const late = await watch()

    assert.deepEqual([soon, late], ['409 channel_without_phone', '403 step_up_required'])
  })

  it('answers every route as its contract promises, without a fault', async () => {
    for (const { name, route } of ROUTES.filter(({ route }) => route.method === 'GET' && route.access !== 'public')) {
      const response = await world.fetch(name, { as: acme.owner, params: paramsOf(route, acme), query: queryOf(name) })
      assert.ok(response.status < 500, `${name}: ${response.status}`)
      await response.body?.cancel()
    }

    assert.deepEqual(world.faults, [])
  })
})

/** Names in the same format, of things that never existed. */
function unknownThings(): Things {
  const unknown = Object.entries(acme).map(([key, value]) => [key, typeof value === 'string' ? changed(value) : value])
  return Object.fromEntries(unknown) as Things
}

function changed(id: string): string {
  return id.replaceAll(/[0-9]/g, (digit) => String(9 - Number(digit)))
}

async function askAll(
  routes: typeof ROUTES,
  asked: (given: (typeof ROUTES)[number]) => Asked,
): Promise<readonly (readonly [name: string, answer: string])[]> {
  const answers: (readonly [string, string])[] = []
  for (const given of routes) {
    answers.push([given.name, await world.refusal(given.name, { body: BODIES[given.name], ...asked(given) })])
  }
  return answers
}

function butFor(expected: string, answers: readonly (readonly [string, string])[]): string[] {
  return answers.filter(([, answer]) => answer !== expected).map(([name, answer]) => `${name}: ${answer}`)
}

function isRole(access: string): boolean {
  return ROLES.some((role) => role === access)
}

function namesThings({ path }: ConsoleRoute): boolean {
  return path.replace('/accounts/:account', '').includes(':')
}

function queryOf(name: ConsoleRouteName): Record<string, string> {
  return name === 'exportLog' ? { format: 'ndjson' } : {}
}

function shapeOf({ query }: ConsoleRoute): object {
  return (query as { readonly shape?: object }).shape ?? {}
}

function plain(text: string): string {
  return text.replaceAll(/"requestId":"[^"]*"/g, '')
}

/** The text without the requested ids and without times. */
function comparable(text: string, things: Things): string {
  let left = plain(text).replaceAll(/\d{13}/g, 'TIME')
  // A cursor is a number that may occur elsewhere, and no reply for a foreign one repeats it.
  for (const [name, value] of Object.entries(things))
    if (typeof value === 'string' && name !== 'position') left = left.replaceAll(value, 'IT')
  return left
}

/** All of Acme's data that the routes could have changed. */
async function dump(): Promise<string> {
  const { account, owner } = acme
  const tables = [
    await world.all('select * from connection where account_id = ?', account),
    await world.all('select id, name, deleted_at, expires_at from token where account_id = ?', account),
    await world.all('select id, state, resolved_at, resent_as from message where account_id = ?', account),
    await world.all('select * from webhook where account_id = ?', account),
    await world.all('select * from delivery where account_id = ?', account),
    await world.all('select * from membership where account_id = ? order by person_id', account),
    await world.all('select id, used_at from person_link where account_id = ?', account),
    await world.all('select id, name from passkey where person_id = ?', owner.personId),
    await world.all('select id from session where person_id = ?', owner.personId),
  ]
  return JSON.stringify(tables)
}
