import { randomBytes } from 'node:crypto'
import type { AccountId, ConnectionId, MessageId, TokenId } from '../../../src/core/ids.ts'
import { logRequest } from '../administration-world/log-request.ts'
import type { ConsoleWorld } from './console-world.ts'

/**
 * Columns that can hold what a caller wrote, or what a network or a server said about it. `numbers`: viewers do not see phone
 * numbers in them. `never`: no reply shows them.
 */
export const PLANTED = {
  'message.body': 'numbers and texts',
  'message.recipient': 'numbers',
  'message.words': 'numbers',
  'message.retry': 'numbers',
  'message.network_id': 'numbers and texts',
  'request.errors': 'numbers',
  'request.body': 'numbers and texts',
  'attempt.words': 'numbers',
  'open_attempt.words': 'numbers',
  'timeline.words': 'numbers',
  'timeline.facts': 'numbers and texts',
  'media.url': 'numbers and texts',
  'media.words': 'numbers',
  'media.sha256': 'numbers and texts',
  'lane.wait_words': 'numbers',
  'delivery.payload': 'numbers and texts',
  'delivery_try.words': 'numbers',
  'delivery_try.excerpt': 'numbers and texts',
  'channel_memory.value': 'numbers and texts',
  'blocked_recipient.recipient': 'numbers',
  'blocked_recipient.reason': 'numbers and texts',
  'notice.data': 'never',
  'idempotency.key': 'never',
  'channel_session_key.recipient': 'never',
} as const
type Planted = keyof typeof PLANTED

export const columns = Object.keys(PLANTED) as Planted[]

/** A number and a text that occur only in this column. A viewer may see the first and last four digits of the number. */
export function numberIn(column: Planted): string {
  return `4917${String(columns.indexOf(column) + 601)}12345`
}

export function textIn(column: Planted): string {
  return `Dear Anna of ${column}`
}

function mark(column: Planted): string {
  return `${textIn(column)}, ${numberIn(column)}`
}

type Accepted = Awaited<ReturnType<ConsoleWorld['accept']>>

/** Creates one thing of each kind, with a mark in each of the columns. Returns the ids that paths can name. */
export async function plantMarks(
  world: ConsoleWorld,
  account: AccountId,
  connectionId: ConnectionId,
): Promise<string[]> {
  const token = await world.administration.createToken(
    {
      accountId: account,
      name: 'shop',
      events: ['messaging.send_message'],
      expiresAt: world.now + 86_400_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: randomBytes(32),
      prefix: 'AbCd1234',
    },
    'test',
  )
  const settled = await world.accept({ connectionId, type: 'image', state: 'FAILED', reason: 'recipient_refused' })
  const published = await world.accept({ connectionId, state: 'PUBLISHED' })
  const unconfirmed = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
  await plantSettled(world, { settled, published, unconfirmed })
  const { open, deferred } = await plantWaiting(world, account, connectionId)
  await plantRequests(world, { accountId: account, tokenId: token.id, messageId: settled.id })
  await plantMemories(world, { accountId: account, connectionId, settled })
  return [
    ...[
      settled.id,
      published.id,
      unconfirmed.id,
      open.id,
      deferred.id,
      'bad',
      'no-json',
      'swapped',
      'repeat',
      connectionId,
      token.id,
    ],
    ...(await plantWebhook(world, account)),
    ...[`${settled.id}#1`, numberIn('channel_memory.value')],
  ]
}

async function plantSettled(
  world: ConsoleWorld,
  { settled, published, unconfirmed }: Readonly<Record<'settled' | 'published' | 'unconfirmed', Accepted>>,
): Promise<void> {
  await world.database.rewriteMessage(settled.sequence, {
    body: bodyWith('message.body'),
    recipient: numberIn('message.recipient'),
    words: mark('message.words'),
  })
  await world.database.rewriteMessage(published.sequence, {
    recipient: numberIn('message.recipient'),
    network_id: mark('message.network_id'),
  })
  await world.database.rewriteMessage(unconfirmed.sequence, {
    body: bodyWith('message.body'),
    recipient: numberIn('message.recipient'),
    words: mark('message.words'),
  })
  for (const [message, outcome] of [
    [settled, 'rejected'],
    [published, 'accepted'],
  ] as const)
    await world.endAttempt(message.sequence, { outcome, code: 'recipient_refused', words: mark('attempt.words') })
  const facts = { networkId: mark('timeline.facts'), sha256: mark('timeline.facts'), unheardOf: mark('timeline.facts') }
  const report = { kind: 'receipt-failed', code: 'whatsapp_131026', words: mark('timeline.words'), facts }
  await world.writeTimeline(settled.sequence, { at: world.now + 20, ...report })
  await world.run(
    `update media set state = 'failed', ended_at = ?, url = ?, words = ?, sha256 = ?`,
    world.now,
    `https://files.example/${mark('media.url')}.png`,
    mark('media.words'),
    mark('media.sha256'),
  )
}

async function plantWaiting(
  world: ConsoleWorld,
  account: AccountId,
  connectionId: ConnectionId,
): Promise<{ readonly open: Accepted; readonly deferred: Accepted }> {
  const open = await world.accept({ connectionId })
  const deferred = await world.accept({ connectionId })
  const tables =
    world.database.attempts === 'attempt'
      ? { queued: 'message', open: 'open_attempt' }
      : { queued: 'queued', open: 'lane_attempt' }
  await world.run(`update ${tables.queued} set recipient = ?`, numberIn('message.recipient'))
  const wait = { reason: 'retrying', words: mark('message.retry'), until: world.now + 60_000 }
  await world.defer(deferred.sequence, { kind: 'retry', ...wait })
  await world.openAttempt(connectionId, open.sequence, { evidenceUntil: world.now + 60_000 })
  await world.run(`update ${tables.open} set words = ?`, mark('open_attempt.words'))
  const other = await world.connection(account, '15550001001')
  await world.accept({ connectionId: other })
  await world.lane(other, { reason: 'network_away', until: world.now + 60_000, words: mark('lane.wait_words') })
  return { open, deferred }
}

async function plantRequests(
  world: ConsoleWorld,
  { messageId, ...about }: { readonly accountId: AccountId; readonly tokenId: TokenId; readonly messageId: MessageId },
): Promise<void> {
  const errors = (column: Planted) => [{ field: 'to', code: 'number_malformed', message: `Write ${numberIn(column)}.` }]
  await logRequest(world, {
    ...about,
    requestId: 'bad',
    errors: errors('request.errors'),
    body: bodyWith('request.body'),
  })
  await logRequest(world, { ...about, requestId: 'no-json', body: mark('request.body') })
  await logRequest(world, {
    ...about,
    requestId: 'swapped',
    body: JSON.stringify({
      from: numberIn('request.body'),
      to: '15550001000',
      message: { type: 'message', message: 'Hi' },
    }),
  })
  await logRequest(world, {
    ...about,
    requestId: 'sum',
    errors: errors('request.errors'),
    summed: { requests: 3, since: world.now },
  })
  await logRequest(world, { ...about, requestId: 'repeat', messageId })
}

async function plantMemories(
  world: ConsoleWorld,
  { accountId, connectionId, settled }: { accountId: AccountId; connectionId: ConnectionId; settled: Accepted },
): Promise<void> {
  await world.run(
    `insert into idempotency (account_id, key, fingerprint, message_sequence, accepted_at) values (?, ?, '', ?, ?)`,
    accountId,
    mark('idempotency.key'),
    settled.sequence,
    world.now,
  )
  await world.writeSessionKey(connectionId, 'a', numberIn('channel_session_key.recipient'))
  await world.deliver(connectionId, `${settled.id}#1`, {
    to: numberIn('channel_memory.value'),
    type: 'message',
    text: textIn('channel_memory.value'),
    caption: null,
    name: null,
    path: null,
  })
  await world.console.blockLists.block(
    accountId,
    { numbers: [numberIn('blocked_recipient.recipient')], reason: mark('blocked_recipient.reason') },
    { name: 'test' } as never,
  )
}

async function plantWebhook(world: ConsoleWorld, account: AccountId): Promise<string[]> {
  const webhook = { accountId: account, id: 'whk_12345678' }
  const wanted = { ...webhook, url: 'https://shop.example/', description: '', kinds: [], secret: 'sealed' }
  await world.console.webhooks.addWebhook(wanted, 'test')
  const position = await world.console.webhooks.testWebhook(webhook, 'test')
  const facts = (column: Planted) => ({ messageId: 'planted', to: numberIn(column), words: mark(column) })
  await world.run('update notice set data = ?', JSON.stringify(facts('notice.data')))
  await world.run('update delivery set payload = ?', JSON.stringify({ data: facts('delivery.payload') }))
  await world.run(
    `insert into delivery_try (account_id, webhook_id, notice_position, number, at, took_ms, status, code, words, excerpt)
       values (?, ?, ?, 1, ?, 10, 500, 'status_unexpected', ?, ?)`,
    account,
    webhook.id,
    position,
    world.now,
    mark('delivery_try.words'),
    mark('delivery_try.excerpt'),
  )
  return [webhook.id, String(position)]
}

function bodyWith(column: Planted): string {
  const media = { name: `${mark(column)}.png`, url: `https://files.example/${mark(column)}`, caption: mark(column) }
  const message = { type: 'image', media, [mark(column)]: mark(column) }
  return JSON.stringify({ from: numberIn(column), to: numberIn(column), message, extra: Number(numberIn(column)) })
}
