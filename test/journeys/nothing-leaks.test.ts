import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import type { MetricDefinition } from '../../src/observability/metrics/metric-definition.ts'
import { METRICS } from '../../src/observability/metrics/metric-table.ts'
import { ENGINES } from '../support/journey/engines.ts'
import { serveFiles, tinyPng } from '../support/journey/serve-files.ts'
import { ENDPOINT, type Journey, SENDER } from '../support/journey/start-nuncio.ts'

const RECIPIENT = '15550177001'
const REFUSED = '15550100001'
const LOST = '15550100004'
const WORDS = 'the surprise is on Friday'
const CAPTION = 'for your eyes only'
const KEY = 'order-7788'
const AGENT = 'shop-of-anna/7'
const FORWARDED = '203.0.113.77'
const PASSWORD = 'correct horse battery 7'
const EMAIL = 'anna@shop.example'
const LABELLED = /^(nuncio_\w+?)(?:_bucket|_sum|_count)?\{([^}]*)\} /

describe.each(ENGINES)('after a noisy run on $name', ({ start }) => {
  it('G8: neither the log nor the metrics hold a number, a text, a token or an address of a caller', async () => {
    const lines: string[] = []
    const host = await serveFiles({ '/private/picture.png': { body: tinyPng(), type: 'image/png' } })
    const settings = { NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8', NUNCIO_TRUSTED_PROXIES: '127.0.0.1/32' }
    const nuncio = await start({ settings, onLog: (line) => lines.push(line), logLevel: 'debug' })

    const messageIds = await makeNoise(nuncio, host)
    const metrics = await (await fetch(`${nuncio.url}/metrics`)).text()
    await nuncio.stop()

    const { host: hostName } = new URL(host)
    const secrets = [SENDER, RECIPIENT, REFUSED, LOST, WORDS, CAPTION, KEY, AGENT, FORWARDED, PASSWORD, EMAIL]
    const hidden = [...secrets, nuncio.token, hostName, 'picture.png', '/private/', 'known-to-no-one']
    assert.deepEqual(
      lines.flatMap((line) => hidden.filter((secret) => line.includes(secret)).map((secret) => [secret, line])),
      [],
    )
    assert.deepEqual(
      [...hidden, ...messageIds].filter((secret) => metrics.includes(secret)),
      [],
    )
    for (const line of lines) {
      const { level, time, msg } = JSON.parse(line) as Record<string, unknown>
      assert.deepEqual([typeof level, typeof time, typeof msg], ['number', 'string', 'string'], line)
    }
    // Shows that the run was noisy enough, and that ids are logged.
    const events = new Set(lines.map((line) => (JSON.parse(line) as { msg: string }).msg))
    for (const event of ['attempt.finished', 'media.fetched', 'media.failed']) assert.ok(events.has(event), event)
    assert.ok(messageIds.every((id) => lines.some((line) => line.includes(id))))
    assert.ok(metrics.split('\n').filter((line) => LABELLED.test(line)).length > 100)
    assert.deepEqual(strangeLabels(metrics), [])
  })
})

/** Sends every kind of request that a caller may send, good and bad. Returns the ids of messages that had an attempt. */
async function makeNoise(nuncio: Journey, host: string): Promise<readonly string[]> {
  const headers = { 'user-agent': AGENT, 'x-forwarded-for': FORWARDED }
  const image = (url: string) => ({
    from: SENDER,
    to: RECIPIENT,
    message: { type: 'image', media: { name: 'picture.png', url, caption: CAPTION } },
  })
  const sent = [
    await nuncio.text(REFUSED, WORDS, headers),
    await nuncio.text(RECIPIENT, WORDS, { ...headers, 'idempotency-key': KEY }),
    await nuncio.post(image(`${host}/private/picture.png`), headers),
    await nuncio.text(LOST, WORDS, headers),
  ].map(({ messageId }) => messageId)
  await nuncio.post(image(`${host}/private/nothing-there.png`), headers)
  await nuncio.text(RECIPIENT, WORDS, { ...headers, 'idempotency-key': KEY })
  await nuncio.text(RECIPIENT, `${WORDS}!`, { ...headers, 'idempotency-key': KEY })
  await nuncio.post({ from: '15550009999', to: RECIPIENT, message: { type: 'message', message: WORDS } }, headers)
  await nuncio.post({ from: SENDER, to: `+${RECIPIENT}`, nothing: WORDS, message: { type: WORDS } }, headers)
  await fetch(`${nuncio.url}${ENDPOINT}`, {
    method: 'POST',
    headers: { ...headers, 'x-api-key': 'known-to-no-one', 'content-type': 'application/json' },
    body: JSON.stringify({ from: SENDER, to: RECIPIENT }),
  })
  await fetch(`${nuncio.url}${ENDPOINT}`, {
    method: 'POST',
    headers: { ...headers, 'x-api-key': nuncio.token, 'content-type': 'application/json' },
    body: `{"from": ${WORDS}`,
  })
  await fetch(`${nuncio.url}/${RECIPIENT}/${nuncio.token}?text=${encodeURIComponent(WORDS)}`, { headers })
  await fetch(`${nuncio.url}/callbacks/whatsapp-cloud/known-to-no-one`, { method: 'POST', headers, body: WORDS })
  await fetch(`${nuncio.url}/console/api/session`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ email: EMAIL, password: PASSWORD }),
  })
  await sendRaw(nuncio.url, `POST ${ENDPOINT} HTTP/1.1\r\nx-api-key: ${nuncio.token}\r\n${WORDS}\r\n\r\n`)
  for (const id of sent.slice(0, 3)) await nuncio.reaches(id, 'PUBLISHED', 'FAILED')
  const metrics = async () => (await fetch(`${nuncio.url}/metrics`)).text()
  await expect.poll(metrics).toMatch(/nuncio_media_fetches_total\{outcome="media_status"\} [1-9]/)
  return sent.slice(0, 3)
}

async function sendRaw(url: string, bytes: string): Promise<void> {
  const { port, hostname } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(bytes)
  await readText(socket).catch(() => '')
}

/** The label values that are in no known list. */
function strangeLabels(metrics: string): readonly string[] {
  const table: Readonly<Record<string, MetricDefinition>> = METRICS
  return metrics.split('\n').filter((line) => {
    const [, name = '', labels = ''] = LABELLED.exec(line) ?? []
    return [...labels.matchAll(/(\w+)="([^"]*)"/g)].some(
      ([, label = '', value = '']) => label !== 'le' && !table[name]?.labels[label]?.includes(value),
    )
  })
}
