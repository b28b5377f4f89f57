import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'vitest'
import { ENGINES } from '../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import { SENDER } from '../support/journey/start-nuncio.ts'

const LOOPBACK = { settings: { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8' } }

describe.each(ENGINES)('the main job on $name', ({ start: startNuncio }) => {
  it('answers with exactly the success of the contract', async () => {
    const nuncio = await startNuncio()

    const response = await fetch(`${nuncio.url}/chat/api/v1/public/message/send`, {
      method: 'POST',
      headers: { 'x-api-key': nuncio.token, 'content-type': 'application/json' },
      body: JSON.stringify({ from: SENDER, to: '15551234567', message: { type: 'message', message: 'hi' } }),
    })

    assert.equal(response.status, 200)
    assert.equal(
      await response.text(),
      '{"success":true,"code":"HC-1","name":"success_200","data":{"state":"QUEUED"},"message":"Request was successful."}',
    )
    assert.match(response.headers.get('x-message-id') ?? '', /^[0-9a-f-]{36}$/)
    assert.ok(response.headers.get('x-request-id'))
  })

  it('delivers a text byte for byte', async () => {
    const nuncio = await startNuncio()
    const text = "Grüße 👩‍👩‍👧 \u202eשלום\u202c\n\ttab <script>{{7*7}}</script> ' OR 1=1 %n =cmd()"

    const { messageId } = await nuncio.text('15551234567', text)
    const { message } = await nuncio.reaches(messageId, 'PUBLISHED')

    assert.equal(message.attempts, 1)
    assert.deepEqual(
      (await nuncio.inbox()).map((entry) => [entry.messageId, entry.connection, entry.to, entry.type, entry.text]),
      [[messageId, SENDER, '15551234567', 'message', text]],
    )
  })

  it.each([
    ['image', 'picture.png', tinyPng()],
    ['document', 'letter.pdf', Buffer.from('%PDF-1.4\n%%EOF\n')],
    [
      'video',
      'clip.mp4',
      Buffer.concat([Buffer.from([0, 0, 0, 24]), Buffer.from('ftypisom\0\0\x02\0isomiso2avc1mp41'), Buffer.alloc(64)]),
    ],
    [
      'audio',
      'voice.mp3',
      Buffer.concat([
        Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'),
        Buffer.from([0xff, 0xfb, 0x90, 0x64]),
        Buffer.alloc(413),
      ]),
    ],
  ])('delivers media of type %s with its caption, name, size and hash', async (type, name, body) => {
    const host = await serveFiles({ [`/${name}`]: { body, type: 'application/octet-stream' } })
    const nuncio = await startNuncio(LOOPBACK)

    const { messageId } = await nuncio.post({
      from: SENDER,
      to: '15551234567',
      message: { type, media: { name, url: `${host}/${name}`, caption: 'A caption' } },
    })
    await nuncio.reaches(messageId, 'PUBLISHED')

    const [entry] = await nuncio.inbox()
    assert.equal(entry?.type, type)
    assert.equal(entry?.name, name)
    assert.equal(entry?.caption, type === 'audio' ? null : 'A caption')
    assert.equal(entry?.sizeBytes, body.length)
    assert.equal(entry?.sha256, createHash('sha256').update(body).digest('hex'))
  })

  it('fails only the message with bad media, with its reason, and the lane continues', async () => {
    const host = await serveFiles({ '/not-a-picture.png': { body: Buffer.from('plain text'), type: 'image/png' } })
    const nuncio = await startNuncio(LOOPBACK)
    const media = (url: string) => ({
      from: SENDER,
      to: '15551234567',
      message: { type: 'image', media: { name: 'a.png', url } },
    })

    const wrong = await nuncio.post(media(`${host}/not-a-picture.png`))
    const missing = await nuncio.post(media(`${host}/missing.png`))
    const after = await nuncio.text('15551234567', 'after')

    assert.equal((await nuncio.reaches(wrong.messageId, 'FAILED')).message.reason, 'media_wrong_type')
    assert.equal((await nuncio.reaches(missing.messageId, 'FAILED')).message.reason, 'media_status')
    await nuncio.reaches(after.messageId, 'PUBLISHED')
  })

  it('G3: keeps the order of one connection', async () => {
    const nuncio = await startNuncio()
    const texts = Array.from({ length: 50 }, (_, index) => `number ${index}`)

    let last = ''
    for (const text of texts) last = (await nuncio.text('15551234567', text)).messageId
    await nuncio.reaches(last, 'PUBLISHED')

    assert.deepEqual(
      (await nuncio.inbox()).map((entry) => entry.text),
      texts,
    )
  })

  it('G1 G3: stores all of fifty parallel sends, each once', async () => {
    const nuncio = await startNuncio()
    const texts = Array.from({ length: 50 }, (_, index) => `parallel ${index}`)

    const replies = await Promise.all(texts.map((text) => nuncio.text('15551234567', text)))
    await Promise.all(replies.map(({ messageId }) => nuncio.reaches(messageId, 'PUBLISHED')))

    assert.deepEqual(
      (await nuncio.inbox()).map((entry) => entry.text ?? '').toSorted((a, b) => a.localeCompare(b)),
      texts.toSorted((a, b) => a.localeCompare(b)),
    )
  })
})
