import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Instant } from '../../../core/ids.ts'

/** RFC 6238 with the parameters that every app supports: SHA-1, six digits, 30 seconds. */
export const TOTP_SECRET_BYTES = 20
const STEP_MS = 30_000
const DIGITS = 6
const ISSUER = 'Nuncio'
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function totpCode(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const mac = createHmac('sha1', secret).update(counter).digest()
  const offset = (mac.at(-1) ?? 0) & 0xf
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** DIGITS).padStart(DIGITS, '0')
}

/** The 30-second step of this code: the current one, or one before or after, because clocks differ. Else null. */
export function findTotpStep(secret: Buffer, code: string, now: Instant): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const current = Math.floor(now / STEP_MS)
  let found: number | null = null
  for (const step of [current - 1, current, current + 1])
    if (timingSafeEqual(Buffer.from(totpCode(secret, step)), Buffer.from(code))) found = step
  return found
}

/** The content of the QR code. */
export function totpUri(secret: Buffer, email: string): string {
  const label = `${encodeURIComponent(ISSUER)}:${encodeURIComponent(email)}`
  return `otpauth://totp/${label}?secret=${base32(secret)}&issuer=${ISSUER}&algorithm=SHA1&digits=${DIGITS}&period=30`
}

export function base32(bytes: Uint8Array): string {
  let text = ''
  let value = 0
  let bits = 0
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += BASE32.charAt((value >>> bits) & 31)
    }
  }
  return bits > 0 ? text + BASE32.charAt((value << (5 - bits)) & 31) : text
}
