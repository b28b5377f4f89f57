// An adapter in front of phones that are a file: each line is one message that arrived, and never goes away again. It is killed
// at any moment; what it shares with the real adapters is all but this.
import { existsSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ask, readArguments, rejected, serve } from '../../../adapters/adapter.mjs'

const SHARE_BUSY = 0.03
const SHARE_CUT_OFF = 0.05
const MOST_PAUSE_MS = 20
const REPORTED_AGAIN = 20

const options = readArguments([], ['phones'])
const before = existsSync(options.phones) ? readFileSync(options.phones, 'utf8').trim().split('\n').filter(Boolean) : []
const phones = openSync(options.phones, 'a')
const somewhen = () => pause(Math.random() * MOST_PAUSE_MS)

/** As a gateway reports, by a call of its own. The adapter may be gone meanwhile. */
async function reportArrival(attemptId) {
  await pause(Math.random() * 500)
  await ask(`http://${options.listen}/arrived?id=${attemptId}`).catch(() => {})
}

await serve(options, {
  name: 'phones',
  title: 'phones 1',
  settlesLater: true,
  capabilities: {
    types: ['message'],
    maxTextLength: null,
    maxCaptionLength: null,
    receipts: ['delivered'],
    evidence: false,
  },
  health: async () => ({ ready: true }),
  async send({ attemptId, messageId, from, to, content }) {
    if (Math.random() < SHARE_BUSY) return rejected('recipient', 'busy', { retryAfterMs: 200 })
    await somewhen()
    writeSync(phones, `${JSON.stringify({ attemptId, messageId, from, to, text: content.text, at: Date.now() })}\n`)
    fsyncSync(phones)
    void reportArrival(attemptId)
    await somewhen()
    if (Math.random() < SHARE_CUT_OFF) throw new Error('the line to the phones broke')
    return { result: 'accepted', networkId: `phones:${attemptId}` }
  },
  async routes({ url, report }) {
    if (url.pathname !== '/arrived') return null
    const attemptId = url.searchParams.get('id')
    await report(attemptId, 'delivered', { networkId: `phones:${attemptId}` })
    return { status: 200, text: 'ok' }
  },
})
// The phones report what the adapter had no time to hear of.
for (const line of before.slice(-REPORTED_AGAIN)) void reportArrival(JSON.parse(line).attemptId)
