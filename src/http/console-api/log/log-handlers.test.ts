import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { cameWith, logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { requestAs } from '../../../../test/support/administration-world/request-as.ts'
import { logRoutes } from '../../../contract/console/log.ts'
import type { Role } from '../../../contract/console/route.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import { createApiLog } from '../../../storage/queries/api-log/api-log.ts'
import { createBlockLists } from '../../../storage/queries/recipients/block-lists.ts'
import { logHandlers } from './log-handlers.ts'

const RECIPIENT = '15550100000'

let world: AdministrationWorld
let acme: AccountId
let connectionId: ConnectionId
let shop: TokenId
let handlers: ReturnType<typeof logHandlers>

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  handlers = logHandlers({ store: { apiLog: createApiLog(world.store) }, publicUrl: 'https://nuncio.example' })
  acme = await world.account()
  connectionId = await world.connection(acme)
  shop = await makeToken()
  return close
}

async function makeToken(): Promise<TokenId> {
  const token = await world.administration.createToken(
    {
      accountId: acme,
      name: 'shop',
      events: [],
      expiresAt: NOON + 1_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: Buffer.from('shop'),
      prefix: 'AbCd1234',
    },
    'test',
  )
  return token.id
}

async function list(query: object, role: Role = 'developer') {
  const input = { params: { account: acme }, query: logRoutes.listLog.query.parse(query), body: {} }
  return logRoutes.listLog.reply.parse(await handlers.listLog(input, requestAs(acme, role)))
}

async function show(id: string, role: Role = 'developer') {
  const input = { params: { account: acme, id }, query: {}, body: {} }
  return logRoutes.showLogEntry.reply.parse(await handlers.showLogEntry(input, requestAs(acme, role)))
}

async function take(query: object, role: Role = 'developer') {
  const context = requestAs(acme, role)
  const input = { params: { account: acme }, query: logRoutes.exportLog.query.parse(query), body: {} }
  await handlers.exportLog(input, context)
  return { headers: context.taken.headers, text: await context.taken.text() }
}

describe.each(ENGINES)('the API log in the console, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('shows a refused request with everything that its caller got', async () => {
    const errors = [{ field: 'to', code: 'number_malformed', message: `Write ${RECIPIENT}.` }]
    const body = JSON.stringify({
      from: '15550001000',
      to: '+15550100000',
      message: { type: 'message', message: 'Hi' },
    })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'bad', errors, body })

    const { entry, request, reply, sentence, message } = await show('bad')

    assert.deepEqual([entry.status, entry.name, entry.outcome], [400, 'bad_request_400', 'refused'])
    assert.equal(sentence, 'Not accepted, so there is no message.')
    assert.equal(request?.body, body)
    assert.deepEqual(request?.headers[1], { name: 'x-api-key', value: 'nco_AbCd1234•••' })
    assert.deepEqual(JSON.parse(reply?.body ?? '').data, { errors })
    assert.equal(message, null)
  })

  it('G10: shows how many requests an aggregated entry stands for, and neither a request nor a reply', async () => {
    const summed = { requests: 12_345, since: NOON - 30_000 }
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'sum', summed })

    const { entry, request, reply, sentence } = await show('sum')
    const [listed] = (await list({ view: 'rejected' })).items
    const csv = (await take({ format: 'csv' })).text.trimEnd().split('\r\n')
    const ndjson = JSON.parse((await take({ format: 'ndjson' })).text)

    assert.deepEqual([entry.summed, listed?.summed, ndjson.summed], [summed, summed, summed])
    assert.deepEqual([entry.requestId, entry.tookMs, request, reply], [null, null, null, null])
    assert.match(
      sentence,
      /^12,345 requests were refused like this, and not listed one by one: .* The request has no body\.$/,
    )
    assert.match(csv[0] ?? '', /,requests,requests_since$/)
    assert.match(csv[1] ?? '', /,12345,2026-01-15T11:59:30\.000Z$/)
  })

  it('shows the request as safely quoted curl, without the token', async () => {
    const body = JSON.stringify({ to: `'; rm -rf / #`, text: '$(id) `id` \\' })
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'bad', body })

    const { request } = await show('bad')

    assert.ok(request?.curl?.startsWith('curl https://nuncio.example/chat/api/v1/public/message/send \\\n'))
    assert.ok(request?.curl?.includes('-H "x-api-key: $NUNCIO_TOKEN"'))
    assert.ok(request?.curl?.includes(`--data-raw '${body.replaceAll("'", `'\\''`)}'`))
    assert.ok(!request?.curl?.includes('AbCd1234'))
  })

  it('G10: says of a quarantined message that it was not sent where that is proven, and finds it by these words', async () => {
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'quarantined' })
    const unknown = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'quarantined' })

    const [proven, unproven] = [(await show(failed.id)).message, (await show(unknown.id)).message]
    const listed = async (text: string) => (await list({ text })).items.map(({ reason }) => reason?.meaning)

    const notSent = 'Nuncio stopped three times while sending it; the sandbox showed that it never left.'
    const mayHaveLeft = 'Nuncio stopped three times while sending it, so it is not tried again.'
    assert.deepEqual([proven?.cause, proven?.actions], [notSent, ['retry']])
    assert.match(proven?.nextStep ?? '', /“Retry” tries it again, which may stop Nuncio again\.$/)
    assert.deepEqual([unproven?.cause, unproven?.actions], [mayHaveLeft, ['mark-arrived', 'send-again']])
    assert.match(unproven?.nextStep ?? '', /choose “It arrived” or “Send again”/)
    assert.deepEqual(await listed('Nuncio stopped three times'), [mayHaveLeft, notSent])
  })

  it('G10: calls what waits on a paused number paused, and not what is being sent', async () => {
    const [open, waiting] = [await world.accept({ connectionId }), await world.accept({ connectionId })]
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'again', messageId: open.id })
    await world.openAttempt(connectionId, open.sequence)
    await world.administration.setConnectionState(connectionId, 'paused', 'test')

    const { items } = await list({})

    const shown = new Map(items.map(({ id, state, isPaused }) => [id, `${state} ${isPaused}`]))
    assert.deepEqual(
      [open.id, 'again', waiting.id].map((id) => shown.get(id)),
      ['SENDING false', 'SENDING false', 'QUEUED true'],
    )
  })

  it('shows the timeline of a message, with the next step and the possible actions', async () => {
    const made = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown', type: 'image' })
    await cameWith(world, made.sequence, shop)

    const { entry, sentence, timeline, message, media, reply } = await show(made.id)

    assert.deepEqual([entry.status, entry.state], [200, 'UNCONFIRMED'])
    assert.equal(sentence, 'Nobody knows whether it arrived.')
    assert.match(message?.cause ?? '', /^Its result is unknown, /)
    assert.equal(
      message?.nextStep,
      'Ask 15550100000. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.',
    )
    assert.deepEqual(message?.actions, ['mark-arrived', 'send-again'])
    assert.deepEqual(
      timeline.map(({ title, offsetMs, tone }) => [title, offsetMs, tone]),
      [
        ['Accepted', 0, 'good'],
        ['Finished: nobody knows whether it arrived', 1_000, 'unknown'],
      ],
    )
    assert.equal(media?.name, 'a.png')
    assert.equal(JSON.parse(reply?.body ?? '').data.state, 'QUEUED')
  })

  it('does not claim that a network accepted a message that a person marked as arrived', async () => {
    const made = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    world.now += 7_200_000
    await world.administration.resolveMessage(made.id, 'arrived', 'anna')

    const { sentence } = await show(made.id)
    await world.database.rewriteMessage(made.sequence, { state: 'DELIVERED', reason: null })
    const delivered = await show(made.id)

    assert.equal(sentence, 'anna marked it as arrived at 14:00 UTC.')
    assert.equal(delivered.sentence, 'Sent and delivered.')
  })

  it('shows the reply to a repeat by the state of its message at that time', async () => {
    const made = await world.accept({ connectionId, state: 'FAILED', reason: 'refused_later' })
    const states = ['QUEUED', 'PUBLISHED', 'FAILED']
    for (const state of states) {
      await logRequest(world, { accountId: acme, tokenId: shop, messageId: made.id, requestId: state })
      await world.run('update request set message_state = ? where request_id = ?', state, state)
    }

    const view: unknown[] = []
    for (const state of states) view.push(JSON.parse((await show(state)).reply?.body ?? '').data.state)

    assert.deepEqual(view, ['QUEUED', 'PUBLISHED', 'QUEUED'])
  })

  it('offers no retry of a message whose recipient was erased', async () => {
    const made = await world.accept({ connectionId, state: 'FAILED', reason: 'refused_later' })
    const before = await show(made.id)
    await world.database.rewriteMessage(made.sequence, { recipient: 'erased' })

    const { message } = await show(made.id)

    assert.deepEqual([before.message?.actions, message?.actions], [['retry'], []])
  })

  it('G5: says of what waits to be sent again that the first one has left after all', async () => {
    const old = await world.accept({ connectionId, state: 'FAILED', reason: 'network_error' })
    const copy = await world.administration.retryMessage(old.id, 'anna')
    const before = await show(copy.id)
    await world.database.rewriteMessage(old.sequence, { state: 'PUBLISHED', reason: 'evidence_found' })

    const { message } = await show(copy.id)
    await world.administration.cancelMessage(copy.id, 'anna')
    const after = await show(copy.id)

    assert.deepEqual(
      [message?.cause, message?.nextStep, message?.other],
      ['It repeats a message that has arrived after all.', 'Cancel this one, or the recipient gets both.', old.id],
    )
    for (const view of [before, after]) assert.doesNotMatch(view.message?.cause ?? '', /after all/)
  })

  it('says that a report contradicts what it says', async () => {
    const made = await world.accept({ connectionId, state: 'CANCELLED', reason: 'cancelled_by_person' })
    await world.writeTimeline(made.sequence, { at: NOON + 2_000, kind: 'receipt-contrary' })

    const { sentence, message, timeline } = await show(made.id)

    assert.equal(sentence, 'Not sent.')
    assert.equal(timeline.at(-1)?.tone, 'unknown')
    assert.deepEqual(
      [message?.cause, message?.nextStep],
      [
        'It was cancelled. But the sandbox also reported: another result, at 12:00 UTC.',
        'Ask the recipient before you retry: it may have arrived.',
      ],
    )
  })

  it.each([
    ['channel', 'Made by Nuncio to repeat another message as a template'],
    ['anna@example.org', 'Made by anna@example.org to repeat another message'],
  ])('says that a repeat was made by %s, and shows a network’s cut off time beside ours', async (by, title) => {
    const made = await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON + 250 })
    await world.database.rewriteMessage(made.sequence, { request_id: null })
    await world.writeTimeline(
      made.sequence,
      { at: NOON + 250, kind: 'sent-again', facts: { oldMessage: 'old', by } },
      { at: NOON + 1_000, kind: 'receipt-delivered' },
    )

    const { note, timeline } = await show(made.id)

    assert.equal(note, `${title}.`)
    assert.deepEqual(
      timeline.map(({ title, offsetMs }) => [title, offsetMs]),
      [
        ['Accepted', 0],
        [title, 0],
        ['Finished: sent', 1_000],
        ['Delivered', 1_000],
      ],
    )
    assert.deepEqual(timeline.at(-1)?.facts, [{ name: 'By the network’s clock', value: '2026-01-15 12:00:01 UTC' }])
  })

  it('says that a report confirmed an unknown attempt, without a duration where the network’s clock is behind', async () => {
    const made = await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON + 853 })
    const attempt = { startedAt: NOON + 860, endedAt: NOON + 1_853, code: 'evidence_found' }
    await world.endAttempt(made.sequence, { outcome: 'accepted', ...attempt })
    await world.database.rewriteMessage(made.sequence, { state: 'READ' })
    await world.writeTimeline(
      made.sequence,
      {
        at: NOON + 870,
        kind: 'attempt-unknown',
        words: 'the line broke while it was being handed over',
        facts: { attempt: 1 },
      },
      { at: NOON, kind: 'receipt-read' },
    )

    const { sentence, message, timeline } = await show(made.id)

    assert.equal(sentence, 'Sent and read.')
    assert.equal(message?.cause, 'The connection to the sandbox broke during attempt 1. A report shows that it has it.')
    assert.deepEqual(
      timeline.map(({ kind, offsetMs, words }) => [kind, offsetMs, words]),
      [
        ['accepted', 0, null],
        ['attempt-begun', 7, null],
        ['attempt-unknown', 17, 'the line broke while it was being handed over'],
        ['attempt-accepted', 1_000, null],
        ['settled', 1_000, null],
        ['receipt-read', 1_000, null],
      ],
    )
  })

  it('says that reports are missing for messages sent since the last report, and for none before', async () => {
    const [before, since] = [
      await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON - 5_000 }),
      await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON }),
    ]
    const facts = { number: '15550001000', channel: 'whatsapp-cloud', count: 1, oldestAt: NOON + 1_000 }
    await world.raiseAlarm({ accountId: acme, kind: 'reports_missing', object: connectionId, facts })
    const missing = async (id: string) => {
      const { message } = await show(id)
      return message?.code === 'reports_missing' ? message : null
    }

    assert.equal(await missing(before.id), null)
    assert.match((await missing(since.id))?.cause ?? '', /^Meta has never reported anything for 15550001000, /)
    assert.match((await missing(since.id))?.nextStep ?? '', /^Check the callback address/)
  })

  it('offers the actions of each state', async () => {
    const actions = async (state: string) =>
      (await show((await world.accept({ connectionId, state, reason: 'busy' })).id)).message?.actions

    assert.deepEqual(await actions('QUEUED'), ['cancel'])
    assert.deepEqual(await actions('PUBLISHED'), [])
    for (const state of ['FAILED', 'EXPIRED', 'CANCELLED']) assert.deepEqual(await actions(state), ['retry'])
  })

  it('offers no retry of what would fail again', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })

    const { message } = await show(id)
    await createBlockLists(world.store).block(acme, { numbers: [RECIPIENT], reason: null }, 'test')

    assert.deepEqual([message?.actions, (await show(id)).message?.actions], [[], []])
    assert.match(message?.nextStep ?? '', /send a new message/)
  })

  it('offers to unblock the recipient, and not to send what would fail again', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_blocked' })
    const actions = async () => (await show(id)).message?.actions
    const to = (await show(id)).entry.to ?? ''

    assert.deepEqual(await actions(), ['retry'])
    await createBlockLists(world.store).block(acme, { numbers: [to], reason: null }, 'test')
    assert.deepEqual(await actions(), ['unblock'])
    assert.deepEqual((await show(id, 'viewer')).message?.actions, [])
  })

  it('offers for one that may have arrived only what can be done', async () => {
    const { id } = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    const actions = async () => (await show(id)).message?.actions
    const lists = createBlockLists(world.store)

    assert.deepEqual(await actions(), ['mark-arrived', 'send-again'])
    await lists.block(acme, { numbers: [RECIPIENT], reason: null }, 'test')
    assert.deepEqual(await actions(), ['mark-arrived', 'unblock'])
    await lists.unblock(acme, [RECIPIENT], 'test')
    await world.administration.removeConnection(connectionId, false, 'test')
    assert.deepEqual(await actions(), ['mark-arrived'])
    await world.connection(acme)
    assert.deepEqual(await actions(), ['mark-arrived', 'send-again'])
  })

  it('writes a file with all that the filter finds, page by page, and notes who took it', async () => {
    await world.acceptMany(2_500, connectionId)
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'bad', receivedAt: NOON + 1 })

    const csv = await take({ format: 'csv' })
    const rejected = await take({ format: 'ndjson', view: 'rejected' })

    const lines = csv.text.trimEnd().split('\r\n')
    assert.equal(lines.length, 2_502)
    assert.equal(new Set(lines).size, 2_502)
    assert.equal(csv.headers['content-disposition'], 'attachment; filename="api-log-2026-01-15T12-00-00.csv"')
    assert.equal(rejected.text.trimEnd().split('\n').length, 1)
    assert.deepEqual((await world.audit()).filter((action) => action === 'log.export').length, 2)
  })

  it('notes of a recipient that a file was filtered by no more than the last two digits', async () => {
    await take({ to: RECIPIENT })
    await take({ text: `no account: +${RECIPIENT}` })

    const audit = JSON.stringify(await world.audited('log.export'))
    assert.match(audit, /recipient …00.*no account: recipient …00/)
    assert.doesNotMatch(audit, /1555010/)
  })
})
