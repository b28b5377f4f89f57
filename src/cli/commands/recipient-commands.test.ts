import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, it } from 'vitest'
import { logRequest } from '../../../test/support/administration-world/log-request.ts'
import { ENGINES, type EngineName } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import type { AccountId, ConnectionId, TokenId } from '../../core/ids.ts'
import { decideAfterTry } from '../../core/notifications/decide-after-try.ts'
import { createDeliveries } from '../../storage/queries/webhooks/deliveries.ts'

const SENDER = '15550001000'
// What the world accepts goes to this one.
const PERSON = '15550100000'

let world: CliWorld
let accountId: AccountId
let connectionId: ConnectionId
let noted = 0

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  accountId = await world.account()
  connectionId = await world.connection(accountId)
  return close
}

describe.each(ENGINES)('the block list, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('adds numbers, lists them and removes them', async () => {
    const first = await world.cli('recipient', 'block', PERSON, '--reason', 'asked by phone')
    const again = await world.cli('recipient', 'block', PERSON)
    const listed = await world.json('recipient', 'list-blocked')
    const asked = await world.json('recipient', 'list-blocked', '15550199999')
    const freed = await world.cli('recipient', 'unblock', PERSON)

    assert.equal(first.stdout, `Blocked ${PERSON}. Messages to it will not be sent.\n`)
    assert.equal(again.stdout, `${PERSON} was blocked already.\n`)
    assert.deepEqual(listed, [
      { number: PERSON, reason: 'asked by phone', since: '2026-01-15T12:00:00.000Z', by: 'cli' },
    ])
    assert.deepEqual([asked, freed.stdout], [[], `${PERSON} may be written to again.\n`])
    assert.match((await world.cli('recipient', 'unblock', PERSON)).stderr, /recipient_not_blocked/)
    const audit = JSON.stringify(await world.audited('%'))
    assert.match(audit, /recipient\.block.*recipient …00.*recipient\.unblock/)
    assert.doesNotMatch(audit, new RegExp(PERSON))
  })

  it('takes a file whole or not at all, and gives one out that it takes again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nuncio-block-'))
    const path = join(folder, 'stop.csv')
    writeFileSync(path, '\ufeffnumber,why\r\n"15550100001",asked\r\n15550100002;x\r\n\r\n15550100002\r\n')

    const taken = await world.json('recipient', 'block', '--file', path)
    world.input = (await world.cli('recipient', 'list-blocked', '--csv')).stdout
    const again = await world.json('recipient', 'block', '--file', '-')
    world.input = '15550100003\n+1 555 010 0004\n'
    const refused = await world.cli('recipient', 'block', '--file', '-')

    assert.deepEqual(
      [taken, again],
      [
        { blocked: 2, already: 0 },
        { blocked: 0, already: 2 },
      ],
    )
    assert.match(refused.stderr, /Line 2 of standard input: Write this number as 15550100004/)
    assert.equal((await world.json<unknown[]>('recipient', 'list-blocked', '--find', '15550100003')).length, 0)
    rmSync(folder, { recursive: true })
  })

  it('explains how to unblock the recipient of a message that failed for it, and not its sender', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_blocked' })
    const explain = async () => (await world.cli('message', 'explain', id)).stdout
    await world.cli('recipient', 'block', PERSON)
    const blocked = await explain()
    await world.cli('recipient', 'unblock', PERSON)

    const unblocked = await explain()

    assert.match(blocked, new RegExp(`then retry\\. → nuncio recipient unblock ${PERSON}\n`))
    assert.match(
      unblocked,
      new RegExp(`\nWhy: ${PERSON} was on the block list then\\.\n[^]*Retry it if it is still wanted`),
    )
    assert.doesNotMatch(unblocked, /recipient unblock/)
  })

  it.each([
    [['recipient', 'block'], 'argument_invalid'],
    [['recipient', 'block', '+1 555 010 0000'], 'number_malformed'],
    [['recipient', 'block', '--file', '/nowhere/at/all'], 'argument_invalid'],
    [['recipient', 'list-blocked', '--find', 'x'], 'argument_invalid'],
    [['recipient', 'erase', PERSON], 'argument_invalid'],
  ])('refuses %j', async (args, refusal) => {
    assert.match((await world.cli(...args)).stderr, new RegExp(`\\(${refusal}\\)\n$`))
  })
})

describe.each(ENGINES)('everything about one number, on %s', (engine) => {
  beforeEach(() => open(engine))

  async function leaveTraces() {
    const sent = await world.accept({ connectionId, state: 'PUBLISHED', type: 'image' })
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'busy' })
    const other = await world.accept({ connectionId, state: 'PUBLISHED' })
    // A message to another recipient, which must stay as it is.
    await world.database.rewriteMessage(other.sequence, { recipient: '15550199999', body: '{}' })
    await world.writeTimeline(sent.sequence, { at: 1, kind: 'receipt-failed', words: `no such user ${PERSON}` })
    await world.deliver(connectionId, `${sent.id}#1`, { to: PERSON, text: 'Hello' })
    await world.run(
      `insert into channel_memory (kind, connection_id, key, value, at) values ('whatsapp-cloud.window', ?, '15550199999', '', 1)`,
      connectionId,
    )
    for (const number of [PERSON, '15550199999']) await world.writeSessionKey(connectionId, `${number}.0`, number)
    await logRequest(world, {
      accountId,
      tokenId: 'tok' as TokenId,
      requestId: 'req-1',
      errors: [{ field: 'to', code: 'number_malformed', message: `Write this number as ${PERSON}` }],
      body: JSON.stringify({ from: SENDER, to: '+1 555 010-0000', message: { type: 'message', message: 'Hi' } }),
    })
    return { sent, failed, other }
  }

  async function everything(): Promise<string> {
    const tables = [
      'message',
      'timeline',
      'channel_memory',
      'channel_session_key',
      'request',
      'audit',
      'media',
      'blocked_recipient',
      'attempt',
    ]
    const rows = await Promise.all(tables.map((table) => world.all(`select * from ${table}`)))
    return JSON.stringify(rows)
  }

  it('is handed over as one document', async () => {
    const { sent, other } = await leaveTraces()
    await world.cli('recipient', 'block', PERSON)

    const { stdout } = await world.cli('recipient', 'export', PERSON)

    assert.equal((await world.audit()).at(-1), 'recipient.export')

    const document = JSON.parse(stdout) as {
      recipient: string
      items: { of: string; id?: string; acceptedAt?: string; timeline?: unknown[] }[]
    }
    const kinds = Object.groupBy(document.items, ({ of }) => of)
    assert.equal(document.recipient, PERSON)
    assert.deepEqual(
      Object.entries(kinds).map(([of, items]) => `${of} ${items?.length}`),
      ['messages 2', 'requests 1', 'channelMemory 1', 'blocks 1'],
    )
    const exported = kinds['messages']?.find(({ id }) => id === sent.id)
    assert.equal(exported?.timeline?.length, 1)
    assert.match(exported?.acceptedAt ?? '', /^20\d\d-.+Z$/)
    assert.doesNotMatch(stdout, new RegExp(`${other.id}|15550199999`))
  })

  it('is erased: nothing names the person any more, counts and times stay, and others are left alone', async () => {
    await leaveTraces()
    await world.cli('recipient', 'block', PERSON, '--reason', `${PERSON} rang`)
    const before = await world.all('select id, state, reason, accepted_at, settled_at from message order by sequence')
    assert.match(await everything(), /15550100000/)

    const erased = await world.json('recipient', 'erase', PERSON, '--yes')

    const left = await everything()
    assert.deepEqual(erased, { messages: 2, requests: 1, memories: 1, cancelled: 0, unconfirmed: 0 })
    assert.doesNotMatch(left, /15550100000|555 010-0000|no such user|files\.example/)
    assert.match(left, /15550199999/)
    assert.deepEqual(
      await world.all('select id, state, reason, accepted_at, settled_at from message order by sequence'),
      before,
    )
    assert.match(left, /recipient\.erase/)
    const again = await world.json('recipient', 'erase', PERSON, '--yes')
    assert.deepEqual(again, { messages: 0, requests: 0, memories: 0, cancelled: 0, unconfirmed: 0 })
  })

  it('is erased with its files, and with no others, whatever path was written', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nuncio-erase-'))
    world.mediaFolder = join(folder, 'sandbox-media')
    const own = join(world.mediaFolder, 'msg-1')
    const foreign = join(folder, 'msg-2')
    mkdirSync(world.mediaFolder)
    for (const path of [own, foreign]) writeFileSync(path, 'a picture')
    for (const [at, path] of [own, foreign, '/', `${world.mediaFolder}/..`].entries())
      await world.deliver(connectionId, `msg-${at}#1`, { to: PERSON, path })

    const { memories } = await world.json<{ memories: number }>('recipient', 'erase', PERSON, '--yes')

    assert.deepEqual([memories, existsSync(own), existsSync(foreign)], [4, false, true])
    rmSync(folder, { recursive: true })
  })

  it('is erased from sent and pending notifications, though the message was deleted before', async () => {
    const webhook = await world.json<{ id: string }>(...['webhook', 'add', 'https://shop.example.com/hook'])
    const { sequence } = await world.accept({ connectionId })
    const forgotten = await world.accept({ connectionId })
    const words = `no such user ${PERSON}`
    for (const each of [sequence, forgotten.sequence]) await note(each, PERSON, words)
    await note(sequence, '15550199999', 'busy')
    const work = createDeliveries(world.store)
    await work.fanOut()
    const claimed = await work.claimDue({ room: 10, roomForFailing: 5, leaseMs: 60_000 })
    const tries = claimed.map((each) => ({ ...each, at: world.now, tookMs: 1, checked: answer(`not for ${PERSON}`) }))
    await work.record(tries.slice(0, 1))
    await note(sequence, PERSON, words)
    await world.database.rewriteMessage(forgotten.sequence, { recipient: 'erased' })

    await world.json('recipient', 'erase', PERSON, '--yes', '--cancel-waiting')
    // Those that were under way while it was erased come to their end now, too late to be written down.
    await work.record(tries.slice(1, 2))
    await work.fanOut()

    const tables = ['notice', 'delivery', 'delivery_try'].map((table) => world.all(`select * from ${table}`))
    const [notices = [], deliveries = [], tried = []] = await Promise.all(tables)
    assert.doesNotMatch(JSON.stringify([notices, deliveries, tried]), /15550100000|no such user/)
    assert.match(JSON.stringify(deliveries), /15550199999.*busy/)
    assert.deepEqual(
      tried.map(({ excerpt, status }) => [excerpt, status]),
      [[null, 200]],
    )
    world.now += 60_000
    const again = await work.claimDue({ room: 10, roomForFailing: 5, leaseMs: 60_000 })
    assert.ok(again.some(({ notificationId }) => notificationId === claimed[1]?.notificationId))
    assert.ok(again.every(({ webhookId }) => webhookId === webhook.id))
  })

  it('is erased from notices by what they say and not by how they are written, also beside a damaged one', async () => {
    await world.json('webhook', 'add', 'https://shop.example.com/hook')
    const { sequence } = await world.accept({ connectionId })
    // A time that is written with the digits of the number.
    world.now = Number(`${PERSON}123`)
    const acceptedAt = world.now
    for (const to of [PERSON, '15550199999', PERSON]) await note(sequence, to, 'busy')
    await createDeliveries(world.store).fanOut()
    await note(sequence, PERSON, 'busy')
    const third = `(select position from notice order by position limit 1 offset 2)`
    await world.run(`update notice set data = '{"to":"${PERSON}",' where position = ${third}`)
    await world.run(`update delivery set payload = 'to ${PERSON}' where notice_position = ${third}`)

    await world.json('recipient', 'erase', PERSON, '--yes', '--cancel-waiting')

    const notices = await world.all(`select data from notice where kind = 'message.failed' order by position`)
    const payloads = await world.all(`select payload from delivery order by notice_position`)
    const data = notices.map((notice) => JSON.parse(String(notice['data'])) as Record<string, unknown>)
    const posted = payloads.map(
      (each) => JSON.parse(String(each['payload'])) as { readonly data?: Record<string, unknown> },
    )
    assert.deepEqual(
      data.map(({ to, acceptedAt }) => [to, acceptedAt]),
      [
        ['erased', acceptedAt],
        ['15550199999', acceptedAt],
        [undefined, undefined],
        ['erased', acceptedAt],
      ],
    )
    assert.deepEqual(
      posted.map((each) => each.data?.['to']),
      ['erased', '15550199999', undefined],
    )
  })

  const answer = (excerpt: string) =>
    decideAfterTry(
      { kind: 'answered', status: 200, retryAfterMs: null, excerpt },
      { number: 1, now: world.now, jitter: 0.5 },
    )

  /** A notice of a message, as the service writes it. */
  async function note(sequence: number, to: string, words: string) {
    const data = { messageId: `m${sequence}`, connectionId, to, type: 'message', state: 'FAILED', reason: null, words }
    await world.run(
      `insert into notice (id, account_id, kind, at, message_sequence, data, is_new)
         select ?, account_id, 'message.failed', ?, ?, ?, 1 from connection where id = ?`,
      `ntc_${++noted}`,
      world.now,
      sequence,
      JSON.stringify({ ...data, reason: 'busy', acceptedAt: world.now, attempts: 1 }),
      connectionId,
    )
  }

  it('keeps a person who had asked to stop blocked, under a hash that identifies no person', async () => {
    await world.cli('recipient', 'block', PERSON)
    await world.cli('recipient', 'erase', PERSON, '--yes')

    const [found] = await world.json<{ number: string | null }[]>('recipient', 'list-blocked', PERSON)
    const others = await world.json<unknown[]>('recipient', 'list-blocked', '15550199999')

    assert.equal(found?.number, null)
    assert.deepEqual(others, [])
    // What `block --file` could not take again stays out of the CSV.
    assert.equal((await world.cli('recipient', 'list-blocked', '--csv')).stdout, 'number,since,by,reason\n')
    assert.equal((await world.cli('recipient', 'unblock', PERSON)).code, 0)
    assert.deepEqual(await world.json('recipient', 'list-blocked'), [])
  })

  it('is not erased while anything waits, but for who wants that cancelled', async () => {
    await world.accept({ connectionId })

    const refused = await world.cli('recipient', 'erase', PERSON, '--yes')
    const erased = await world.json('recipient', 'erase', PERSON, '--yes', '--cancel-waiting')

    assert.match(refused.stderr, /1 message waits.*--cancel-waiting.*recipient_has_waiting/)
    assert.deepEqual([erased['messages'], erased['cancelled']], [1, 1])
    assert.doesNotMatch(await everything(), /15550100000/)
  })

  it('G5: is erased without counting as cancelled what may have arrived before', async () => {
    const { sequence } = await world.accept({ connectionId })
    await world.accept({ connectionId })
    await world.endAttempt(sequence, { outcome: 'unknown' })

    const { stdout } = await world.cli('recipient', 'erase', PERSON, '--yes', '--cancel-waiting')

    assert.match(stdout, /1 message was cancelled\. 1 message is UNCONFIRMED: an earlier attempt may have arrived\./)
  })

  it('is not sent again once it is erased', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED', reason: 'busy' })
    await world.cli('recipient', 'erase', PERSON, '--yes')

    assert.match((await world.cli('message', 'retry', id)).stderr, /recipient_was_erased/)
    const { stdout } = await world.cli('message', 'explain', id)
    assert.match(stdout, /Recipient erased/)
  })
})
