/** The pieces of a sealed text. */
export interface SealedPieces {
  readonly keyId: string
  readonly nonce: Buffer
  readonly ciphertext: Buffer
  readonly tag: Buffer
}

/** GCM is designed for 96 bits. At random, about four thousand million of them are safe under one key. */
export const NONCE_BYTES = 12
export const TAG_BYTES = 16

const FORM = /^v1\.(k[0-9a-f]{8})\.([\w-]{16})\.([\w-]*)\.([\w-]{22})$/

export function writeSealed({ keyId, nonce, ciphertext, tag }: SealedPieces): string {
  return ['v1', keyId, ...[nonce, ciphertext, tag].map((bytes) => bytes.toString('base64url'))].join('.')
}

/** Null when it is no sealed text. */
export function readSealed(text: string): SealedPieces | null {
  const [, keyId = '', ...rest] = FORM.exec(text) ?? []
  if (keyId === '') return null
  const [nonce, ciphertext, tag] = rest.map((piece) => Buffer.from(piece, 'base64url'))
  if (!nonce || !ciphertext || !tag) return null
  const pieces = { keyId, nonce, ciphertext, tag }
  // The last letter of base64 has unused bits. Only one spelling of the same bytes is accepted.
  return writeSealed(pieces) === text ? pieces : null
}
