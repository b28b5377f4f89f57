// What the adapters of WhatsApp gateways share: calls with JSON or a file, and what no connection means.
import { createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { Readable } from 'node:stream'
import { ask, fail, readText, unknown, unreachable } from './adapter.mjs'

export const MESSENGER_CAPABILITIES = {
  types: ['message', 'image', 'document', 'video', 'audio'],
  maxTextLength: null,
  maxCaptionLength: null,
  receipts: ['sent', 'delivered', 'read', 'failed'],
  evidence: false,
}

/** Calls the gateway with a body of `jsonOf`, `jsonWithFile` or `formWithFile`, and has its answer read. */
export async function send(url, { headers, body, timeoutMs }, outcomeOf) {
  try {
    const answer = await ask(url, {
      method: 'POST',
      headers: { ...headers, 'content-type': body.type, 'content-length': String(body.length) },
      body: body.content,
      timeoutMs,
    })
    return outcomeOf({ ...answer, value: parsedJson(answer.text) })
  } catch (error) {
    return error.mayHaveLeft ? unknown(error.message) : unreachable(error)
  }
}

/** What it answers to a GET; null without an answer. */
export async function fetchJson(url, headers) {
  const answer = await ask(url, { headers, timeoutMs: 5_000 }).catch(() => null)
  return answer && { status: answer.status, value: parsedJson(answer.text) }
}

export function isJson(text) {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** An empty object for what is no JSON. */
export function parsedJson(text) {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

export function jsonOf(value) {
  const content = JSON.stringify(value)
  return { type: 'application/json', content, length: Buffer.byteLength(content) }
}

/** `valueWith` gets what stands for the file, which goes out in base64 as it is read. */
export function jsonWithFile(path, valueWith) {
  const mark = randomUUID()
  const [before, after] = JSON.stringify(valueWith(mark)).split(mark)
  const length = Buffer.byteLength(before) + Math.ceil(statSync(path).size / 3) * 4 + Buffer.byteLength(after)
  return { type: 'application/json', content: Readable.from(around(before, base64Of(path), after)), length }
}

/** A form with these fields and the file in `field`. */
export function formWithFile(path, { fields, field, name, mime }) {
  const boundary = randomUUID()
  const parts = Object.entries(fields).map(
    ([key, value]) => `--${boundary}\r\ncontent-disposition: form-data; name="${key}"\r\n\r\n${value}\r\n`,
  )
  const fileName = name.replace(/["\\\r\n]/g, '_')
  const before = `${parts.join('')}--${boundary}\r\ncontent-disposition: form-data; name="${field}"; filename="${fileName}"\r\ncontent-type: ${mime}\r\n\r\n`
  const after = `\r\n--${boundary}--\r\n`
  return {
    type: `multipart/form-data; boundary=${boundary}`,
    content: Readable.from(around(before, bytesOf(path), after)),
    length: Buffer.byteLength(before) + statSync(path).size + Buffer.byteLength(after),
  }
}

async function* around(before, pieces, after) {
  yield Buffer.from(before)
  yield* pieces
  yield Buffer.from(after)
}

/** Opens the file only when it is read, so that a call that never begins leaves nothing open. */
async function* bytesOf(path) {
  yield* createReadStream(path)
}

async function* base64Of(path) {
  let rest = Buffer.alloc(0)
  for await (const piece of createReadStream(path)) {
    const all = Buffer.concat([rest, piece])
    const whole = all.length - (all.length % 3)
    rest = all.subarray(whole)
    if (whole > 0) yield Buffer.from(all.subarray(0, whole).toString('base64'))
  }
  yield Buffer.from(rest.toString('base64'))
}

/** Who knows it can sign reports, so it must not be one that can be guessed. */
export function readWebhookKey(options) {
  const key = readText(options, 'webhook-key-file')
  if (key.length < 16)
    fail(
      `The file of --webhook-key-file, ${options['webhook-key-file']}, must hold a secret of at least 16 characters.`,
    )
  return key
}

/** What a gateway with this key signs this body with, in hexadecimal. */
export function signatureOf(key, algorithm, body) {
  return createHmac(algorithm, key).update(body).digest('hex')
}

export function isSame(right, given) {
  const [one, other] = [Buffer.from(right), Buffer.from(String(given ?? ''))]
  return one.length === other.length && timingSafeEqual(one, other)
}
