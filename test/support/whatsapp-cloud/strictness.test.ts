import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { beforeEach, describe, it } from 'vitest'
import { callGraph, NUMBER, openSimulator, PNG, textTo, uploadTo, type World } from './simulator-world.ts'

const TO = '+49 170 1234567'
const image = (part: unknown) => ({ messaging_product: 'whatsapp', to: TO, type: 'image', image: part })
const template = (part: unknown) => ({ messaging_product: 'whatsapp', to: TO, type: 'template', template: part })
const notice = (...parameters: unknown[]) =>
  template({ name: 'notice', language: { code: 'en_US' }, components: [{ type: 'body', parameters }] })
const word = (text: string) => ({ type: 'text', text })

/** What the published pages refuse, each with the code that they name. */
const REFUSED: readonly [why: string, body: unknown, code: number][] = [
  ['no messaging_product', { to: TO, text: { body: 'a' } }, 100],
  ['another messaging_product', { messaging_product: 'sms', to: TO, text: { body: 'a' } }, 100],
  ['a group', { ...textTo(TO), recipient_type: 'group' }, 100],
  ['no recipient', { messaging_product: 'whatsapp', type: 'text', text: { body: 'a' } }, 100],
  ['a recipient that is a number', { ...textTo(TO), to: 491701234567 }, 100],
  ['a recipient without +', textTo('491701234567'), 131009],
  ['a recipient without country code', textTo('+0170 1234567'), 131009],
  ['a recipient with letters', textTo('+49 170 CALLME1'), 131009],
  ['the sender itself', textTo(`+${NUMBER.number}`), 131021],
  ['an unknown type', { ...textTo(TO), type: 'message' }, 131051],
  ['no object named like the type', { messaging_product: 'whatsapp', to: TO, type: 'text' }, 131008],
  ['an object that is a text', { messaging_product: 'whatsapp', to: TO, type: 'text', text: 'a' }, 131009],
  ['an object of another type', { ...textTo(TO), image: { id: '1' } }, 100],
  ['no text', { ...textTo(TO), text: {} }, 100],
  ['an empty text', textTo(TO, ''), 100],
  ['a text of 4,097 characters', textTo(TO, '🙂'.repeat(4_097)), 100],
  ['a preview that is a text', { ...textTo(TO), text: { body: 'a', preview_url: 'true' } }, 100],
  ['a field of text that no page names', { ...textTo(TO), text: { body: 'a', caption: 'b' } }, 100],
  ['a reference of 513 characters', { ...textTo(TO), biz_opaque_callback_data: 'x'.repeat(513) }, 100],
  ['a reference that is an object', { ...textTo(TO), biz_opaque_callback_data: { id: 1 } }, 100],
  ['an answer to nothing', { ...textTo(TO), context: {} }, 100],
  ['media without id and link', image({ caption: 'a' }), 131008],
  ['media with id and link', image({ id: '1', link: 'https://a.example/b.png' }), 131009],
  ['media by an id of no upload', image({ id: '123' }), 100],
  ['media by a link that is none', image({ link: 'a.png' }), 100],
  ['a caption of 1,025 characters', image({ link: 'https://a.example/b.png', caption: 'é'.repeat(1_025) }), 100],
  ['a file name of an image', image({ link: 'https://a.example/b.png', filename: 'b.png' }), 100],
  ['a caption of audio', mediaByLink('audio', { caption: 'a' }), 100],
  ['a file name of audio', mediaByLink('audio', { filename: 'a.ogg' }), 100],
  ['a file name of a video', mediaByLink('video', { filename: 'a.mp4' }), 100],
  ['a template without name', template({ language: { code: 'en_US' } }), 100],
  ['a template without language', template({ name: 'notice' }), 131008],
  ['a template that does not exist', template({ name: 'nothing', language: { code: 'en_US' } }), 132001],
  ['a template in another language', template({ name: 'notice', language: { code: 'en' } }), 132001],
  ['a template with a parameter too few', notice(), 132000],
  ['a template with a parameter too many', notice(word('a'), word('b')), 132000],
  ['a template with another kind of parameter', notice({ type: 'image', image: { id: '1' } }), 132012],
  ['a line break in a parameter', notice(word('a\nb')), 132018],
  ['a tab in a parameter', notice(word('a\tb')), 132018],
  ['five spaces in a parameter', notice(word('a     b')), 132018],
  ['a parameter of 1,025 characters', notice(word('x'.repeat(1_025))), 132005],
  ['an empty parameter', notice(word('')), 100],
  ['no header where there must be one', template({ name: 'letter', language: { code: 'de' } }), 132012],
  ['a paused template', template({ name: 'paused', language: { code: 'de' } }), 132015],
  ['a disabled template', template({ name: 'disabled', language: { code: 'de' } }), 132016],
  ['a template in review', template({ name: 'pending', language: { code: 'de' } }), 132001],
]

function mediaByLink(type: string, more: Readonly<Record<string, unknown>>) {
  return { messaging_product: 'whatsapp', to: TO, type, [type]: { link: 'https://a.example/b', ...more } }
}

describe('the simulated Cloud API is as strict as the published one', () => {
  let world: World
  const send = (body: unknown) => callGraph(world.simulator.url, `/v26.0/${NUMBER.phoneNumberId}/messages`, { body })

  beforeEach(async () => {
    world = await openSimulator()
    const { simulator } = world
    const of = NUMBER.businessAccountId
    simulator.addTemplate(of, { name: 'notice', language: 'en_US', body: 'News: {{1}}' })
    simulator.addTemplate(of, { name: 'letter', language: 'de', body: 'Ein Brief', header: 'DOCUMENT' })
    simulator.addTemplate(of, { name: 'paused', language: 'de', body: 'a', status: 'PAUSED' })
    simulator.addTemplate(of, { name: 'disabled', language: 'de', body: 'a', status: 'DISABLED' })
    simulator.addTemplate(of, { name: 'pending', language: 'de', body: 'a', status: 'PENDING' })
  })

  it.each(REFUSED)('refuses %s', async (_, body, code) => {
    const { error } = (await send(body)).body

    assert.equal(error?.code, code, JSON.stringify(error))
    assert.equal(error?.type, 'OAuthException')
    assert.ok(error?.fbtrace_id)
    assert.deepEqual(world.simulator.sent, [])
  })

  it.each([
    ['4,096 characters', textTo(TO, '🙂'.repeat(4_096))],
    ['a reference of 512 characters', { ...textTo(TO), biz_opaque_callback_data: 'x'.repeat(512) }],
    ['spaces, brackets and dashes in the recipient', textTo('+1 (650) 555-1234')],
    ['a link', mediaByLink('video', { caption: 'a' })],
    ['four spaces in a parameter', notice(word('a    b'))],
  ])('takes %s', async (_, body) => {
    const answer = await send(body)

    assert.equal(answer.status, 200, JSON.stringify(answer.body))
    assert.equal(world.simulator.sent.length, 1)
  })

  it('refuses wrong tokens, and tokens of another number', async () => {
    const { simulator } = world
    simulator.addNumber({ ...NUMBER, phoneNumberId: '1002', number: '15550001002', accessToken: 'token-of-another' })
    const path = `/v26.0/${NUMBER.phoneNumberId}/messages`
    const body = textTo(TO)

    const without = await callGraph(simulator.url, path, { body, token: null })
    const wrong = await callGraph(simulator.url, path, { body, token: 'wrong' })
    const foreign = await callGraph(simulator.url, path, { body, token: 'token-of-another' })
    const unknown = await callGraph(simulator.url, '/v26.0/4711/messages', { body })
    simulator.changeNumber(NUMBER.phoneNumberId, { isGone: true })
    const gone = await callGraph(simulator.url, path, { body })

    assert.deepEqual([without, wrong].map(codes), [
      [401, 190, undefined],
      [401, 190, undefined],
    ])
    for (const answer of [foreign, unknown, gone]) assert.deepEqual(codes(answer), [400, 100, 33])
  })

  it('refuses a proof of another app secret', async () => {
    const path = (secret: string) => {
      const proof = createHmac('sha256', secret).update(NUMBER.accessToken).digest('hex')
      return `/v26.0/${NUMBER.phoneNumberId}?fields=id&appsecret_proof=${proof}`
    }

    const right = await callGraph(world.simulator.url, path(NUMBER.appSecret))
    const wrong = await callGraph(world.simulator.url, path('another'))

    assert.deepEqual([right.status, wrong.body.error?.code], [200, 100])
  })

  it('refuses versions that have ended or do not exist yet', async () => {
    for (const version of ['v20.0', 'v27.0']) {
      const answer = await callGraph(world.simulator.url, `/${version}/${NUMBER.phoneNumberId}/messages`, {
        body: textTo(TO),
      })
      assert.equal(answer.body.error?.code, 2500)
    }
  })

  it('refuses media that belong to another number, have expired, were deleted, or are of another kind', async () => {
    const { simulator, clock } = world
    simulator.addNumber({ ...NUMBER, phoneNumberId: '1002', number: '15550001002' })
    const upload = async (of: string) => (await uploadTo(simulator.url, of, { bytes: PNG, mime: 'image/png' })).body.id
    const [own, foreign, deleted] = [
      await upload(NUMBER.phoneNumberId),
      await upload('1002'),
      await upload(NUMBER.phoneNumberId),
    ]
    await callGraph(simulator.url, `/v26.0/${deleted}`, { method: 'DELETE' })
    const codeOf = async (body: unknown) => (await send(body)).body.error?.code ?? 'taken'

    const found = {
      own: await codeOf(image({ id: own })),
      foreign: await codeOf(image({ id: foreign })),
      deleted: await codeOf(image({ id: deleted })),
      video: await codeOf({ messaging_product: 'whatsapp', to: TO, type: 'video', video: { id: own } }),
    }
    clock.ms += 30 * 24 * 3_600_000 + 1
    const expired = await codeOf(image({ id: own }))

    assert.deepEqual({ ...found, expired }, { own: 'taken', foreign: 100, deleted: 100, video: 131053, expired: 100 })
  })

  it.each([
    ['nothing of that kind', { bytes: PNG, mime: 'image/gif' }, 100],
    ['an empty file', { bytes: Buffer.alloc(0), mime: 'image/png' }, 100],
    [
      'a picture of more than 5 MB',
      { bytes: Buffer.concat([PNG, Buffer.alloc(5_000_000)]), mime: 'image/png' },
      131053,
    ],
    ['a name that lies about the content', { bytes: PNG, mime: 'image/jpeg' }, 131053],
    ['Ogg that is not Opus', { bytes: Buffer.from('OggS but not that'), mime: 'audio/ogg' }, 131053],
  ])('refuses an upload: %s', async (_, file, code) => {
    const answer = await uploadTo(world.simulator.url, NUMBER.phoneNumberId, file)

    assert.equal(answer.body.error?.code, code)
    assert.deepEqual(world.simulator.uploads, [])
  })

  it('keeps uploads and messages byte for byte', async () => {
    const { simulator } = world
    const { id } = (await uploadTo(simulator.url, NUMBER.phoneNumberId, { bytes: PNG, mime: 'image/png' })).body
    const caption = 'é 🙂 "\\ \n שלום'

    await send(image({ id, caption }))
    await send(notice(word('é')))

    const [first, second] = simulator.sent
    assert.deepEqual(first?.media?.upload?.bytes, PNG)
    assert.deepEqual([first?.text, second?.text], [caption, 'News: é'])
    const { body } = await callGraph(simulator.url, `/v26.0/${id}`)
    assert.deepEqual([body['mime_type'], body['file_size']], ['image/png', PNG.length])
  })

  it('accepts a burst of 45 messages to one person, then one every six seconds', async () => {
    const { clock } = world
    const codeOf = async () => (await send(textTo(TO))).body.error?.code ?? 'taken'
    for (let sent = 0; sent < 45; sent += 1) assert.equal(await codeOf(), 'taken')

    const [over, other] = [await codeOf(), (await send(textTo('+491709999999'))).status]
    clock.ms += 5_999
    const tooEarly = await codeOf()
    clock.ms += 1
    const inTime = await codeOf()

    assert.deepEqual([over, other, tooEarly, inTime], [131056, 200, 131056, 'taken'])
  })

  it('accepts as many messages in a second as the limit of the number allows', async () => {
    world.simulator.changeNumber(NUMBER.phoneNumberId, { throughputPerSecond: 20 })
    const codeOf = async (place: number) =>
      (await send(textTo(`+4917012345${String(place).padStart(2, '0')}`))).body.error?.code ?? 'taken'
    for (let sent = 0; sent < 20; sent += 1) assert.equal(await codeOf(sent), 'taken')

    const over = await codeOf(20)
    world.clock.ms += 1_000
    const later = await codeOf(21)

    assert.deepEqual([over, later], [130429, 'taken'])
  })

  it('accepts only templates when the window is closed', async () => {
    world.simulator.closeWindow(TO)

    const free = await send(textTo(TO))
    const approved = await send(notice(word('a')))
    world.simulator.receive({ phoneNumberId: NUMBER.phoneNumberId, from: TO, text: 'Hello' })
    const again = await send(textTo(TO))

    assert.deepEqual([free.body.error?.code, approved.status, again.status], [131047, 200, 200])
  })

  it('describes numbers, and lists templates page by page', async () => {
    const { url } = world.simulator
    const path = `/v26.0/${NUMBER.phoneNumberId}?fields=`

    const number = await callGraph(url, `${path}id,display_phone_number,quality_rating,throughput`)
    const unknown = await callGraph(url, `${path}colour`)
    const names: string[] = []
    let next: string | undefined = `/v26.0/${NUMBER.businessAccountId}/message_templates?limit=2&fields=name`
    while (next !== undefined) {
      const { body } = await callGraph(url, next)
      names.push(...((body['data'] as { name: string }[]) ?? []).map(({ name }) => name))
      next = (body['paging'] as { next?: string })?.next?.replace(url, '')
    }

    assert.equal(number.body['display_phone_number'], '+1 555-000-1000')
    assert.equal(unknown.body.error?.code, 100)
    assert.deepEqual(names, ['pending', 'disabled', 'paused', 'letter', 'notice'])
  })
})

function codes({ status, body }: Awaited<ReturnType<typeof callGraph>>) {
  return [status, body.error?.code, body.error?.error_subcode]
}
