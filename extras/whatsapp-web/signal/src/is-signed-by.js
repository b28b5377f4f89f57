const { createPublicKey, verify } = require('node:crypto')

const SPKI = Buffer.from('302a300506032b6570032100', 'hex')
const PRIME = 2n ** 255n - 19n

/**
 * Checks a signature of Signal (XEdDSA) with Node's own Ed25519. That takes a fraction of a millisecond, and the JavaScript
 * of libsignal several: each login checks two, and each new device of a recipient one.
 * `publicKey` is the Montgomery key, without a byte for its type.
 */
exports.isSignedBy = (publicKey, message, signature) => {
  if (publicKey.length !== 32 || signature.length !== 64) return false
  const edwards = toEdwards(publicKey)
  const plain = Buffer.from(signature)
  // The sign of the Edwards point is the highest bit of the signature.
  edwards[31] |= plain[63] & 0x80
  plain[63] &= 0x7f
  const key = createPublicKey({ key: Buffer.concat([SPKI, edwards]), format: 'der', type: 'spki' })
  return verify(null, message, key, plain)
}

/** The y of the Edwards point that a Montgomery key stands for: (u − 1) / (u + 1). */
function toEdwards(publicKey) {
  const u = BigInt(`0x${Buffer.from(publicKey).reverse().toString('hex')}`) & ((1n << 255n) - 1n)
  const y = modulo((u - 1n) * inverse(modulo(u + 1n)))
  return Buffer.from(y.toString(16).padStart(64, '0'), 'hex').reverse()
}

/** By Euclid's algorithm. 0 for 0. */
function inverse(value) {
  let [rest, next, factor, nextFactor] = [PRIME, value, 0n, 1n]
  while (next > 0n) {
    const quotient = rest / next
    ;[rest, next] = [next, rest - quotient * next]
    ;[factor, nextFactor] = [nextFactor, factor - quotient * nextFactor]
  }
  return value === 0n ? 0n : modulo(factor)
}

function modulo(value) {
  return ((value % PRIME) + PRIME) % PRIME
}
