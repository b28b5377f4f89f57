import assert from 'node:assert/strict'
import { describe, expect, it, onTestFinished } from 'vitest'
import { explainMessage } from '../../src/core/sentences/explain-message.ts'
import { CliOn } from '../support/journey/cli-on.ts'
import { ENGINES, type Engine, settingsOf } from '../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import type { Journey } from '../support/journey/start-nuncio.ts'
import { cloudNumber, connectNumber, NOTICE } from '../support/whatsapp-cloud/connect-number.ts'
import { startSimulator } from '../support/whatsapp-cloud/simulator.ts'
import type { CallbackPlan, Simulator } from '../support/whatsapp-cloud/simulator-types.ts'

const NUMBER = cloudNumber(0)
const TO = '491701234567'
const TEXT = 'Grüße 👩‍👩‍👧 \u202eשלום\u202c\n\ttab <b>&amp;</b> "\\ {{1}}'

const FILES = {
  image: { name: 'picture.png', body: tinyPng(), mime: 'image/png' },
  document: { name: 'Brief für dich.pdf', body: Buffer.from('%PDF-1.4\n%%EOF\n'), mime: 'application/pdf' },
  video: {
    name: 'clip.mp4',
    body: Buffer.concat([
      Buffer.from([0, 0, 0, 24]),
      Buffer.from('ftypisom\0\0\x02\0isomiso2avc1mp41'),
      Buffer.alloc(64),
    ]),
    mime: 'video/mp4',
  },
  audio: {
    name: 'voice.mp3',
    body: Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0\xff\xfb\x90\x64', 'latin1'), Buffer.alloc(413)]),
    mime: 'audio/mpeg',
  },
} as const
const TYPES = ['image', 'document', 'video', 'audio'] as const

describe.each(ENGINES)('the whole path over WhatsApp Cloud on $name', (engine) => {
  it('connects with the command line, sends all five types byte for byte, and shows them READ', async () => {
    const { nuncio, simulator, send } = await openWay(engine)
    const files = Object.values(FILES).map(({ name, body, mime }) => [`/${encodeURI(name)}`, { body, type: mime }])
    const host = await serveFiles(Object.fromEntries(files))
    const media = (type: keyof typeof FILES) => {
      const { name } = FILES[type]
      return { type, media: { name, url: `${host}/${encodeURI(name)}`, caption: 'Sieh an: é 🙂' } }
    }

    const ids = [await send({ type: 'message', message: TEXT })]
    for (const type of TYPES) ids.push(await send(media(type)))
    for (const id of ids) await nuncio.reaches(id, 'READ')

    const [text, ...rest] = simulator.sent
    assert.deepEqual([text?.type, text?.text, text?.to, text?.from], ['text', TEXT, `+${TO}`, NUMBER.number])
    assert.deepEqual(
      rest.map(({ type, text: caption, media: got }) => [type, caption, got?.filename, got?.upload?.mime]),
      TYPES.map((type) => [
        type,
        type === 'audio' ? null : 'Sieh an: é 🙂',
        type === 'document' ? FILES.document.name : null,
        FILES[type].mime,
      ]),
    )
    assert.deepEqual(
      rest.map(({ media: got }) => got?.upload?.bytes),
      TYPES.map((type) => FILES[type].body),
    )
  })

  it('shows the callback URL, which returns the challenge and refuses forged callbacks', async () => {
    const { nuncio, simulator, callBack, send } = await openWay(engine, { forgeSignature: true, giveUpAfterMs: 1 })

    const isRight = await simulator.verifyCallback(NUMBER.phoneNumberId, callBack)
    const id = await send({ type: 'message', message: 'a' })
    await nuncio.reaches(id, 'PUBLISHED')
    await simulator.callbacksIdle()

    assert.equal(isRight, true)
    assert.deepEqual(new Set(simulator.callbackTries.map(({ status }) => status)), new Set([401]))
    assert.equal((await nuncio.timeline(id)).message.state, 'PUBLISHED')
  })

  it('G5 G10: learns from a callback that a message was sent although the answer was lost (situation 43)', async () => {
    const { nuncio, simulator, send } = await openWay(engine, { delayMs: 200 })
    simulator.dropAfterActing({ times: 1 })

    const id = await send({ type: 'message', message: 'once' })
    const { message, timeline } = await nuncio.reaches(id, 'READ')

    assert.equal(message.attempts, 1)
    const [, why, step] = await linesOf(nuncio, id)
    assert.match(
      why ?? '',
      /^The connection to Meta broke during attempt 1\. A report (.+ later )?shows that it has it\.$/,
    )
    assert.equal(step, 'You need not do anything.')
    const kinds = timeline.map(({ kind, code }) => (code === null ? kind : `${kind} ${code}`))
    assert.deepEqual(kinds.slice(0, 5), [
      'accepted',
      'attempt-begun',
      'attempt-unknown',
      'attempt-accepted evidence_found',
      'settled',
    ])
    // Meta reports whole seconds, which may begin before the acceptance.
    assert.deepEqual(
      timeline.filter(({ at }) => at < (timeline[0]?.at ?? 0)),
      [],
    )
    assert.deepEqual(
      simulator.sent.map(({ text }) => text),
      ['once'],
    )
  })

  it('accepts reports that come before the call is answered', async () => {
    const { nuncio, simulator, send } = await openWay(engine, { beforeAnswer: 1 })

    const id = await send({ type: 'message', message: 'quick' })
    await nuncio.reaches(id, 'READ')

    assert.equal(simulator.sent.length, 1)
  })

  it('sends a template to a person who has not written for 24 hours, and text after they write (situation 40)', async () => {
    const { nuncio, simulator, send } = await openWay(engine, {}, { template_text: 'notice:en_US' })
    simulator.closeWindow(TO)

    const first = await send({ type: 'message', message: 'one' })
    await nuncio.reaches(first, 'READ')
    const second = await send({ type: 'message', message: 'two' })
    await nuncio.reaches(second, 'READ')
    const refusals = simulator.requests.filter(({ code }) => code === 131047).length
    simulator.receive({ phoneNumberId: NUMBER.phoneNumberId, from: TO, text: 'Hello' })
    await simulator.callbacksIdle()
    // What the person wrote is applied after the callback was answered.
    await expect
      .poll(async () => {
        await nuncio.reaches(await send({ type: 'message', message: 'three' }), 'READ')
        return simulator.sent.at(-1)?.text
      })
      .toBe('three')

    assert.deepEqual(
      simulator.sent.slice(0, 2).map(({ type, text }) => [type, text]),
      [
        ['template', 'News for you: one'],
        ['template', 'News for you: two'],
      ],
    )
    assert.equal(
      (await linesOf(nuncio, first))[1],
      `Sent as template notice (en_US): ${TO} had not written for 24 hours.`,
    )
    // The second message found the window known as closed.
    assert.equal(refusals, 1)
  })

  it('repeats a message as a linked template after a callback says that its window is closed (situation 41)', async () => {
    const { nuncio, simulator, send } = await openWay(engine, {}, { template_text: 'notice:en_US' })
    simulator.closeWindow(TO, 'by-callback')

    const id = await send({ type: 'message', message: 'held' })
    const failed = await nuncio.reaches(id, 'FAILED')
    await expect.poll(async () => (await nuncio.timeline(id)).resentAs).not.toBeNull()
    const { resentAs } = await nuncio.timeline(id)
    const again = await nuncio.reaches(resentAs ?? '', 'READ')
    await simulator.callbacksIdle()

    assert.equal(failed.message.reason, 'whatsapp_131047')
    assert.equal(again.resendOf, id)
    assert.deepEqual(await linesOf(nuncio, id), [
      'Sent, but not delivered.',
      `${TO} has not written to ${NUMBER.number} for 24 hours, so Meta takes only approved templates. Nuncio sent it again as a template. That message was read.`,
      'You need not do anything here.',
    ])
    assert.deepEqual(
      simulator.sent.map(({ type, text }) => [type, text]),
      [['template', 'News for you: held']],
    )
  })

  it('fails a message that no template can carry, with its reason', async () => {
    const { nuncio, simulator, send } = await openWay(engine, {}, { template_text: 'notice:en_US' })
    simulator.closeWindow(TO)

    const broken = await send({ type: 'message', message: 'two\nlines' })
    const { message } = await nuncio.reaches(broken, 'FAILED')

    assert.equal(message.reason, 'template_cannot_hold_text')
    assert.deepEqual(simulator.sent, [])
  })

  it('makes the lane wait while the credentials are refused, and continues after they are replaced (situation 35)', async () => {
    const { nuncio, simulator, cli, send } = await openWay(engine)
    simulator.changeNumber(NUMBER.phoneNumberId, { accessToken: 'EAAG-another-access-token' })

    const ids = [await send({ type: 'message', message: '1' }), await send({ type: 'message', message: '2' })]
    const reason = async () => (await connectionOf(cli)).reason
    await expect.poll(reason).toBe('whatsapp_190')
    assert.deepEqual(await linesOf(nuncio, ids[0] ?? ''), [
      'Not sent yet, after 1 attempt.',
      'The access token has expired or is not valid.',
      'Enter a valid token of the system user; sending goes on by itself.',
    ])
    const wrong = await cli.run('connection', 'set', NUMBER.number, 'access_token=EAAG-wrong-access-token')
    await cli.json('connection', 'set', NUMBER.number, 'access_token=EAAG-another-access-token')
    for (const id of ids) await nuncio.reaches(id, 'READ')

    assert.notEqual(wrong.code, 0)
    assert.doesNotMatch(wrong.stderr, /EAAG/)
    assert.deepEqual(
      simulator.sent.map(({ text }) => text),
      ['1', '2'],
    )
  })
})

describe('the log says of a message that Meta refuses', () => {
  it('why it failed, and what to do (situations 38a and 39)', async () => {
    const { nuncio, simulator, send } = await openWay(ENGINES[0] as Engine)
    const failed = async () => {
      const id = await send({ type: 'message', message: 'a' })
      await nuncio.reaches(id, 'FAILED')
      return linesOf(nuncio, id)
    }
    simulator.fail({ to: TO, code: 131026, times: 1 })
    const unknown = await failed()
    simulator.closeWindow(TO)
    const silent = await failed()

    assert.deepEqual(unknown, [
      'Not sent.',
      `${TO} is not on WhatsApp, has an old version of it, or has not accepted its terms.`,
      `Check the number, and have ${TO} update WhatsApp; then retry it.`,
    ])
    assert.deepEqual(silent, [
      'Not sent.',
      `${TO} has not written to ${NUMBER.number} for 24 hours, so Meta takes only approved templates.`,
      `Wait until ${TO} writes, or choose a template for such messages in the settings of the connection; then retry it.`,
    ])
  })

  it('that it was sent, and why it did not arrive (situation 42)', async () => {
    const { nuncio, send } = await openWay(ENGINES[0] as Engine, { failLater: { code: 131026, to: TO } })

    const id = await send({ type: 'message', message: 'a' })
    await nuncio.reaches(id, 'FAILED')

    assert.deepEqual(await linesOf(nuncio, id), [
      'Sent, but not delivered.',
      `${TO} is not on WhatsApp, has an old version of it, or has not accepted its terms.`,
      `Check the number, and have ${TO} update WhatsApp; then retry it.`,
    ])
  })

  it('why it waits, and who must act (situations 36 to 38 and 38b)', async () => {
    const { nuncio, simulator, send } = await openWay(ENGINES[0] as Engine)
    const { administration, lanes } = nuncio.operator
    const { id: connection, accountId } = await administration.findConnection(NUMBER.number, null)
    const seen: Record<number, readonly (string | null)[]> = {}
    for (const code of [131042, 131048, 130429, 131056]) {
      simulator.fail({ to: TO, code, times: 1 })
      const id = await send({ type: 'message', message: `${code}` })
      const isWaiting = async () => {
        const { laneWait, message } = await nuncio.timeline(id)
        return laneWait?.reason ?? message.reason
      }
      await expect.poll(isWaiting).toBe(`whatsapp_${code}`)
      seen[code] = await linesOf(nuncio, id)
      if (code === 131042 || code === 131048) await lanes.endWait({ accountId, id: connection }, 'test')
      await nuncio.reaches(id, 'READ', 'DELIVERED', 'PUBLISHED')
    }

    assert.deepEqual(seen, {
      131042: [
        'Not sent yet, after 1 attempt.',
        'Meta sends nothing until a payment problem of the business account is solved.',
        'Fix the payment method in Meta’s Business Settings; sending goes on by itself.',
      ],
      131048: [
        'Not sent yet, after 1 attempt.',
        `Too many recipients blocked or reported ${NUMBER.number}, so Meta limits it.`,
        'Follow what WhatsApp Manager says of the number. Do not retry meanwhile: that makes it worse.',
      ],
      130429: [
        'Not sent yet, after 1 attempt.',
        `${NUMBER.number} sends faster than Meta allows.`,
        'You need not do anything: it is tried again.',
      ],
      131056: [
        'Not sent yet, after 1 attempt.',
        'Too many messages went to this recipient in a short time.',
        'You need not do anything: it is tried again.',
      ],
    })
  })
})

/** The lines of its page: was it sent, why or why not, and what to do. */
async function linesOf(nuncio: Journey, id: string): Promise<readonly (string | null)[]> {
  const { sentence, cause, nextStep } = explainMessage(await nuncio.timeline(id))
  return [sentence, cause, nextStep]
}

interface Way {
  readonly nuncio: Journey
  readonly simulator: Simulator
  readonly cli: CliOn
  /** The URL for callbacks. */
  readonly callBack: string
  /** Sends a message. Returns its id. */
  readonly send: (message: unknown) => Promise<string>
}

/** A service with one connection, and the simulated network behind it. */
async function openWay(
  { start }: Engine,
  plan: Partial<CallbackPlan> = {},
  settings: Readonly<Record<string, string>> = {},
): Promise<Way> {
  const simulator = await startSimulator()
  onTestFinished(() => simulator.close())
  simulator.addTemplate(NUMBER.businessAccountId, NOTICE)
  const network = { NUNCIO_WHATSAPP_CLOUD_URL: simulator.url, NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' }
  const nuncio = await start({ settings: network })
  const cli = new CliOn(nuncio.dataDir, { ...network, ...settingsOf(nuncio) })
  const path = await connectNumber(cli, simulator, { number: NUMBER, settings })
  const callBack = nuncio.url + path
  simulator.deliverCallbacks({ url: callBack, retryMs: 50, ...plan })
  const send = async (message: unknown) => {
    const reply = await nuncio.post({ from: NUMBER.number, to: TO, message })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    return reply.messageId
  }
  return { nuncio, simulator, cli, callBack, send }
}

async function connectionOf(cli: CliOn) {
  const listed = await cli.json<{ number: string; reason: string | null }[]>('connection', 'list')
  const found = listed.find(({ number }) => number === NUMBER.number)
  assert.ok(found)
  return found
}
