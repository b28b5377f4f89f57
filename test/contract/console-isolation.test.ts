import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beforeEach, describe, it } from 'vitest'
import { type ConsoleRoute, ROLES, type Role } from '../../src/contract/console/route.ts'
import { CONSOLE_ROUTES, type ConsoleRouteName } from '../../src/contract/console/routes.ts'
import type { AccountId } from '../../src/core/ids.ts'
import { logRequest } from '../support/administration-world/log-request.ts'
import { ENGINES } from '../support/administration-world/open-administration-world.ts'
import { type Asked, ConsoleWorld, type Visitor } from '../support/console-world/console-world.ts'

const ROUTES = Object.entries(CONSOLE_ROUTES).map(([name, route]) => ({
  name: name as ConsoleRouteName,
  route: route as ConsoleRoute,
}))
const UNSAFE = ROUTES.filter(({ route }) => route.method !== 'GET')
const OF_ACCOUNTS = ROUTES.filter(({ route }) => isRole(route.access))
const RECIPIENT = '15550100000'

/** A part of a path that names something of an account, and which of an account's things it names. */
const NAMED_IN_PATHS: Readonly<Record<string, ThingName>> = {
  '/connections/:id': 'connection',
  '/tokens/:id': 'token',
  '/webhooks/:id': 'webhook',
  '/deliveries/:position': 'position',
  '/log/:id': 'message',
  '/messages/:id': 'message',
  '/people/:id': 'member',
  '/invitations/:id': 'invitation',
  '/sandbox/:connection': 'connection',
  '/deliveries/:key': 'delivery',
  '/media/:message': 'message',
  '/chats/:to': 'recipient',
  '/me/sessions/:id': 'session',
  '/me/passkeys/:id': 'passkey',
}
const NAMED_IN_QUERIES: Readonly<Record<string, ThingName>> = {
  connection: 'connection',
  token: 'token',
  id: 'message',
}

/** What a body must hold for a request to get as far as looking for what it names. */
const BODIES: Partial<Record<ConsoleRouteName, object>> = {
  changeRole: { role: 'viewer' },
  renamePasskey: { name: 'Mine' },
  renameToken: { name: 'mine' },
  rotateToken: { expiration: '30d', expiresAt: null, oldEndsAt: null },
  deleteToken: { name: 'first' },
  changeLane: {
    onUnconfirmed: 'leave',
    headBudgetMs: 3_600_000,
    timeToLiveMs: 86_400_000,
    leastGapMs: 0,
    gapJitterMs: 0,
    confirmBacklogAfterMs: 0,
    quietHours: null,
  },
  blockRecipient: { number: RECIPIENT, reason: '' },
  unblockRecipient: { entry: '15550199999' },
  changeChannelSettings: { settings: {} },
  removeConnection: { cancelWaiting: true },
  cancelWaiting: { upTo: null },
  changeWebhook: { url: 'https://shop.invalid.com/', description: '', kinds: ['message.failed'] },
  setWebhookState: { state: 'disabled' },
  rotateWebhookSecret: { endsEarlier: false },
  replayFailed: { since: 0 },
  resolveMessage: { as: 'arrived' },
}

interface Things {
  readonly account: AccountId
  readonly owner: Visitor
  readonly connection: string
  readonly token: string
  readonly webhook: string
  readonly position: string
  readonly message: string
  readonly member: string
  readonly invitation: string
  readonly delivery: string
  readonly recipient: string
  readonly session: string
  readonly passkey: string
}

type ThingName = Exclude<keyof Things, 'owner'>

let world: ConsoleWorld
let acme: Things
let others: Things

describe.each(ENGINES)('the private API of the console, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    acme = await makeThings('Acme', '15550001000')
    others = await makeThings('Others', '15550002000')
    return close
  })

  it('G8: refuses whoever is not signed in, on every route that is not for anybody', async () => {
    const answers = await askAll(
      ROUTES.filter(({ route }) => route.access !== 'anybody'),
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

  it('G8: answers for an account of others as for one that is not there', async () => {
    const faults: string[] = []
    for (const { name, route } of OF_ACCOUNTS) {
      const params = paramsOf(route, acme)
      const foreign = await world.ask(name, { as: others.owner, params, body: BODIES[name] })
      const unknown = await world.ask(name, {
        as: others.owner,
        params: { ...paramsOf(route, unknownThings()), account: 'acc-nobody' },
        body: BODIES[name],
      })
      if (foreign.status !== 404 || plain(foreign.text) !== plain(unknown.text)) faults.push(`${name}: ${foreign.text}`)
    }

    assert.deepEqual(faults, [])
  })

  it('G8: answers for what belongs to others as for what is not there, and leaves it as it is', async () => {
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

  it('G8: finds nothing by a filter that names what belongs to others', async () => {
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

  it('finds all of it for whoever it belongs to, so that the tests above ask for what is there', async () => {
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

  it('refuses what other sites ask, on every route that changes something', async () => {
    const answers = await askAll(UNSAFE, ({ route }) => ({
      as: acme.owner,
      params: paramsOf(route, acme),
      headers: { 'sec-fetch-site': 'cross-site' },
    }))

    assert.deepEqual(butFor('403 cross_site_request', answers), [])
  })

  it('asks for a fresh proof on every route that wants one', async () => {
    world.now += 6 * 60_000
    const answers = await askAll(
      ROUTES.filter(({ route }) => route.stepUp),
      ({ route }) => ({ as: acme.owner, params: paramsOf(route, acme) }),
    )

    assert.deepEqual(butFor('403 step_up_required', answers), [])
  })

  it('answers every route with nothing but what its contract promises, and no fault', async () => {
    for (const { name, route } of ROUTES.filter(({ route }) => route.method === 'GET' && route.access !== 'anybody')) {
      const response = await world.fetch(name, { as: acme.owner, params: paramsOf(route, acme), query: queryOf(name) })
      assert.ok(response.status < 500, `${name}: ${response.status}`)
      await response.body?.cancel()
    }

    assert.deepEqual(world.faults, [])
  })
})

async function makeThings(name: string, number: string): Promise<Things> {
  const account = await world.account(name)
  const owner = await world.visitor(account)
  const { personId: member } = await world.visitor(account, 'viewer')
  const connectionId = await world.connection(account, number)
  const { people, administration, tokens } = world.console
  await administration.createToken(
    {
      accountId: account,
      name: 'first',
      events: ['messaging.send_message'],
      expiresAt: world.now + 86_400_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: randomBytes(32),
      prefix: `first${name.slice(0, 3)}`,
    },
    'test',
  )
  const [token] = (await tokens.listTokenRows(account, { tab: 'active', after: null })).items
  const { id: message } = await world.accept({ connectionId, state: 'UNCONFIRMED' })
  await logRequest(world, { accountId: account, tokenId: token!.id, requestId: `refused-${name}` })
  const { webhooks } = world.console
  const webhook = { accountId: account, id: `whk_${name.toLowerCase()}1234` }
  const wanted = { ...webhook, url: 'https://shop.example/', description: '', kinds: [], secret: 'sealed' }
  await webhooks.addWebhook(wanted, 'test')
  const position = await webhooks.testWebhook(webhook, 'test')
  const delivery = `${message}#1`
  await world.run(
    `insert into channel_memory (kind, connection_id, key, value, at) values ('sandbox.inbox', ?, ?, ?, ?)`,
    connectionId,
    delivery,
    JSON.stringify({ to: RECIPIENT, type: 'message', text: 'Hello', caption: null, name: null, path: null }),
    world.now,
  )
  const invitation = await people.createLink(
    {
      kind: 'invitation',
      sha256: randomBytes(32),
      personId: null,
      invitation: { accountId: account, role: 'viewer', email: `invited@${name.toLowerCase()}.example` },
    },
    'test',
  )
  await people.addPasskey(
    { personId: owner.personId, keep: owner.sessionId, by: 'test' },
    {
      personId: owner.personId,
      credentialId: `credential-${name}`,
      publicKey: randomBytes(8),
      signCount: 0,
      transports: [],
      name: 'Key',
    },
  )
  const [passkey] = await people.listPasskeys(owner.personId)
  return {
    account,
    owner,
    connection: connectionId,
    token: token!.id,
    webhook: webhook.id,
    position: String(position),
    message,
    member,
    invitation: invitation.id,
    delivery,
    recipient: RECIPIENT,
    session: owner.sessionId,
    passkey: passkey!.id,
  }
}

/** Names of the same look, of things that never were. */
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

function paramsOf({ path }: ConsoleRoute, things: Things): Record<string, string> {
  const params: Record<string, string> = { account: things.account }
  for (const [part, thing] of Object.entries(NAMED_IN_PATHS)) {
    const name = part.slice(part.indexOf(':') + 1)
    if (`${path}/`.includes(`${part}/`)) params[name] = things[thing]
  }
  for (const [, name = ''] of path.matchAll(/:(\w+)/g)) assert.ok(name in params, `What is :${name} of ${path}?`)
  return params
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

/** Without what was asked for itself, and without the time. */
function comparable(text: string, things: Things): string {
  let left = plain(text).replaceAll(/\d{13}/g, 'TIME')
  // A place in a list is a number as others are, and no reply that names another's repeats it.
  for (const [name, value] of Object.entries(things))
    if (typeof value === 'string' && name !== 'position') left = left.replaceAll(value, 'IT')
  return left
}

/** All that the routes could have changed of Acme's. */
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
