// Adapter between Nuncio (channel bridge) and Evolution API, written from its sources of May 2026 (2.3.7). Not tried with it.
// It needs adapter.mjs and messengers.mjs beside it, and Node 22 or newer.
// node evolution.mjs --listen 127.0.0.1:7900 --secret-file secret.txt --log evolution.log --gateway http://127.0.0.1:8080 \
//   --instance shop --key-file key.txt --webhook-key-file webhook.txt
import { readArguments, readText, rejected, serve, unknown } from './adapter.mjs'
import {
  fetchJson,
  isSame,
  jsonOf,
  jsonWithFile,
  MESSENGER_CAPABILITIES,
  parsedJson,
  readWebhookKey,
  send,
} from './messengers.mjs'

const options = readArguments(['key-file'], ['gateway', 'instance', 'webhook-key-file'])
const gateway = options.gateway.replace(/\/+$/, '')
const instance = encodeURIComponent(options.instance)
const headers = { apikey: options['key-file'] ? readText(options, 'key-file') : (process.env.EVOLUTION_API_KEY ?? '') }
const webhookKey = readWebhookKey(options)
// It takes 136 MB of JSON, and base64 makes a file a third larger.
const MOST_FILE_BYTES = 96 * 1024 * 1024
const KINDS = { ERROR: 'failed', SERVER_ACK: 'sent', DELIVERY_ACK: 'delivered', READ: 'read', PLAYED: 'read' }

/** It answers 400 also to errors after the message was sent, so that alone means nothing. */
function outcomeOf({ status, text, value }) {
  // Without the id of the message it is perhaps the page of a proxy.
  const id = value.key?.id
  if ((status === 200 || status === 201) && typeof id === 'string' && id !== '')
    return { result: 'accepted', networkId: id }
  const said = value.response?.message
  if (status === 400 && Array.isArray(said) && said.some((one) => one?.exists === false))
    return rejected('permanent', 'recipient_unknown', { words: 'The number has no WhatsApp.' })
  if (status === 401)
    return rejected('connection', 'gateway_auth', { words: 'Evolution API refuses the key.', retryAfterMs: 60_000 })
  if (status === 404 && /instance does not exist/.test(text))
    return rejected('connection', 'gateway_setup', {
      words: `There is no instance ${options.instance}.`,
      retryAfterMs: 60_000,
    })
  return unknown(`Evolution API answered ${status}: ${text.slice(0, 80)}`)
}

function callOf({ to, content }, mediaPath) {
  const { type, text, caption, name, media } = content
  if (type === 'message') return { path: 'sendText', body: jsonOf({ number: to, text }) }
  if (type === 'audio')
    return { path: 'sendWhatsAppAudio', body: jsonWithFile(mediaPath, (audio) => ({ number: to, audio })) }
  const fields = { number: to, mediatype: type, mimetype: media.mime, fileName: name, ...(caption ? { caption } : {}) }
  return { path: 'sendMedia', body: jsonWithFile(mediaPath, (file) => ({ ...fields, media: file })) }
}

serve(options, {
  name: 'evolution',
  title: 'Evolution API',
  capabilities: MESSENGER_CAPABILITIES,
  async health() {
    const answer = await fetchJson(`${gateway}/instance/connectionState/${instance}`, headers)
    if (!answer) return { ready: false, words: 'Evolution API does not answer.' }
    if (answer.status === 401) return { ready: false, words: 'Evolution API refuses the key.' }
    const state = answer.value.instance?.state ?? 'not there'
    const isReady = state === 'open'
    return { ready: isReady, words: isReady ? null : `The instance ${options.instance} is ${state}.` }
  },
  check({ content: { media } }) {
    if (!media || media.sizeBytes <= MOST_FILE_BYTES) return null
    return rejected('permanent', 'media_refused', { words: 'Evolution API takes files of up to 96 MiB.' })
  },
  send(attempt, { timeoutMs, mediaPath }) {
    const { path, body } = callOf(attempt, mediaPath)
    return send(`${gateway}/message/${path}/${instance}`, { headers, body, timeoutMs }, outcomeOf)
  },
  async routes({ request, url, body, reportId }) {
    if (url.pathname !== '/evolution') return null
    if (!isSame(`Bearer ${webhookKey}`, request.headers.authorization)) return { status: 401, text: 'wrong key' }
    const { event, instance: of, data } = parsedJson(body)
    const kind = event === 'messages.update' && of === options.instance && data?.fromMe ? KINDS[data.status] : undefined
    const isKnown = kind && typeof data.keyId === 'string'
    return { status: isKnown ? await reportId(data.keyId, kind) : 200, text: '' }
  },
})
