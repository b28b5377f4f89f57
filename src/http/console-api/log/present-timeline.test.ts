import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { type LogDetail, logDetail } from '../../../contract/console/log.ts'
import type { Role } from '../../../contract/console/route.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import { NO_FILTER } from '../../../core/ports/console/api-log.ts'
import { createApiLog } from '../../../storage/queries/api-log/api-log.ts'
import { showTo } from '../mask.ts'
import { presentTimeline } from './present-timeline.ts'

let world: AdministrationWorld
let acme: AccountId
let connectionId: ConnectionId
let shop: TokenId

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  acme = await world.account()
  connectionId = await world.connection(acme)
  const token = { accountId: acme, name: 'shop', events: [], expiresAt: NOON + 1_000, prefix: 'AbCd1234' }
  const bindings = { connectionIds: null, sourceRanges: null, sha256: Buffer.from('shop') }
  shop = (await world.administration.createToken({ ...token, ...bindings }, 'test')).id
  return close
}

async function show(id: string, role: Role = 'developer'): Promise<LogDetail> {
  const timeline = await createApiLog(world.store).readEntry(acme, id)
  return showTo(role, logDetail, presentTimeline(timeline, { publicUrl: 'https://nuncio.example', role }))
}

describe.each(ENGINES)('an entry of the log, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('G10: says who ended the token of a refused request and when, and of one that came before nothing', async () => {
    const refused = { accountId: acme, tokenId: shop, status: 401, code: 'HC-2' }
    const expired = { ...refused, requestId: 'expired', receivedAt: NOON + 1_000 }
    await logRequest(world, { ...refused, requestId: 'before', receivedAt: NOON - 1 })
    await logRequest(world, expired)
    const ofExpired = (await show('expired')).sentence
    await world.administration.deleteToken(shop, acme, 'anna@example.org')
    await logRequest(world, { ...refused, requestId: 'deleted', receivedAt: NOON + 1 })
    await logRequest(world, {
      ...refused,
      requestId: 'sum',
      receivedAt: NOON + 1,
      summed: { requests: 7, since: NOON },
    })

    const [ofBefore, ofDeleted] = [(await show('before')).sentence, (await show('deleted', 'viewer')).sentence]
    const ofSum = (await show('sum')).sentence
    const isDeleted = []
    for (const id of ['before', 'deleted']) isDeleted.push((await show(id)).entry.token?.isDeleted)
    assert.deepEqual(isDeleted, [false, true])

    assert.equal(
      ofExpired,
      'Not accepted, so there is no message. The token “shop” expired on 15 Jan 2026, 12:00:01 UTC. Create a new one, and give it to the caller.',
    )
    const deleted =
      'The token “shop” was deleted by anna@example.org on 15 Jan 2026, 12:00:00 UTC. Give the caller a valid token.'
    assert.equal(ofDeleted, `Not accepted, so there is no message. ${deleted}`)
    assert.ok(ofSum.endsWith(deleted), ofSum)
    assert.equal(ofBefore, 'Not accepted, so there is no message.')
  })

  it('says what to do about each error whose sentence does not say it', async () => {
    const errors = ['event_missing', 'url_has_credentials'].map((code) => ({ field: null, code, message: code }))
    await logRequest(world, { accountId: acme, tokenId: shop, requestId: 'bad', errors })

    assert.deepEqual((await show('bad')).nextSteps, [null, 'Use a link that works without.'])
  })

  it('G10: gives the cause in the list by what was said, as on the page', async () => {
    const { id, sequence } = await world.accept({ connectionId, state: 'FAILED', reason: 'media_status' })
    const words = 'files.example answered 404 (not found).'
    await world.run('update message set words = ? where sequence = ?', words, sequence)

    const { entry, message } = await show(id)

    assert.deepEqual([entry.reason?.list, message?.list], ['File not found (404)', 'File not found (404)'])
  })

  it('names the state of a message in its timeline as its badge does', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })

    const facts = (await show(id)).timeline.flatMap((entry) => entry.facts)

    assert.deepEqual(
      facts.filter(({ name }) => name === 'State'),
      [{ name: 'State', value: 'Failed' }],
    )
  })

  it('G10: says first that a message was sent again, by which actor and with which result, and offers no retry', async () => {
    const old = await world.accept({ connectionId, state: 'FAILED', reason: 'whatsapp_131047' })
    const before = (await show(old.id)).message
    const { id } = await world.administration.retryMessage(old.id, 'anna@example.org')

    const [{ message, entry }, copy] = [await show(old.id), await show(id)]

    assert.deepEqual([before?.other, before?.actions], [null, ['retry']])
    assert.equal(message?.cause?.endsWith('anna@example.org sent it again. That message waits to be sent.'), true)
    assert.deepEqual([message?.nextStep, message?.other], ['You need not do anything here.', id])
    assert.deepEqual([message?.actions, entry.resentBy], [[], 'anna@example.org'])
    assert.deepEqual([copy.entry.madeBy, copy.entry.resentBy], ['anna@example.org', null])
  })

  it('G10: offers to try a message at once that waits for its next try, and names it on those behind it', async () => {
    const [first, second] = [await world.accept({ connectionId }), await world.accept({ connectionId })]
    await world.defer(first.sequence, { kind: 'retry', reason: 'retrying', words: null, until: world.now + 1_000 })

    const [waiting, behind] = [(await show(first.id)).message, (await show(second.id)).message]

    assert.deepEqual([waiting?.actions, behind?.actions], [['retry-now', 'cancel'], ['cancel']])
    assert.deepEqual([waiting?.waitsFor, behind?.waitsFor], [null, first.id])
  })

  it('G10: offers to retry what was cancelled with its connection once its number was added again', async () => {
    const old = await world.accept({ connectionId })
    await world.administration.removeConnection(connectionId, true, 'anna@example.org')
    const removed = (await show(old.id)).message
    await world.connection(acme)

    const { message } = await show(old.id)

    assert.deepEqual([removed?.actions, message?.actions], [[], ['retry']])
    assert.match(removed?.nextStep ?? '', /^Add 15550001000 again; “Retry” then appears here\.$/)
    assert.equal(message?.nextStep, 'Retry it if it is still wanted.')
  })

  it('says in the list and on its page how long a message took, both from its acceptance on', async () => {
    const { id, sequence } = await world.accept({ connectionId, state: 'PUBLISHED', acceptedAt: NOON })
    await world.database.rewriteMessage(sequence, { published_at: NOON + 300, took_us: 200_000, attempts: 1 })
    await world.endAttempt(sequence, { outcome: 'accepted', startedAt: NOON + 250, endedAt: NOON + 300 })

    const { sentence: page, timeline } = await show(id)
    const [row] = (await createApiLog(world.store).readPage(acme, { filter: NO_FILTER, cursor: null, limit: 1 }))
      .entries

    assert.match(page, / 300 ms after the request\.$/)
    assert.equal(row?.sentAfterMs, 300)
    assert.equal(timeline.find(({ kind }) => kind === 'attempt-accepted')?.offsetMs, 300)
  })

  it('says that Nuncio stopped during an attempt', async () => {
    const made = await world.accept({ connectionId, state: 'PUBLISHED' })
    await world.writeTimeline(made.sequence, { at: NOON + 2_000, kind: 'recovered', facts: { attempt: 1 } })
    const attempt = { startedAt: NOON + 1_000, endedAt: NOON + 2_100, code: 'evidence_not_sent' }
    await world.endAttempt(made.sequence, { outcome: 'rejected', ...attempt })

    const { message, timeline } = await show(made.id)

    assert.equal(
      message?.cause,
      'Nuncio stopped during attempt 1. The sandbox showed that it had not left, so it was sent again.',
    )
    // Its end was written by the process that came after.
    assert.deepEqual(timeline.find(({ kind }) => kind === 'attempt-rejected')?.facts, [])
  })
})
