import { hash } from 'node:crypto'
import { base32 } from './totp.ts'

const CODES = 10
const CODE_BYTES = 16

/** Ten codes of 128 bits, in groups of four so that people can write them down. */
export function createRecoveryCodes(randomBytes: (count: number) => Buffer): readonly string[] {
  return Array.from({ length: CODES }, () => base32(randomBytes(CODE_BYTES)).replace(/(.{4})(?=.)/g, '$1-'))
}

/** Ignores case, separators and confusable characters. At 128 bits no slower hash is needed. */
export function recoveryCodeHash(code: string): Buffer {
  const meant = code.toUpperCase().replace(/[^A-Z0-9]/g, '')
  return hash('sha256', meant.replaceAll('0', 'O').replaceAll('1', 'I').replaceAll('8', 'B'), 'buffer')
}
