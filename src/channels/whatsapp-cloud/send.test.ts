import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { waitUntil } from '../../../test/support/black-box/wait-until.ts'
import {
  ANY_RECIPIENT,
  FILES,
  failureOf,
  HELLO,
  lastSent,
  openCloudWorld,
} from '../../../test/support/cloud-world/cloud-world.ts'
import type { FaultKind } from '../../../test/support/whatsapp-cloud/simulator-types.ts'
import { NUMBER } from '../../../test/support/whatsapp-cloud/simulator-world.ts'
import type { ConnectionId } from '../../core/ids.ts'
import type { MediaContent } from '../../core/message/message.ts'
import { explainReason } from '../../core/reasons.ts'
import type { NamedTemplates } from './settings.ts'

const PHOTO: MediaContent = { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: 'A view' }
const NOTICE = { name: 'notice', language: 'en_US', bodyVariables: 1 } as const
const DAY_MS = 24 * 3_600_000

describe('what the phone gets', () => {
  it('a text, with the number in full and our own mark beside it', async () => {
    const { handover, send, simulator } = await openCloudWorld()
    const message = handover(HELLO, { attemptNumber: 3 })

    const outcome = await send(message)

    const { body, wamid } = lastSent(simulator)
    assert.deepEqual(outcome, { kind: 'accepted', networkId: wamid })
    assert.deepEqual(body, {
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to: `+${ANY_RECIPIENT}`,
      biz_opaque_callback_data: `${message.messageId}#3#message#${ANY_RECIPIENT}`,
      type: 'text',
      text: { body: 'Hello', preview_url: true },
    })
  })

  it('a text without a preview, where the connection says so', async () => {
    const { handover, send, simulator } = await openCloudWorld({ settings: { linkPreview: false } })

    await send(handover(HELLO))

    assert.deepEqual(lastSent(simulator).body['text'], { body: 'Hello', preview_url: false })
  })

  it.each([
    ['image', FILES.png, 'image/png', 'A view', { caption: 'A view' }],
    ['image', FILES.png, 'image/png', null, {}],
    ['document', FILES.pdf, 'application/pdf', 'A view', { caption: 'A view', filename: 'the file.xyz' }],
    ['video', FILES.mp4, 'video/mp4', 'A view', { caption: 'A view' }],
    ['audio', FILES.ogg, 'audio/ogg', null, {}],
  ] as const)('an attachment: %s', async (...[type, bytes, mime, caption, shown]) => {
    const { handover, spool, sendFile, simulator } = await openCloudWorld()
    const content = { type, name: 'the file.xyz', url: 'https://files.example/', caption }

    const outcome = await sendFile(handover(content, { media: await spool(bytes, mime) }))

    const [upload] = simulator.uploads
    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual(lastSent(simulator).body[type], { id: upload?.id, ...shown })
    assert.deepEqual([upload?.mime, upload?.bytes], [mime, bytes])
  })

  it('a text as long as may be, and nothing of a longer one', async () => {
    const { handover, send, simulator } = await openCloudWorld()

    const outcome = await send(handover({ type: 'message', text: '🙂'.repeat(4_096) }))
    const longer = await send(handover({ type: 'message', text: 'x'.repeat(4_097) }))

    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual([failureOf(longer).class, failureOf(longer).code], ['permanent', 'content_refused'])
    assert.equal(simulator.sent.length, 1)
  })
})

describe('a call that goes wrong', () => {
  it.each<[FaultKind, string, number]>([
    ['drop-before', 'unknown', 0],
    ['drop-after', 'unknown', 1],
    ['half-answer', 'unknown', 1],
    ['no-code', 'unknown', 0],
    ['no-code-after', 'unknown', 1],
    ['garbage', 'unknown', 1],
    ['no-id', 'unknown', 1],
    // Negative control: late is not lost.
    ['slow', 'accepted', 1],
  ])('G5: %s is %s', async (fault, kind, sent) => {
    const { handover, send, simulator } = await openCloudWorld()
    simulator.fault(fault, { times: 1, delayMs: 30 })

    const outcome = await send(handover(HELLO))

    assert.deepEqual([outcome.kind, simulator.sent.length], [kind, sent])
    assert.equal(simulator.requests.filter((request) => request.kind === 'messages').length, 1)
  })

  it.each<[FaultKind, number]>([
    ['hang-before', 0],
    ['hang-after', 1],
  ])('G5: %s is unknown once the call is stopped', async (fault, sent) => {
    const { handover, send, simulator, channel } = await openCloudWorld()
    simulator.fault(fault, { times: 1 })

    const stop = new AbortController()
    const sending = send(handover(HELLO), channel, stop.signal)
    await waitUntil('the call is there', async () => simulator.requests.length === 1, { deadlineMs: 10_000 })
    stop.abort()
    const outcome = await sending

    assert.deepEqual([outcome.kind, simulator.sent.length], ['unknown', sent])
  })

  it('G5: certainly sent nothing, when nothing listens there', async () => {
    const { handover, send } = await openCloudWorld({ baseUrl: 'http://127.0.0.1:1' })

    const { words, ...failure } = failureOf(await send(handover(HELLO)))

    assert.deepEqual(failure, {
      class: 'transient',
      code: 'network_error',
      suspectsNetwork: true,
      retryAfterMs: null,
    })
    assert.match(String(words), /refused the connection/)
  })

  it('G6: sends nothing, and says so, when the claim has gone', async () => {
    const { handover, channel, simulator } = await openCloudWorld()

    const outcome = await channel.send(handover(HELLO), AbortSignal.timeout(5_000), () => false)

    assert.equal(failureOf(outcome).code, 'call_interrupted')
    assert.equal(simulator.requests.length, 0)
  })

  it('waits with the whole lane when the token cannot be opened', async () => {
    const { handover, send, simulator } = await openCloudWorld()

    // A secret opens only for the connection that it was sealed for.
    const failure = failureOf(await send(handover(HELLO, { connectionId: 'another' as ConnectionId })))

    assert.deepEqual([failure.class, failure.code], ['connection', 'secret_unreadable'])
    assert.equal(simulator.requests.length, 0)
  })
})

describe('the window of 24 hours', () => {
  const templates = { text: NOTICE, image: { ...NOTICE, name: 'photo' } }

  it('fails with what to do, when no template is named', async () => {
    const { handover, send, simulator, memory, sender } = await openCloudWorld()
    simulator.closeWindow(ANY_RECIPIENT)

    const failure = failureOf(await send(handover(HELLO)))

    assert.deepEqual([failure.class, failure.code], ['permanent', 'whatsapp_131047'])
    assert.equal(await memory.find('window', sender.connectionId, ANY_RECIPIENT), null)
  })

  it('goes as a template with the next attempt, unaltered, and so do others after it', async () => {
    const world = await openWithTemplates(templates)
    const { handover, send, simulator } = world
    simulator.closeWindow(ANY_RECIPIENT)

    const first = failureOf(await send(handover(HELLO)))
    const second = await send(handover(HELLO, { attemptNumber: 2 }))
    const asTemplate = lastSent(simulator)
    await send(handover({ type: 'message', text: 'And more' }), world.openChannel())

    assert.deepEqual([first.class, first.code, first.retryAfterMs], ['transient', 'whatsapp_131047', 0])
    assert.equal(second.kind, 'accepted')
    assert.deepEqual([asTemplate.type, asTemplate.text], ['template', 'News: Hello'])
    assert.match(String(asTemplate.opaque), /#2#template#\d+$/)
    // Another worker knows it, too, without asking.
    assert.deepEqual([lastSent(simulator).text, simulator.requests.length], ['News: And more', 3])
  })

  it('goes with its attachment as the header of a template', async () => {
    const { handover, spool, sendFile, send, simulator } = await openWithTemplates(templates)
    simulator.closeWindow(ANY_RECIPIENT)
    const media = await spool(FILES.png, 'image/png')

    await sendFile(handover(PHOTO, { media }))
    const second = await send(handover(PHOTO, { media, attemptNumber: 2 }))

    const { text, media: shown } = lastSent(simulator)
    assert.deepEqual([second.kind, text, shown?.upload?.bytes], ['accepted', 'See: A view', FILES.png])
  })

  it.each([
    ['two lines', 'one\ntwo'],
    ['a tab', 'one\ttwo'],
    ['five blanks', 'one     two'],
    ['a text of 1,025 characters', 'x'.repeat(1_025)],
  ])('never alters a text that a template cannot hold: %s', async (_, text) => {
    const { handover, send, simulator } = await openWithTemplates(templates)
    simulator.closeWindow(ANY_RECIPIENT)

    const first = failureOf(await send(handover({ type: 'message', text })))
    const known = failureOf(await send(handover({ type: 'message', text })))

    assert.deepEqual([first.class, first.code], ['permanent', 'template_cannot_hold_text'])
    assert.deepEqual([known.class, known.code], ['permanent', 'template_cannot_hold_text'])
    assert.deepEqual([simulator.sent.length, simulator.requests.length], [0, 1])
  })

  it('never drops a caption that a template has no place for', async () => {
    const { handover, spool, sendFile, simulator } = await openWithTemplates({
      image: { name: 'picture', language: 'en_US', bodyVariables: 0 },
    })
    simulator.closeWindow(ANY_RECIPIENT)

    const outcome = await sendFile(handover(PHOTO, { media: await spool(FILES.png, 'image/png') }))

    assert.deepEqual([failureOf(outcome).code, simulator.sent.length], ['template_without_text', 0])
  })

  it('asks for a caption where the template needs one', async () => {
    const { handover, spool, sendFile, simulator } = await openWithTemplates(templates)
    simulator.closeWindow(ANY_RECIPIENT)

    const outcome = await sendFile(
      handover({ ...PHOTO, caption: null }, { media: await spool(FILES.png, 'image/png') }),
    )

    assert.deepEqual([failureOf(outcome).code, simulator.sent.length], ['template_wants_text', 0])
  })

  it('fails a sound, which no template can carry', async () => {
    const { handover, spool, sendFile, simulator } = await openWithTemplates(templates)
    simulator.closeWindow(ANY_RECIPIENT)
    const content = { type: 'audio', name: 'a.ogg', url: 'https://files.example/', caption: null } as const

    const outcome = await sendFile(handover(content, { media: await spool(FILES.ogg, 'audio/ogg') }))

    assert.deepEqual([failureOf(outcome).class, failureOf(outcome).code], ['permanent', 'template_none_for_audio'])
    assert.match(explainReason(failureOf(outcome).code).nextStep, /wait until the recipient writes/)
  })

  it('is asked about anew after a day, or when the recipient has written', async () => {
    const { handover, send, simulator, clock } = await openWithTemplates(templates)
    simulator.closeWindow(ANY_RECIPIENT)
    await send(handover(HELLO))
    simulator.openWindow(ANY_RECIPIENT)
    await send(handover(HELLO))
    const during = lastSent(simulator).type
    await clock.pass(DAY_MS)

    await send(handover(HELLO))

    assert.deepEqual([during, lastSent(simulator).type], ['template', 'text'])
  })
})

describe('an upload that Meta no longer has', () => {
  it('is made again, when it was one of old', async () => {
    const { handover, spool, sendFile, send, simulator, clock } = await openCloudWorld()
    const media = await spool(FILES.png, 'image/png')
    await sendFile(handover(PHOTO, { media }))
    await clock.pass(2 * 3_600_000)
    simulator.fail({ code: 100, times: 1 })

    const refused = failureOf(await send(handover(PHOTO, { media })))
    const missing = failureOf(await send(handover(PHOTO, { media })))
    const again = await sendFile(handover(PHOTO, { media }))

    assert.deepEqual([refused.class, refused.code, refused.retryAfterMs], ['transient', 'media_not_ready', 0])
    assert.equal(missing.code, 'media_not_ready')
    assert.deepEqual([again.kind, simulator.uploads.length], ['accepted', 2])
  })

  it('fails the message, when it was made for it just now', async () => {
    const { handover, spool, sendFile, simulator } = await openCloudWorld()
    simulator.fail({ code: 100, times: 1 })

    const failure = failureOf(await sendFile(handover(PHOTO, { media: await spool(FILES.png, 'image/png') })))

    assert.deepEqual([failure.class, failure.code], ['permanent', 'whatsapp_100'])
  })
})

async function openWithTemplates(templates: NamedTemplates) {
  const world = await openCloudWorld({ templates })
  const account = NUMBER.businessAccountId
  const language = 'en_US'
  world.simulator.addTemplate(account, { name: 'notice', language, body: 'News: {{1}}' })
  world.simulator.addTemplate(account, { name: 'photo', language, body: 'See: {{1}}', header: 'IMAGE' })
  world.simulator.addTemplate(account, { name: 'picture', language, body: 'A picture', header: 'IMAGE' })
  return world
}
