import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

const SIGNATURE = /^sha256=([0-9a-f]{64})$/i

/** The signature in the header `X-Hub-Signature-256`; null when it is none. */
export function readSignature(header: string | undefined): Buffer | null {
  const [, hexadecimal] = SIGNATURE.exec(header ?? '') ?? []
  return hexadecimal === undefined ? null : Buffer.from(hexadecimal, 'hex')
}

/**
 * Whether one of these app secrets signed exactly these bytes. JSON that was parsed and serialised again does not fit, because
 * Meta signs its own spelling (Graph API, page “Webhooks: getting started”).
 */
export function isSignedByAny(body: Uint8Array, signature: Buffer, appSecrets: readonly string[]): boolean {
  // All secrets are tried, so that the time does not reveal which one fits.
  return appSecrets
    .map((secret) => timingSafeEqual(createHmac('sha256', secret).update(body).digest(), signature))
    .includes(true)
}

/** Takes the same time wherever the two differ, so that it reveals nothing about the right one, not even its length. */
export function isAnyOf(given: string, secrets: readonly string[]): boolean {
  const digest = createHash('sha256').update(given).digest()
  return secrets.map((secret) => timingSafeEqual(createHash('sha256').update(secret).digest(), digest)).includes(true)
}
