import { createPublicKey, verify } from 'node:crypto'

const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const PRIME = 2n ** 255n - 19n

/** Checks a signature of Signal with Node's own Ed25519, independently of libsignal. */
export function isSignedBy(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  const edwards = toEdwards(publicKey)
  const plain = Buffer.from(signature)
  // The sign of the Edwards point is the highest bit of the signature.
  edwards[31] = (edwards[31] ?? 0) | ((plain[63] ?? 0) & 0x80)
  plain[63] = (plain[63] ?? 0) & 0x7f
  const key = createPublicKey({ key: Buffer.concat([SPKI, edwards]), format: 'der', type: 'spki' })
  return verify(null, message, key, plain)
}

/** The y of the Edwards point that a Montgomery key stands for: (u − 1) / (u + 1). */
function toEdwards(publicKey: Uint8Array): Buffer {
  const u = BigInt(`0x${Buffer.from(publicKey).reverse().toString('hex')}`) & ((1n << 255n) - 1n)
  const y = modulo((u - 1n) * power(u + 1n, PRIME - 2n))
  return Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse()
}

function power(base: bigint, exponent: bigint): bigint {
  let result = 1n
  let square = modulo(base)
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) result = modulo(result * square)
    square = modulo(square * square)
  }
  return result
}

function modulo(value: bigint): bigint {
  return ((value % PRIME) + PRIME) % PRIME
}
