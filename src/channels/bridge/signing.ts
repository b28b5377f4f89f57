import { createHmac, timingSafeEqual } from 'node:crypto'

/** How far the clocks of Nuncio and an adapter may differ. */
export const CLOCK_TOLERANCE_SECONDS = 300

const SECRET = /^whsec_((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)$/
const LEAST_SECRET_BYTES = 24
const MOST_SECRET_BYTES = 64
// More than any honest side sends while a secret is changed.
const MOST_SIGNATURES = 8

/** The three headers of Standard Webhooks, and the version of the protocol. */
export interface SignedHeaders {
  readonly 'nuncio-bridge': '1'
  readonly 'webhook-id': string
  readonly 'webhook-timestamp': string
  readonly 'webhook-signature': string
}

interface Signed {
  readonly id: string
  /** Seconds since 1970. */
  readonly timestamp: number
  /** The bytes of the body, or what stands for them. */
  readonly content: string | Uint8Array
}

/** The bytes of a secret such as `whsec_…`; null when it is none. */
export function keyOf(secret: string): Buffer | null {
  const [, base64] = SECRET.exec(secret) ?? []
  if (base64 === undefined) return null
  const key = Buffer.from(base64, 'base64')
  return key.length >= LEAST_SECRET_BYTES && key.length <= MOST_SECRET_BYTES ? key : null
}

/** Signs with each key, so that the other side may know either while a secret is changed. */
export function sign(keys: readonly Uint8Array[], signed: Signed): SignedHeaders {
  return {
    'nuncio-bridge': '1',
    'webhook-id': signed.id,
    'webhook-timestamp': String(signed.timestamp),
    'webhook-signature': keys.map((key) => `v1,${digest(key, signed).toString('base64')}`).join(' '),
  }
}

interface Received {
  readonly header: (name: string) => string | null
  readonly content: Uint8Array
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The `webhook-id` of what one of these keys signed; null when none did, or the clocks differ by too much. */
export function verifySigned(keys: readonly Uint8Array[], { header, content, now }: Received): string | null {
  const [version, id, seconds, signatures] = [
    header('nuncio-bridge'),
    header('webhook-id'),
    header('webhook-timestamp'),
    header('webhook-signature'),
  ]
  if (version !== '1' || id === null || !/^[\x21-\x7e]{1,256}$/.test(id)) return null
  if (seconds === null || !/^[1-9][0-9]{0,11}$/.test(seconds)) return null
  const timestamp = Number(seconds)
  if (Math.abs(now / 1_000 - timestamp) > CLOCK_TOLERANCE_SECONDS) return null
  const given = (signatures ?? '').split(' ', MOST_SIGNATURES).flatMap((text) => {
    const [, base64] = /^v1,([A-Za-z0-9+/]{43}=)$/.exec(text) ?? []
    return base64 === undefined ? [] : [Buffer.from(base64, 'base64')]
  })
  // All of them are tried, so that the time does not reveal which one fits.
  const fits = keys.flatMap((key) => {
    const right = digest(key, { id, timestamp, content })
    return given.map((signature) => timingSafeEqual(right, signature))
  })
  return fits.includes(true) ? id : null
}

function digest(key: Uint8Array, { id, timestamp, content }: Signed): Buffer {
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(content).digest()
}
