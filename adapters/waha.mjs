// Adapter between Nuncio (channel bridge) and WAHA, written from its documents of July 2026. Not tried with WAHA itself.
// It needs adapter.mjs and messengers.mjs beside it, and Node 22 or newer.
// node waha.mjs --listen 127.0.0.1:7900 --secret-file secret.txt --log waha.log --gateway http://127.0.0.1:3000 \
//   --key-file key.txt --webhook-key-file hmac.txt [--session default]
import { readArguments, readText, rejected, serve, unknown } from './adapter.mjs'
import {
  fetchJson,
  isJson,
  isSame,
  jsonOf,
  jsonWithFile,
  MESSENGER_CAPABILITIES,
  parsedJson,
  readWebhookKey,
  send,
  signatureOf,
} from './messengers.mjs'

const options = readArguments(['session', 'key-file'], ['gateway', 'webhook-key-file'])
const gateway = options.gateway.replace(/\/+$/, '')
const session = options.session ?? 'default'
const headers = { 'x-api-key': options['key-file'] ? readText(options, 'key-file') : (process.env.WAHA_API_KEY ?? '') }
const webhookKey = readWebhookKey(options)
const PATHS = { image: 'sendImage', document: 'sendFile', video: 'sendVideo', audio: 'sendVoice' }
const KINDS = new Map([
  [-1, 'failed'],
  [1, 'sent'],
  [2, 'delivered'],
  [3, 'read'],
  [4, 'read'],
])
let sender = null

/** Of `true_15551230001@c.us_3EB0…`: the chat may get another name later, this part stays. */
function idOf(id) {
  return typeof id === 'string' ? id.split('_').at(-1) : null
}

/** Its documents list no answers to errors, so only those that were seen mean that nothing was sent. */
function outcomeOf({ status, text, value }, attemptId) {
  // A page of a proxy is no answer of WAHA.
  if (status === 201 && (text.trim() === '' || isJson(text))) {
    // Its engines name a message each in their own way: GOWS by a text, WEBJS by an object or not at all, NOWEB by a key.
    const { id, key } = value
    return { result: 'accepted', networkId: idOf(id?._serialized ?? id?.id ?? id ?? key?.id) || `waha:${attemptId}` }
  }
  if (status === 401)
    return rejected('connection', 'gateway_auth', { words: 'WAHA refuses the key.', retryAfterMs: 60_000 })
  if (status === 422 && Array.isArray(value.expected))
    return rejected('connection', 'sender_offline', {
      words: `The session ${session} is ${value.status}.`,
      retryAfterMs: 30_000,
    })
  return unknown(`WAHA answered ${status}: ${text.slice(0, 80)}`)
}

function bodyOf({ to, content }, mediaPath) {
  const common = { session, chatId: `${to}@c.us` }
  const { type, text, caption, name, media } = content
  if (type === 'message') return jsonOf({ ...common, text })
  const more = {
    image: { caption: caption ?? '' },
    document: { caption: caption ?? '' },
    video: { caption: caption ?? '', convert: false, asNote: false },
    audio: { convert: media.mime !== 'audio/ogg' },
  }[type]
  return jsonWithFile(mediaPath, (data) => ({
    ...common,
    file: { mimetype: media.mime, filename: name, data },
    ...more,
  }))
}

serve(options, {
  name: 'waha',
  title: 'WAHA',
  capabilities: MESSENGER_CAPABILITIES,
  async health() {
    const answer = await fetchJson(`${gateway}/api/sessions/${encodeURIComponent(session)}`, headers)
    if (!answer) return { ready: false, words: 'WAHA does not answer.' }
    if (answer.status === 401) return { ready: false, words: 'WAHA refuses the key.' }
    const { status, me } = answer.value
    sender = /^([0-9]+)/.exec(me?.id ?? '')?.[1] ?? null
    const isReady = status === 'WORKING'
    return {
      ready: isReady,
      words: isReady ? null : `The session ${session} is ${status ?? 'not there'}.`,
      senders: sender && [sender],
    }
  },
  check({ from }) {
    if (sender === null || from === sender) return null
    return rejected('connection', 'gateway_setup', {
      words: `The session ${session} sends from ${sender}.`,
      retryAfterMs: 60_000,
    })
  },
  send(attempt, { timeoutMs, mediaPath }) {
    const path = PATHS[attempt.content.type] ?? 'sendText'
    const body = bodyOf(attempt, mediaPath)
    return send(`${gateway}/api/${path}`, { headers, body, timeoutMs }, (answer) =>
      outcomeOf(answer, attempt.attemptId),
    )
  },
  async routes({ request, url, body, reportId }) {
    if (url.pathname !== '/waha') return null
    if (!isSame(signatureOf(webhookKey, 'sha512', body), request.headers['x-webhook-hmac']))
      return { status: 401, text: 'wrong key' }
    const { event, session: of, payload } = parsedJson(body)
    const kind = event === 'message.ack' && of === session && payload?.fromMe ? KINDS.get(payload.ack) : undefined
    const id = idOf(payload?.id)
    return { status: kind && id ? await reportId(id, kind) : 200, text: '' }
  },
})
