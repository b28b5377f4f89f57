// Adapter between Nuncio (channel bridge) and GOWA (go-whatsapp-web-multidevice), written from its sources and documents of
// August 2026 (9.2.0). Not tried with it. It needs adapter.mjs and messengers.mjs beside it, and Node 22 or newer.
// node gowa.mjs --listen 127.0.0.1:7900 --secret-file secret.txt --log gowa.log --gateway http://127.0.0.1:3000 \
//   --user nuncio --password-file password.txt --webhook-key-file webhook.txt [--device ID]
import { fail, readArguments, readText, rejected, serve, unknown } from './adapter.mjs'
import {
  fetchJson,
  formWithFile,
  isSame,
  jsonOf,
  MESSENGER_CAPABILITIES,
  parsedJson,
  readWebhookKey,
  send,
  signatureOf,
} from './messengers.mjs'

const options = readArguments(['user', 'password-file', 'device'], ['gateway', 'webhook-key-file'])
const gateway = options.gateway.replace(/\/+$/, '')
const password = options['password-file'] ? readText(options, 'password-file') : (process.env.GOWA_PASSWORD ?? '')
const headers = {
  ...(options.user ? { authorization: `Basic ${Buffer.from(`${options.user}:${password}`).toString('base64')}` } : {}),
  ...(options.device ? { 'x-device-id': options.device } : {}),
}
if (readText(options, 'webhook-key-file') === 'secret')
  fail(
    'The webhook of GOWA has the secret that everybody knows: set another one there, and in the file of --webhook-key-file.',
  )
const webhookKey = readWebhookKey(options)
const MIB = 1024 * 1024
const MOST_BYTES = { image: 20 * MIB, document: 50 * MIB, audio: 50 * MIB, video: 100 * MIB }
// It also says that a number is unknown when it could not ask, so it is believed the third time for one message.
const BELIEVED_AT = 3
const MOST_REMEMBERED = 10_000
// Of each message, how often it said so. A restart forgets it, and then it is asked more often.
const unknownNumbers = new Map()
const AN_HOUR_MS = 3_600_000
let sender = null

function isBelieved(messageId) {
  const times = (unknownNumbers.get(messageId) ?? 0) + 1
  unknownNumbers.set(messageId, times)
  if (unknownNumbers.size > MOST_REMEMBERED) unknownNumbers.delete(unknownNumbers.keys().next().value)
  return times >= BELIEVED_AT
}

function outcomeOf({ status, text, value }, { attemptId, messageId }) {
  const code = value.code ?? ''
  const words = typeof value.message === 'string' ? value.message : null
  const setup = { words, retryAfterMs: 60_000 }
  if (status === 200 && code === 'SUCCESS')
    return { result: 'accepted', networkId: value.results?.message_id || `gowa:${attemptId}` }
  if (status === 400 && code === 'VALIDATION_ERROR') return rejected('permanent', 'content_refused', { words })
  if (status === 400 && code === 'INVALID_JID')
    return rejected(isBelieved(messageId) ? 'permanent' : 'transient', 'recipient_unknown', { words })
  if (status === 401 && code === 'AUTHENTICATION_ERROR')
    return rejected('connection', 'sender_offline', { words, retryAfterMs: 30_000 })
  if (status === 401)
    return rejected('connection', 'gateway_auth', { ...setup, words: 'GOWA refuses user or password.' })
  if ((status === 404 && code === 'DEVICE_NOT_FOUND') || (status === 400 && code === 'DEVICE_ID_REQUIRED'))
    return rejected('connection', 'gateway_setup', setup)
  if (status === 429 && code === 'WA_REACHOUT_TIMELOCK')
    return rejected('recipient', 'recipient_limit', { words, retryAfterMs: AN_HOUR_MS })
  if (status === 503 && code === 'DEVICE_MANAGER_UNAVAILABLE')
    return rejected('transient', 'busy', { words, retryAfterMs: 5_000 })
  return unknown(`GOWA answered ${status}: ${text.slice(0, 80)}`)
}

function callOf({ to, content }, mediaPath) {
  const phone = `${to}@s.whatsapp.net`
  const { type, text, caption, name, media } = content
  if (type === 'message') return { path: 'message', body: jsonOf({ phone, message: text }) }
  const path = type === 'document' ? 'file' : type
  // Unless it is told otherwise, it sends another picture than it got.
  const compress = type === 'image' || type === 'video' ? { compress: 'false' } : {}
  const fields = { phone, ...(caption ? { caption } : {}), ...compress }
  return { path, body: formWithFile(mediaPath, { fields, field: path, name, mime: media.mime }) }
}

serve(options, {
  name: 'gowa',
  title: 'GOWA',
  capabilities: { ...MESSENGER_CAPABILITIES, receipts: ['delivered', 'read'] },
  async health() {
    const answer = await fetchJson(`${gateway}/app/status`, headers)
    if (!answer) return { ready: false, words: 'GOWA does not answer.' }
    const { is_connected: isConnected, is_logged_in: isLoggedIn, jid } = answer.value.results ?? {}
    sender = /^([0-9]+)/.exec(jid ?? '')?.[1] ?? null
    const isReady = isConnected === true && isLoggedIn === true
    const why = answer.status === 200 ? 'GOWA is not logged in.' : `GOWA answers ${answer.status}.`
    return { ready: isReady, words: isReady ? null : why, senders: sender && [sender] }
  },
  check({ from, content: { type, media } }) {
    if (media && media.sizeBytes > MOST_BYTES[type])
      return rejected('permanent', 'media_refused', { words: `GOWA takes ${MOST_BYTES[type] / MIB} MiB of this type.` })
    if (sender === null || from === sender) return null
    return rejected('connection', 'gateway_setup', { words: `GOWA sends from ${sender}.`, retryAfterMs: 60_000 })
  },
  send(attempt, { timeoutMs, mediaPath }) {
    const { path, body } = callOf(attempt, mediaPath)
    return send(`${gateway}/send/${path}`, { headers, body, timeoutMs }, (answer) => outcomeOf(answer, attempt))
  },
  async routes({ request, url, body, reportId }) {
    if (url.pathname !== '/gowa') return null
    const given = String(request.headers['x-hub-signature-256'] ?? '').replace(/^sha256=/, '')
    if (!isSame(signatureOf(webhookKey, 'sha256', body), given)) return { status: 401, text: 'wrong key' }
    const { event, payload } = parsedJson(body)
    const kind = { delivered: 'delivered', read: 'read', played: 'read' }[payload?.receipt_type]
    if (event !== 'message.ack' || !kind || !Array.isArray(payload.ids)) return { status: 200, text: '' }
    const statuses = await Promise.all(payload.ids.map((id) => reportId(String(id), kind)))
    return { status: Math.max(200, ...statuses), text: '' }
  },
})
