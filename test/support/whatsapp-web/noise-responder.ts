import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
} from 'node:crypto'

export interface KeyPair {
  readonly public: Buffer
  readonly private: Buffer
}

const SPKI = Buffer.from('302a300506032b656e032100', 'hex')
const PKCS8 = Buffer.from('302e020100300506032b656e04220420', 'hex')
const PROTOCOL = Buffer.from('Noise_XX_25519_AESGCM_SHA256\0\0\0\0')
const NONE = Buffer.alloc(0)
const TAG_BYTES = 16

/** The first bytes of every connection after the routing information. */
export const HEADER = Buffer.from([0x57, 0x41, 6, 3])

/**
 * The server's side of the handshake and of the frames after it. It uses Node's cryptography, so it is independent of the library
 * under test.
 */
export class NoiseResponder {
  readonly #staticKey: KeyPair
  readonly #ephemeral = newKeyPair()
  #hash: Buffer = PROTOCOL
  #chainingKey: Buffer = PROTOCOL
  #handshake = new Cipher(PROTOCOL)
  #incoming: Cipher | null = null
  #outgoing: Cipher | null = null

  constructor(staticKey: KeyPair) {
    this.#staticKey = staticKey
  }

  answerHello(clientEphemeral: Uint8Array, certificate: Uint8Array) {
    this.#mixHash(HEADER)
    this.#mixHash(clientEphemeral)
    this.#mixHash(this.#ephemeral.public)
    this.#mixKey(agree(this.#ephemeral.private, clientEphemeral))
    const sealedStatic = this.#seal(this.#staticKey.public)
    this.#mixKey(agree(this.#staticKey.private, clientEphemeral))
    return { ephemeral: this.#ephemeral.public, static: sealedStatic, payload: this.#seal(certificate) }
  }

  readFinish(sealedStatic: Uint8Array, sealedPayload: Uint8Array) {
    const clientStatic = this.#open(sealedStatic)
    this.#mixKey(agree(this.#ephemeral.private, clientStatic))
    const payload = this.#open(sealedPayload)
    const [incoming, outgoing] = halves(this.#chainingKey, NONE)
    this.#incoming = new Cipher(incoming)
    this.#outgoing = new Cipher(outgoing)
    return { clientStatic, payload }
  }

  encrypt(text: Uint8Array): Buffer {
    return ready(this.#outgoing).seal(text, NONE)
  }

  decrypt(sealed: Uint8Array): Buffer {
    return ready(this.#incoming).open(sealed, NONE)
  }

  #mixHash(data: Uint8Array): void {
    this.#hash = createHash('sha256').update(this.#hash).update(data).digest()
  }

  #mixKey(input: Uint8Array): void {
    const [chainingKey, key] = halves(this.#chainingKey, input)
    this.#chainingKey = chainingKey
    this.#handshake = new Cipher(key)
  }

  #seal(text: Uint8Array): Buffer {
    const sealed = this.#handshake.seal(text, this.#hash)
    this.#mixHash(sealed)
    return sealed
  }

  #open(sealed: Uint8Array): Buffer {
    const text = this.#handshake.open(sealed, this.#hash)
    this.#mixHash(sealed)
    return text
  }
}

/** AES-256-GCM with a counter as the nonce. */
class Cipher {
  readonly #key: Buffer
  #count = 0

  constructor(key: Buffer) {
    this.#key = key
  }

  seal(text: Uint8Array, bound: Uint8Array): Buffer {
    const cipher = createCipheriv('aes-256-gcm', this.#key, this.#nextNonce())
    cipher.setAAD(bound)
    return Buffer.concat([cipher.update(text), cipher.final(), cipher.getAuthTag()])
  }

  open(sealed: Uint8Array, bound: Uint8Array): Buffer {
    const decipher = createDecipheriv('aes-256-gcm', this.#key, this.#nextNonce())
    decipher.setAAD(bound)
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
    return Buffer.concat([decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES)), decipher.final()])
  }

  #nextNonce(): Buffer {
    const nonce = Buffer.alloc(12)
    nonce.writeUInt32BE(this.#count++, 8)
    return nonce
  }
}

export function newKeyPair(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  return {
    public: publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI.length),
    private: privateKey.export({ format: 'der', type: 'pkcs8' }).subarray(PKCS8.length),
  }
}

/** The secret that two X25519 keys share. */
export function agree(privateKey: Uint8Array, publicKey: Uint8Array): Buffer {
  return diffieHellman({
    privateKey: createPrivateKey({ key: Buffer.concat([PKCS8, privateKey]), format: 'der', type: 'pkcs8' }),
    publicKey: createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: 'der', type: 'spki' }),
  })
}

/** The data with its length in front, as every frame is sent. */
export function framed(data: Uint8Array): Buffer {
  const length = Buffer.alloc(3)
  length.writeUIntBE(data.length, 0, 3)
  return Buffer.concat([length, data])
}

function halves(salt: Buffer, input: Uint8Array): readonly [Buffer, Buffer] {
  const derived = Buffer.from(hkdfSync('sha256', input, salt, NONE, 64))
  return [derived.subarray(0, 32), derived.subarray(32)]
}

function ready(cipher: Cipher | null): Cipher {
  if (!cipher) throw new Error('a frame came before the handshake had ended')
  return cipher
}
