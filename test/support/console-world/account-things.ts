import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { ConsoleRoute } from '../../../src/contract/console/route.ts'
import type { ConsoleRouteName } from '../../../src/contract/console/routes.ts'
import type { AccountId } from '../../../src/core/ids.ts'
import { logRequest } from '../administration-world/log-request.ts'
import type { ConsoleWorld, Visitor } from './console-world.ts'

const RECIPIENT = '15550100000'

/** For each path parameter that names something of an account, which of the account's things it names. */
const NAMED_IN_PATHS: Readonly<Record<string, ThingName>> = {
  '/connections/:id': 'connection',
  '/tokens/:id': 'token',
  '/phone/:request': 'phoneRequest',
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
/** The bodies that a request needs to pass validation, so that the handler looks up or creates the thing. */
export const BODIES: Partial<Record<ConsoleRouteName, object>> = {
  changeOwnName: { name: 'Carla' },
  changePassword: { password: 'violet tractor napkin orbit' },
  renameAccount: { name: 'Elsewhere' },
  requireSecondFactor: { isRequired: true },
  invitePerson: { email: 'new@example.com', role: 'owner' },
  createToken: {
    name: 'second',
    expiration: '30d',
    expiresAt: null,
    events: ['messaging.send_message'],
    connectionIds: null,
    sourceRanges: null,
  },
  createWebhook: { url: 'https://shop.invalid.com/', description: '', kinds: ['message.failed'] },
  addConnection: { number: '15550003000', channel: 'sandbox', settings: {} },
  changeRetention: { bodiesDays: 7, messagesDays: 30 },
  changeRole: { role: 'viewer' },
  renamePasskey: { name: 'Mine' },
  renameConnection: { name: 'Mine' },
  renameToken: { name: 'mine' },
  rotateToken: { expiration: '30d', expiresAt: null, oldEndsAt: null },
  deleteToken: { name: 'first' },
  requestPhone: { kind: 'qr' },
  changeLane: {
    onUnconfirmed: 'leave',
    timeToLiveMs: 86_400_000,
    leastGapMs: 0,
    gapJitterMs: 0,
    confirmBacklogAfterMs: 0,
    quietHours: null,
  },
  blockRecipient: { number: RECIPIENT, reason: '' },
  noteAttentionSeen: { key: 'messages FAILED', until: 0 },
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

export interface Things {
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
  readonly phoneRequest: string
}

export type ThingName = Exclude<keyof Things, 'owner'>

/** One of each thing that the routes of an account can name. */
export async function makeThings(world: ConsoleWorld, name: string, number: string): Promise<Things> {
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
  const plain = { type: 'message', text: 'Hello', caption: null, name: null, path: null }
  await world.deliver(connectionId, delivery, { to: RECIPIENT, ...plain })
  const phoneRequest = await requestPhone(world, connectionId)
  const invitation = await people.createPersonLink(
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
    phoneRequest,
  }
}

async function requestPhone(world: ConsoleWorld, connectionId: string): Promise<string> {
  const id = `request-of-${connectionId}`
  await world.run(
    `insert into session_request (connection_id, id, kind, requested_by, watched_until, progress, begun)
       values (?, ?, 'qr', 'test', ?, '{"state":"waiting"}', '[]')`,
    connectionId,
    id,
    world.now + 60_000,
  )
  return id
}

export function paramsOf({ path }: ConsoleRoute, things: Things): Record<string, string> {
  const params: Record<string, string> = { account: things.account }
  for (const [part, thing] of Object.entries(NAMED_IN_PATHS)) {
    const name = part.slice(part.indexOf(':') + 1)
    if (`${path}/`.includes(`${part}/`)) params[name] = things[thing]
  }
  for (const [, name = ''] of path.matchAll(/:(\w+)/g)) assert.ok(name in params, `What is :${name} of ${path}?`)
  return params
}
