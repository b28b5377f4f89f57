import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { cameWith, logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, MessageId, TokenId } from '../../../core/ids.ts'
import { type ApiLog, type LogEntryView, type LogFilter, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import { Refusal } from '../../../core/refusals.ts'
import { createOverview } from '../overview/overview.ts'
import { createApiLog } from './api-log.ts'

let world: AdministrationWorld
let log: ApiLog
let acme: AccountId
let connectionId: ConnectionId
let shop: TokenId

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  log = createApiLog(world.store)
  acme = await world.account()
  connectionId = await world.connection(acme)
  shop = await tokenOf(acme, 'shop')
  return close
}

async function tokenOf(accountId: AccountId, name: string): Promise<TokenId> {
  const token = await world.administration.createToken(
    {
      accountId,
      name,
      events: [],
      expiresAt: NOON + 1_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: Buffer.from(`${accountId} ${name}`),
      prefix: name,
    },
    'test',
  )
  return token.id
}

/** All pages, one after the other. */
async function read(filter: Partial<LogFilter> = {}, limit = 50, accountId = acme): Promise<LogEntryView[]> {
  const entries: LogEntryView[] = []
  let cursor: string | null = null
  do {
    const page = await log.readPage(accountId, { filter: { ...NO_FILTER, ...filter }, cursor, limit })
    assert.ok(page.entries.length <= limit)
    entries.push(...page.entries)
    cursor = page.next
  } while (cursor !== null)
  return entries
}

async function ids(filter: Partial<LogFilter> = {}, limit = 50): Promise<string[]> {
  return (await read(filter, limit)).map(({ id }) => id)
}

/** The newest entries, and how long the longest text is that the database gave for them. */
async function readCounted() {
  const { store, seen } = world.watchStore()
  const { entries } = await createApiLog(store).readPage(acme, { filter: NO_FILTER, cursor: null, limit: 50 })
  return { entries, longest: seen.longest }
}

function rewriteBody(sequence: number, body: object): Promise<void> {
  return world.database.rewriteMessage(sequence, { body: JSON.stringify(body) })
}

function refused(requestId: string, more: Partial<Parameters<typeof logRequest>[1]> = {}) {
  return logRequest(world, { accountId: acme, tokenId: shop, requestId, ...more })
}

function body(fields: { from?: unknown; to?: unknown; type?: unknown }): string {
  return JSON.stringify({ from: fields.from, to: fields.to, message: { type: fields.type } })
}

describe.each(ENGINES)('the API log of the console, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is empty at first', async () => {
    assert.deepEqual(await log.readPage(acme, { filter: NO_FILTER, cursor: null, limit: 50 }), {
      entries: [],
      next: null,
      scannedBackTo: null,
    })
  })

  it('distinguishes accepted, repeated, refused and copied entries, newest first', async () => {
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused', acceptedAt: NOON })
    await cameWith(world, failed.sequence, shop)
    await refused('again', { receivedAt: NOON + 2_000, messageId: failed.id })
    await refused('bad', { receivedAt: NOON + 3_000, body: body({ from: '1', to: '2', type: 'image' }) })
    world.now = NOON + 4_000
    const copy = await world.administration.retryMessage(failed.id, 'test')

    const entries = await read()

    assert.deepEqual(
      entries.map(({ id, requestId, outcome, status, state }) => [id, requestId, outcome, status, state]),
      [
        [copy.id, null, 'copied', null, 'QUEUED'],
        ['bad', 'bad', 'refused', 400, null],
        ['again', 'again', 'repeated', 200, 'FAILED'],
        [failed.id, 'request-1', 'accepted', 200, 'FAILED'],
      ],
    )
    assert.deepEqual(
      entries.map(({ connection, to, type, attempts }) => [connection, to, type, attempts]),
      [
        ['15550001000', '15550100000', 'message', 0],
        ['1', '2', 'image', null],
        ['15550001000', '15550100000', 'message', 0],
        ['15550001000', '15550100000', 'message', 0],
      ],
    )
    assert.deepEqual(entries[1]?.token, { id: shop, name: 'shop', prefix: 'shop', deletedAt: null })
    assert.equal(entries[3]?.reason, 'recipient_refused')
    assert.equal(entries[1]?.errors[0]?.code, 'body_missing')
  })

  it('reads only the beginning of a long body for its preview, and all of it where the beginning does not show enough', async () => {
    const long = 'a long text '.repeat(5_000)
    const kept = { from: '15550001000', to: '15550100000' }
    const accepted = await world.accept({ connectionId, acceptedAt: NOON })
    await rewriteBody(accepted.sequence, { ...kept, message: { type: 'message', message: long } })
    await refused('long', {
      receivedAt: NOON + 1_000,
      body: JSON.stringify({ ...kept, message: { type: 'message', message: long } }),
    })
    await refused('again', { receivedAt: NOON + 2_000, messageId: accepted.id })
    const { entries, longest } = await readCounted()
    const late = await world.accept({ connectionId, acceptedAt: NOON + 3_000 })
    await rewriteBody(late.sequence, { padding: long, ...kept, message: { type: 'message', message: 'Late' } })
    await refused('late', {
      receivedAt: NOON + 4_000,
      body: JSON.stringify({ message: { type: 'image', message: long }, ...kept }),
    })
    const [refusedLate, acceptedLate] = (await readCounted()).entries

    assert.deepEqual(
      entries.map(({ requestId, preview, connection, to, type }) => [requestId, preview, connection, to, type]),
      ['again', 'long', 'request-1'].map((id) => [
        id,
        `${` ${long}`.slice(1, 41).trimEnd()}…`,
        kept.from,
        kept.to,
        'message',
      ]),
    )
    assert.ok(longest < 5_000, `${longest} characters`)
    assert.deepEqual([acceptedLate?.preview, refusedLate?.to, refusedLate?.type], ['Late', kept.to, 'image'])
  })

  it('G11: has neither gaps nor repeats between its pages while requests come in', async () => {
    const expected: string[] = []
    for (let at = 0; at < 40; at++) {
      const when = NOON + at * 10
      if (at % 3 === 0) {
        await refused(`refused-${at}`, { receivedAt: when })
        expected.unshift(`refused-${at}`)
      } else expected.unshift((await world.accept({ connectionId, acceptedAt: when })).id)
    }
    const found: string[] = []
    let cursor: string | null = null
    let more = 0
    do {
      const page = await log.readPage(acme, { filter: NO_FILTER, cursor, limit: 7 })
      found.push(...page.entries.map(({ id }) => id))
      cursor = page.next
      await world.accept({ connectionId, acceptedAt: NOON + 10_000 })
      await refused(`later-${more++}`, { receivedAt: NOON + 10_000 })
    } while (cursor !== null)

    assert.deepEqual(found, expected)
  })

  it('shows nothing of another account, whatever is asked', async () => {
    const beta = await world.account('Beta')
    const theirs = await world.connection(beta, '15550002000')
    const token = await tokenOf(beta, 'theirs')
    const foreign = await world.accept({ connectionId: theirs, state: 'UNCONFIRMED', reason: 'result_unknown' })
    await logRequest(world, { accountId: beta, tokenId: token, requestId: 'foreign' })
    const own = await world.accept({ connectionId })

    assert.deepEqual(await ids(), [own.id])
    for (const view of ['attention', 'failed', 'rejected'] as const) assert.deepEqual(await ids({ view }), [])
    assert.deepEqual(await ids({ state: 'UNCONFIRMED' }), [])
    assert.deepEqual(await ids({ connection: '15550002000' }), [])
    assert.deepEqual(await ids({ tokenIds: [token] }), [])
    assert.deepEqual(await ids({ id: foreign.id }), [])
    const refusals = await Promise.all(
      [foreign.id, 'foreign', 'unknown'].map((id) => refusalOf(log.readEntry(acme, id))),
    )
    assert.deepEqual(
      refusals.map(({ code, message }) => [code, message]),
      Array.from({ length: 3 }, () => [
        'request_unknown',
        'There is no entry with this id in the API log of this account. Requests with no token or an unknown one are in no API log, and entries whose time was over are deleted. An older request that is still kept is found by its id with the search of the list.',
      ]),
    )
  })

  it('finds by what became of the message, one state at a time and by tabs', async () => {
    const states = ['PUBLISHED', 'DELIVERED', 'READ', 'FAILED', 'UNCONFIRMED', 'EXPIRED', 'CANCELLED'] as const
    const made = new Map<string, MessageId>()
    for (const state of states) made.set(state, (await world.accept({ connectionId, state, reason: 'busy' })).id)
    const sending = await world.accept({ connectionId })
    await world.openAttempt(connectionId, sending.sequence)
    made.set('SENDING', sending.id)
    made.set('QUEUED', (await world.accept({ connectionId })).id)
    await refused('bad', { receivedAt: NOON - 5_000 })
    await refused('again', { messageId: made.get('FAILED') as MessageId, receivedAt: NOON - 6_000 })

    for (const [state, id] of made) {
      const expected = state === 'FAILED' ? [id, 'again'] : [id]
      assert.deepEqual(await ids({ state: state as never }), expected, state)
    }
    assert.deepEqual(await ids({ view: 'attention' }), [made.get('UNCONFIRMED')])
    assert.deepEqual(await ids({ view: 'failed' }), [made.get('EXPIRED'), made.get('FAILED')])
    assert.deepEqual(await ids({ view: 'rejected' }), ['bad'])
    await world.administration.resolveMessage(made.get('UNCONFIRMED') as MessageId, 'arrived', 'test')
    assert.deepEqual(await ids({ view: 'attention' }), [])
  })

  it('finds by HTTP status, connection, token, type, recipient and id', async () => {
    const till = await tokenOf(acme, 'till')
    const other = await world.connection(acme, '15550001001')
    const image = await world.accept({ connectionId, type: 'image', acceptedAt: NOON })
    await cameWith(world, image.sequence, till)
    const text = await world.accept({ connectionId: other, acceptedAt: NOON + 1 })
    await cameWith(world, text.sequence, shop)
    await world.database.rewriteMessage(text.sequence, { recipient: '491700000001' })
    const written = body({ from: '15550009999', to: '+491700000001', type: 'video' })
    await refused('404', { status: 404, code: 'HC-5', body: written, receivedAt: NOON + 2_000 })
    await refused('400', { body: 'no JSON at all', receivedAt: NOON + 3_000 })
    await refused('again', { messageId: image.id, receivedAt: NOON + 4_000 })

    assert.deepEqual(await ids({ statuses: { from: 200, to: 299 } }), ['again', text.id, image.id])
    assert.deepEqual(await ids({ statuses: { from: 404, to: 404 } }), ['404'])
    assert.deepEqual(await ids({ statuses: { from: 400, to: 499 } }), ['400', '404'])
    assert.deepEqual(await ids({ connection: '15550001000' }), ['again', image.id])
    assert.deepEqual(await ids({ connection: '15550009999' }), ['404'])
    assert.deepEqual(await ids({ tokenIds: [till] }), [image.id])
    assert.deepEqual(await ids({ type: 'image' }), ['again', image.id])
    assert.deepEqual(await ids({ type: 'video' }), ['404'])
    assert.deepEqual(await ids({ recipient: { digits: '491700000001', isWhole: true } }), ['404', text.id])
    assert.deepEqual(await ids({ recipient: { digits: '49170', isWhole: false } }), ['404', text.id])
    assert.deepEqual(await ids({ recipient: { digits: '49170', isWhole: true } }), [])
    assert.deepEqual(await ids({ id: image.id }), ['again', image.id])
    assert.deepEqual(await ids({ id: 'request-1' }), [image.id])
    assert.deepEqual(await ids({ id: '404' }), ['404'])
  })

  it('finds by time, both ends included', async () => {
    const made: string[] = []
    for (let at = 0; at < 20; at++) {
      made.push((await world.accept({ connectionId, acceptedAt: NOON + at * 3_600_000 })).id)
      await refused(`refused-${at}`, { receivedAt: NOON + at * 3_600_000 + 1_000 })
    }
    const since = NOON + 3 * 3_600_000
    const until = NOON + 5 * 3_600_000

    assert.deepEqual(await ids({ since, until }), [made[5], 'refused-4', made[4], 'refused-3', made[3]])
    assert.deepEqual(await ids({ since, until }, 2), [made[5], 'refused-4', made[4], 'refused-3', made[3]])
    assert.equal((await ids({ since })).length, 34)
    assert.equal((await ids({ until: NOON - 3_600_000 })).length, 0)
  })

  it('finds a text in what was wrong, in any case and with nothing taken for a pattern', async () => {
    const refusedForEver = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    await world.database.rewriteMessage(refusedForEver.sequence, { words: 'Error 131026: 100% undeliverable' })
    const errors = [{ field: 'to', code: 'number_malformed', message: 'Write “to” without spaces: 15550100000.' }]
    await refused('bad', { errors, receivedAt: NOON + 1 })

    const both = (words: string) => ids({ text: words })
    assert.deepEqual(await both('131026'), [refusedForEver.id])
    assert.deepEqual(await both('100% UNDEL'), [refusedForEver.id])
    assert.deepEqual(await both('1__% undel'), [])
    assert.deepEqual(await both('recipient_REFUSED'), [refusedForEver.id])
    assert.deepEqual(await both('rejects the recipient'), [refusedForEver.id])
    assert.deepEqual(await both('without spaces'), ['bad'])
    await world.database.rewriteMessage(refusedForEver.sequence, { words: 'ÜBERTRAGUNG abgelehnt' })
    assert.deepEqual(await both('ÜBERTRAGUNG'), [refusedForEver.id])
    assert.deepEqual(await both('ÜBERTRAGUNG ABGELEHNT'), [refusedForEver.id])
    await world.database.rewriteMessage(refusedForEver.sequence, { words: 'Error 131026: 100% undeliverable' })
    const codes = (words: string) => ids({ text: words, isMasked: true })
    assert.deepEqual(await codes('number_malformed'), ['bad'])
    assert.deepEqual(await codes('15550100000'), [])
    assert.deepEqual(await codes('131026'), [])
  })

  it('finds by the whole code of a reason, and nothing but messages', async () => {
    const one = await world.accept({ connectionId, state: 'FAILED', reason: 'whatsapp_1' })
    await world.accept({ connectionId, state: 'FAILED', reason: 'whatsapp_10' })
    await refused('again', { messageId: one.id })
    await refused('bad', { errors: [{ field: null, code: 'whatsapp_1', message: 'whatsapp_1' }] })

    assert.deepEqual(await ids({ reason: 'whatsapp_1' }), [one.id])
    assert.deepEqual(await ids({ reason: 'whatsapp' }), [])
    assert.deepEqual(await ids({ reason: 'whatsapp_1', view: 'rejected' }), [])
  })

  it('finds just what each figure of the overview counts', async () => {
    const unknown = { state: 'UNCONFIRMED', reason: 'result_unknown' } as const
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    for (const state of ['PUBLISHED', 'DELIVERED', 'READ'] as const) await world.accept({ connectionId, state })
    await world.accept({ connectionId, ...unknown })
    await world.accept({ connectionId, state: 'EXPIRED', reason: 'expired' })
    await world.accept({ connectionId, state: 'CANCELLED', reason: 'cancelled_by_person' })
    const open = await world.accept({ connectionId })
    await world.openAttempt(connectionId, open.sequence)
    await world.accept({ connectionId })
    await world.administration.retryMessage(failed.id, 'test')
    await refused('again', { messageId: failed.id })
    await refused('bad', {})
    const overview = createOverview(world.store)
    const asked = { accountId: acme, connectionId: null, range: '1h', timeZone: null, offsetMinutes: 0 } as const

    const stillFailed = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })

    const { totals, from, waiting } = await overview.readOverview(asked)

    const { accepted, ...tallies } = totals
    const figures = { ...totals, all: accepted + totals.refused }
    for (const result of Object.keys(figures) as (keyof typeof figures)[])
      assert.equal((await ids({ result, since: from })).length, figures[result], result)
    assert.equal((await ids({ result: 'waiting' })).length, waiting.count)
    assert.deepEqual(await ids({ result: 'failed', isOpen: true }), [stillFailed.id])
    assert.deepEqual(
      { accepted, ...tallies },
      { accepted: 11, published: 3, waiting: 3, failed: 2, unconfirmed: 1, expired: 1, cancelled: 1, refused: 1 },
    )
  })

  it('scans a long log in parts, and continues from the cursor', async () => {
    const oldest = await world.accept({ connectionId, type: 'image', acceptedAt: NOON - 1_000 })
    await world.acceptMany(15_000, connectionId)
    const filter = { ...NO_FILTER, type: 'image' as const }

    const first = await log.readPage(acme, { filter, cursor: null, limit: 50 })
    const second = await log.readPage(acme, { filter, cursor: first.next, limit: 50 })

    assert.deepEqual([first.entries, first.scannedBackTo], [[], NOON])
    assert.deepEqual([second.entries.map(({ id }) => id), second.next], [[oldest.id], null])
  })

  it('reads one entry by the id of its message or of its request', async () => {
    const { id } = await world.accept({ connectionId, type: 'image' })
    await refused('again', { messageId: id })
    await refused('bad', { body: '{"to": ' })

    const [byMessage, byRequest, again, bad] = [
      await log.readEntry(acme, id),
      await log.readEntry(acme, 'request-1'),
      await log.readEntry(acme, 'again'),
      await log.readEntry(acme, 'bad'),
    ]

    assert.deepEqual(byRequest, byMessage)
    assert.equal(byMessage.entry.outcome, 'accepted')
    assert.equal(byMessage.message?.timeline[0]?.kind, 'accepted')
    assert.equal(byMessage.connection?.number, '15550001000')
    assert.deepEqual([byMessage.media?.name, byMessage.media?.state], ['a.png', 'pending'])
    assert.deepEqual([again.entry.outcome, again.message?.message.id], ['repeated', id])
    assert.deepEqual([bad.entry.outcome, bad.message, bad.body], ['refused', null, '{"to": '])
  })

  it('refuses an invalid cursor, and records an export in the audit log', async () => {
    const refusal = await refusalOf(log.readPage(acme, { filter: NO_FILTER, cursor: 'nonsense', limit: 50 }))
    await log.noteExport(acme, { format: 'csv', filter: 'state=FAILED' }, 'anna')

    assert.equal(refusal.code, 'argument_invalid')
    assert.ok((await world.audit()).includes('log.export'))
  })
})

async function refusalOf(asked: Promise<unknown>): Promise<Refusal> {
  const error = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  )
  assert.ok(error instanceof Refusal)
  return error
}
