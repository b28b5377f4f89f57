// An adapter whose phones are a file. Each line is one message that has arrived, and stays for ever. The adapter may be killed at
// any time. Except for the phones it runs the code of the real adapters.
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

/** Reports an arrival by a call of its own, as a gateway does. The adapter may be gone by then. */
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
// Repeats the last reports, which the adapter may not have received before it was killed.
for (const line of before.slice(-REPORTED_AGAIN)) void reportArrival(JSON.parse(line).attemptId)
