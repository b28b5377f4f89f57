// Adapter between Nuncio (channel bridge) and Kannel, an SMS gateway. It needs adapter.mjs beside it, and Node 22 or newer.
// node kannel.mjs --listen 127.0.0.1:7900 --secret-file secret.txt --log kannel.log --gateway http://127.0.0.1:13013 \
//   --user nuncio --password-file password.txt [--status http://127.0.0.1:13000/status.xml?password=…]
import { createHmac } from 'node:crypto'
import { ask, fail, readArguments, readKeys, readText, rejected, serve, unknown, unreachable } from './adapter.mjs'

// What GSM-7 has; of the second list each sign counts twice.
const GSM = new Set(
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà',
)
const GSM_TWICE = new Set('^{}\\[~]|€\f')
const options = readArguments(['user', 'password-file', 'status', 'dlr-url', 'max-messages'], ['gateway'])
const password = options['password-file'] ? readText(options, 'password-file') : (process.env.KANNEL_PASSWORD ?? '')
const parts = Number(options['max-messages'] ?? 10)
if (!(Number.isInteger(parts) && parts >= 1 && parts <= 255)) fail('--max-messages is a number from 1 to 255.')
const gateway = options.gateway.replace(/\/+$/, '')
const dlrUrl = (options['dlr-url'] ?? `http://${options.listen}`).replace(/\/+$/, '')
const MAY_GO_ON_MS = 5_000
// Two of them fit into the ten seconds that Nuncio waits for GET /health.
const PROBE_MS = 4_000
// Other texts with these statuses may be of a proxy, behind which Kannel took the message.
const REFUSED = /^(?:Missing receiver|Empty receiver|Sender missing|DLR-Mask field misformed)/

/** Kannel cuts off what is longer, and says nothing. */
function tooLong(text) {
  const letters = Array.from(text)
  const isGsm = letters.every((letter) => GSM.has(letter) || GSM_TWICE.has(letter))
  const length = isGsm ? letters.length + letters.filter((letter) => GSM_TWICE.has(letter)).length : text.length
  const most = isGsm ? (parts > 1 ? 153 * parts : 160) : parts > 1 ? 67 * parts : 70
  return {
    isGsm,
    words:
      length > most
        ? `It has ${length} characters of ${isGsm ? 'GSM-7' : 'UCS-2'}; ${parts} parts hold ${most}.`
        : null,
  }
}

const mark = (key, attemptId) => createHmac('sha256', key).update(`dlr.${attemptId}`).digest('hex').slice(0, 32)
const keys = readKeys(options)

const isRefusedUser = ({ status, text }) => status === 403 && text.startsWith('Authorization failed')

/** What Kannel 1.4.5 was seen to answer, and what it means. */
function outcomeOf({ status, text }, attemptId) {
  if (status === 202 && /^[03]:/.test(text)) return { result: 'accepted', networkId: `kannel:${attemptId}` }
  if (status === 202)
    return unknown(`Kannel says “${text.slice(0, 80)}” before it is routed: set immediate-sendsms-reply = false.`)
  if (status === 503 && text.startsWith('Temporal failure'))
    return rejected('connection', 'busy', { words: text, retryAfterMs: MAY_GO_ON_MS })
  if (isRefusedUser({ status, text }))
    return rejected('connection', 'gateway_auth', { words: text, retryAfterMs: 60_000 })
  if (status === 403 && text.startsWith('Not routable'))
    return rejected('permanent', 'recipient_refused', { words: text })
  if (status === 400 && text.includes('denied by white'))
    return rejected('permanent', 'recipient_refused', { words: text })
  if ((status === 400 && REFUSED.test(text)) || (status === 404 && text.startsWith('Unknown request')))
    return rejected('connection', 'gateway_setup', { words: text.slice(0, 300), retryAfterMs: 60_000 })
  return unknown(`Kannel answered ${status}: ${text.slice(0, 80)}`)
}

/** By its status page. A message goes by smsbox to bearerbox, and from there to an SMSC. */
function whyNotReady(status) {
  if (status === null) return 'Kannel (bearerbox) does not answer.'
  if (!/<type>smsbox</.test(status)) return 'Kannel has no smsbox.'
  return /<status>online/.test(status) ? null : 'Kannel has no SMSC that is online.'
}

const sendsms = (headers, { body, timeoutMs }) =>
  ask(`${gateway}/cgi-bin/sendsms`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'text/plain; charset=UTF-8', ...headers },
      ...{ 'x-kannel-username': options.user ?? '', 'x-kannel-password': password },
    },
    body,
    timeoutMs,
  })

/** Asks without a recipient, so that nothing is sent. Any other answer shows that smsbox is there: it closes its port while bearerbox is gone. */
async function whyRefused() {
  const answer = await sendsms({}, { body: '', timeoutMs: PROBE_MS }).catch(() => null)
  if (answer === null) return 'Kannel (smsbox) does not answer.'
  return isRefusedUser(answer)
    ? 'Kannel refuses the user, the password or the address of the adapter: compare --user and --password-file with its group sendsms-user.'
    : null
}

serve(options, {
  name: 'kannel',
  title: 'Kannel',
  settlesLater: true,
  capabilities: {
    types: ['message'],
    maxTextLength: 153 * parts,
    maxCaptionLength: null,
    receipts: ['sent', 'delivered', 'failed'],
    evidence: false,
  },
  async health() {
    if (!options.status) {
      const words = await whyRefused()
      return { ready: words === null, words }
    }
    const text = await ask(options.status, { timeoutMs: PROBE_MS }).then(
      (answer) => answer.text,
      () => null,
    )
    const words = whyNotReady(text) ?? (await whyRefused())
    const version = /bearerbox version `([0-9.]+)/.exec(text ?? '')?.[1]
    return { ready: words === null, words, gateway: version ? `Kannel ${version}` : 'Kannel' }
  },
  check({ content }) {
    const { words } = tooLong(content.text)
    if (words !== null) return rejected('permanent', 'content_refused', { words })
    return content.text.trim() === '' ? rejected('permanent', 'content_refused', { words: 'The text is empty.' }) : null
  },
  async send({ attemptId, from, to, content }, { timeoutMs }) {
    const url = `${dlrUrl}/kannel/dlr?id=${attemptId}&k=${mark(keys[0], attemptId)}&d=%d&A=%A`
    const headers = {
      ...{ 'x-kannel-from': from, 'x-kannel-to': to, 'x-kannel-coding': tooLong(content.text).isGsm ? '0' : '2' },
      ...{ 'x-kannel-dlr-mask': '31', 'x-kannel-dlr-url': url },
    }
    try {
      return outcomeOf(await sendsms(headers, { body: content.text, timeoutMs }), attemptId)
    } catch (error) {
      return error.mayHaveLeft ? unknown(error.message) : unreachable(error)
    }
  },
  async routes({ url, report }) {
    if (url.pathname !== '/kannel/dlr') return null
    const [id, key, kind, answer] = ['id', 'k', 'd', 'A'].map((name) => url.searchParams.get(name) ?? '')
    // Any of them: a report may be about what was sent before the secret was changed.
    if (!keys.some((one) => key === mark(one, id))) return { status: 401, text: 'wrong key' }
    // 4 only says that it is queued; a refusal at once was the answer to the call already.
    const what = { 1: 'delivered', 2: 'failed', 8: 'sent', 16: 'failed' }[kind]
    if (what && !answer.includes('no SMSC'))
      await report(id, what, { words: what === 'failed' ? answer.replaceAll('/', ' ') || null : null })
    return { status: 200, text: 'ok' }
  },
})
