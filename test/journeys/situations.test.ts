import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import type { LogDetail } from '../../src/contract/console/log.ts'
import { DEFAULT_LANE_POLICY, type LanePolicy } from '../../src/core/connection/lane-policy.ts'
import type { TokenEvent } from '../../src/core/token/token.ts'
import { createToken, tokenPrefix } from '../../src/core/token/token-format.ts'
import { ENGINES } from '../support/journey/engines.ts'
import { linesOf, openLog } from '../support/journey/open-log.ts'
import { serveFiles } from '../support/journey/serve-files.ts'
import { type Journey, SENDER } from '../support/journey/start-nuncio.ts'

const TO = '15551234567'
const NO_ACTION = 'You need not do anything.'
const REFUSED = 'Not accepted, so there is no message.'

/** Creates a token. Returns its id and its value. */
async function addToken({ operator }: Journey, name: string, events: readonly TokenEvent[]) {
  const value = createToken(randomBytes)
  const [account] = await operator.administration.listAccounts()
  const { id } = await operator.administration.createToken(
    {
      ...{ accountId: account?.id as never, name, events, expiresAt: Date.now() + 3_600_000, connectionIds: null },
      ...{ sourceRanges: null, sha256: createHash('sha256').update(value).digest(), prefix: tokenPrefix(value) },
    },
    'cli',
  )
  return { id, headers: { 'x-api-key': value } }
}

/** Adds another number of the sandbox. */
async function addNumber({ operator }: Journey, number: string, policy: Partial<LanePolicy> = {}): Promise<string> {
  const [account] = await operator.administration.listAccounts()
  const wanted = { accountId: account?.id as never, number, channel: 'sandbox', channelSettings: {} }
  await operator.administration.addConnection({ ...wanted, policy: { ...DEFAULT_LANE_POLICY, ...policy } }, 'cli')
  return number
}

/** Two times of day in UTC around now. */
function hoursAround(now: number, { before, after }: { readonly before: number; readonly after: number }) {
  const clock = (at: number) => `${new Date(at).toISOString().slice(11, 13)}:00`
  return { from: clock(now - before * 3_600_000), to: clock(now + after * 3_600_000) }
}

/** The page of a refused request: was it sent, why not, and what to do. */
function refusalOf({ sentence, entry, nextSteps }: LogDetail): readonly (string | null)[] {
  return [sentence, entry.errors[0]?.message ?? null, nextSteps[0] ?? null]
}

describe.each(ENGINES)('the page of a request in a running service on $name says', ({ start }) => {
  it('why a request was refused, and what to do (situations 16, 29, 31 and 48)', async () => {
    const nuncio = await start()
    const page = await openLog(nuncio.url, nuncio.operator)
    const { operator } = nuncio
    const refused = async (reply: Awaited<ReturnType<Journey['post']>>) => page(reply.headers.get('x-request-id') ?? '')
    const media = { name: 'a.png', url: 'http://10.1.2.3/a.png' }

    const address = await refused(await nuncio.post({ from: SENDER, to: TO, message: { type: 'image', media } }))
    const stranger = { from: '15550009999', to: TO, message: { type: 'message', message: 'Hi' } }
    const unknown = await refused(await nuncio.post(stranger))
    const bare = await addToken(nuncio, 'bare', [])
    const event = await refused(await nuncio.text(TO, 'Hi', bare.headers))
    await nuncio.text(TO, 'one', { 'idempotency-key': 'order-1' })
    const key = await refused(await nuncio.text(TO, 'two', { 'idempotency-key': 'order-1' }))
    const brief = await addToken(nuncio, 'brief', ['messaging.send_message'])
    await operator.administration.deleteToken(brief.id, null, 'cli')
    const gone = await refused(await nuncio.text(TO, 'Hi', brief.headers))

    assert.deepEqual(refusalOf(address), [
      REFUSED,
      // The address contains the port, which may be any free one.
      'The URL names an address that is not public: use one on the internet. To try it out, use one of our samples in http://127.0.0.1:0/docs/samples/: photo.jpg, invoice.pdf, tour.mp4, hello.wav. Or ask the operator to set NUNCIO_MEDIA_ALLOWED_PRIVATE=10.0.0.0/8 and to restart Nuncio.',
      'Give a public URL. For tests the person who runs Nuncio can allow private addresses.',
    ])
    assert.deepEqual(refusalOf(unknown), [
      REFUSED,
      'The `from` number is not a connection of this account. Add it first, or check the number.',
      null,
    ])
    assert.deepEqual(refusalOf(event), [
      REFUSED,
      'This token does not carry the event Messaging > Send Message. Create a token that does.',
      null,
    ])
    assert.deepEqual(refusalOf(key), [
      REFUSED,
      'This `Idempotency-Key` was used before with a different message. Use a new key for a new message.',
      null,
    ])
    assert.match(
      gone.sentence,
      /^Not accepted, so there is no message\. The token “brief” was deleted by the command line on .+ UTC\. Give the caller a valid token\.$/,
    )
  })

  it('which message a repeat belongs to, and that nothing was queued twice (situation 30)', async () => {
    const nuncio = await start()
    const page = await openLog(nuncio.url, nuncio.operator)
    const headers = { 'idempotency-key': 'order-1' }
    const first = await nuncio.text(TO, 'Hi', headers)
    await nuncio.reaches(first.messageId, 'PUBLISHED')

    const again = await nuncio.text(TO, 'Hi', headers)
    const repeat = await page(again.headers.get('x-request-id') ?? '')

    assert.deepEqual(
      [repeat.note, repeat.entry.outcome, repeat.entry.messageId],
      ['Asked again with the same key, so nothing was queued twice.', 'repeated', first.messageId],
    )
    assert.match(repeat.sentence, /^Sent: the sandbox accepted it .+ after the request\.$/)
  })

  it('whether a message was sent, why not, and what to do (situations 1, 3, 9 and 22)', async () => {
    const host = await serveFiles({})
    const nuncio = await start({ settings: { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' } })
    const page = await openLog(nuncio.url, nuncio.operator)
    const { administration } = nuncio.operator
    const media = { name: 'a.png', url: `${host}/a.png` }

    const refused = await nuncio.text('15550100001', 'Hi')
    await nuncio.reaches(refused.messageId, 'FAILED')
    const broken = await nuncio.text('15550100003', 'Hi')
    await nuncio.reaches(broken.messageId, 'UNCONFIRMED')
    const file = await nuncio.post({ from: SENDER, to: TO, message: { type: 'image', media } })
    await nuncio.reaches(file.messageId, 'FAILED')
    const { id } = await administration.findConnection(SENDER, null)
    await administration.setConnectionState(id, 'paused', 'cli')
    const paused = await nuncio.text(TO, 'Hi')

    assert.deepEqual(linesOf(await page(refused.messageId)), [
      'Not sent.',
      'The sandbox rejects 15550100001 for good.',
      'Check the number, and send a new message to the right one.',
    ])
    assert.deepEqual(linesOf(await page(broken.messageId)), [
      'Nobody knows whether it arrived.',
      '15550100003 is a test number: the connection breaks.',
      'Ask 15550100003. Then choose “It arrived” or “Send again”; if it did arrive, they get it twice.',
    ])
    assert.deepEqual(linesOf(await page(file.messageId)), [
      'Not sent.',
      '127.0.0.1 answered 404 (not found).',
      'Check the URL. If the file is there now, retry.',
    ])
    const [answer, cause, step] = linesOf(await page(paused.messageId))
    assert.deepEqual([answer, step], ['Not sent yet.', `Resume ${SENDER}.`])
    assert.match(cause ?? '', new RegExp(`^The command line paused ${SENDER} at \\d\\d:\\d\\d UTC\\.$`))
  })

  it('what happened at each number that fails on purpose in the sandbox (situations 2 and 4 to 7)', async () => {
    const nuncio = await start()
    const page = await openLog(nuncio.url, nuncio.operator)
    // Each uses its own number, so that none waits for another.
    const read = async (digit: number, state: 'PUBLISHED' | 'FAILED' | 'UNCONFIRMED') => {
      const from = await addNumber(nuncio, `1555000110${digit}`)
      const body = { from, to: `1555010000${digit}`, message: { type: 'message', message: 'Hi' } }
      const { messageId } = await nuncio.post(body)
      // It is PUBLISHED first, and reported as failed later.
      await nuncio.reaches(messageId, state)
      return linesOf(await page(messageId))
    }
    const [busy, gone, slow, away, later] = await Promise.all([
      read(2, 'PUBLISHED'),
      read(4, 'UNCONFIRMED'),
      read(5, 'PUBLISHED'),
      read(6, 'PUBLISHED'),
      read(7, 'FAILED'),
    ])

    assert.match(busy[0] ?? '', /^Sent at the third attempt: the sandbox accepted it .+ after the request\.$/)
    assert.deepEqual(busy.slice(1), ['The sandbox was busy twice.', NO_ACTION])
    assert.deepEqual(gone.slice(0, 2), [
      'Nobody knows whether it arrived.',
      '15550100004 is a test number: the connection breaks.',
    ])
    assert.match(slow[1] ?? '', /^The sandbox took [\d.]+ s to answer\.$/)
    assert.match(away[0] ?? '', /^Sent at the second attempt: the sandbox accepted it \d+ s after the request\.$/)
    assert.match(away[1] ?? '', /^15550001106 could not reach the sandbox for \d+ s\.$/)
    assert.deepEqual(later, [
      'Sent, but not delivered.',
      'The sandbox accepted it and reported later that it failed.',
      'Check the recipient, then retry.',
    ])
  })

  it('why a message waits, was cancelled or expired, and who did it (situations 23 to 28)', async () => {
    const nuncio = await start()
    const page = await openLog(nuncio.url, nuncio.operator)
    const { administration, blockLists } = nuncio.operator
    const send = async (from: string, to = TO) =>
      (await nuncio.post({ from, to, message: { type: 'message', message: 'Hi' } })).messageId
    const read = async (id: string) => linesOf(await page(id))

    const hours = hoursAround(Date.now(), { before: 1, after: 2 })
    const night = await addNumber(nuncio, '15550001201', { quietHours: { ...hours, timeZone: 'UTC' } })
    const quiet = await send(night)
    const slow = await addNumber(nuncio, '15550001202', { leastGapMs: 60_000 })
    const paced = [await send(slow, '15551230001'), await send(slow, '15551230002'), await send(slow, '15551230003')]
    const brief = await addNumber(nuncio, '15550001203', { timeToLiveMs: 1_000 })
    await administration.setConnectionState((await administration.findConnection(brief, null)).id, 'paused', 'anna')
    const late = await send(brief)
    const cancelled = await send(slow)
    await administration.cancelMessage(cancelled as never, 'cli')
    const [account] = await administration.listAccounts()
    await blockLists.block(account?.id as never, { numbers: ['15557778007'], reason: 'asked by phone' }, 'cli')
    const refused = await send(SENDER, '15557778007')
    const doomed = await addNumber(nuncio, '15550001204', { leastGapMs: 60_000 })
    await send(doomed, '15551230001')
    const removed = await send(doomed)
    await administration.removeConnection((await administration.findConnection(doomed, null)).id, true, 'cli')
    await nuncio.reaches(late, 'EXPIRED')
    await nuncio.reaches(refused, 'FAILED')
    await nuncio.reaches(paced[0] ?? '', 'PUBLISHED')

    assert.deepEqual(await read(quiet), [
      'Not sent yet.',
      `${night} sends nothing until ${hours.to} UTC.`,
      'You need not do anything. To send now, change the quiet hours.',
    ])
    const [answer, cause, step] = await read(paced[2] ?? '')
    assert.deepEqual(
      [answer, step],
      ['Not sent yet.', 'You need not do anything. To send faster, lower the least gap.'],
    )
    assert.match(
      cause ?? '',
      /^15550001202 sends one message each 1 min\. 1 message is before it, so it is sent about .+ UTC\.$/,
    )
    assert.match(
      (await read(late)).join(' '),
      new RegExp(
        `^Not sent\\. It waited .+ s, longer than ${brief} lets it: anna had paused ${brief}\\. Retry it if it is still wanted\\.$`,
      ),
    )
    assert.match(
      (await read(cancelled)).join(' '),
      /^Not sent\. The command line cancelled it at .+ Retry it if it is wanted after all\.$/,
    )
    assert.match(
      (await read(refused)).join(' '),
      /^Not sent\. 15557778007 is on the block list: blocked from the command line at .+ UTC \(“asked by phone”\)\. You need not do anything\./,
    )
    assert.match(
      (await read(removed)).join(' '),
      /^Not sent\. The command line removed 15550001204 at .+ UTC and cancelled what waited\. Add 15550001204 again; “Retry” then appears here\.$/,
    )
  })
})
