import { hash } from 'node:crypto'
import { createToken, tokenPrefix } from '../../../core/token/token-format.ts'

/** A new token, and the parts of it that are stored. */
export function generateToken(randomBytes: (count: number) => Buffer): {
  token: string
  sha256: Buffer
  prefix: string
} {
  const token = createToken(randomBytes)
  return { token, sha256: hash('sha256', token, 'buffer'), prefix: tokenPrefix(token) }
}
