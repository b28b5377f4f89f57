import { createCipheriv, createDecipheriv, createHmac, hkdfSync, pbkdf2Sync, randomBytes } from 'node:crypto'
import { type BinaryNode, secondsNow } from './binary-node.ts'
import type { Credentials, KeyStore, MessageProto, SignalRepository, WhatsAppLibrary } from './library.ts'
import type { ReceivedFile } from './media-reader.ts'
import { agree, newKeyPair } from './noise-responder.ts'

const CODE_ROUNDS = 131_072
const NO_LOGGER = { level: 'silent', child: () => NO_LOGGER, trace() {}, debug() {}, info() {}, warn() {}, error() {} }

export interface ReceivedMessage {
  readonly id: string
  readonly from: string
  readonly message: MessageProto
  readonly bytes: Uint8Array
  readonly type: 'pkmsg' | 'msg'
}

/** A one-time key that the server hands out for a device. */
interface PreKey {
  readonly id: number
  readonly value: Buffer
}

/** A device that a phone has linked, as the server knows it. */
export interface LinkedDevice {
  readonly id: number
  readonly noise: Buffer
  readonly identity: Buffer
  registrationId: number
  signedPreKey: { readonly id: number; readonly value: Buffer; readonly signature: Buffer } | null
  preKeys: PreKey[]
  /** The ids of all keys that it has ever uploaded. */
  readonly preKeyIds: Set<number>
  /** Stanzas that it has not acknowledged. They are sent again at its next login. */
  unacknowledged: BinaryNode[]
}

/** A phone with a number: it links devices, and reads what they send. */
export class Phone {
  readonly number: string
  /** Linked devices by their id. */
  readonly devices = new Map<number, LinkedDevice>()
  readonly inbox: ReceivedMessage[] = []
  /** The files that its owner can open. */
  readonly files: ReceivedFile[] = []
  /** The reasons why messages could not be read. */
  readonly unreadable: string[] = []
  /** How many of the next messages it cannot read. */
  deafFor = 0
  readonly #library: WhatsAppLibrary
  readonly #creds: Credentials
  readonly #keys = memoryKeys()
  readonly #repository: SignalRepository
  #lastPreKey = 0
  #lastDevice = 0

  constructor(library: WhatsAppLibrary, number: string) {
    this.number = number
    this.#library = library
    this.#creds = library.initAuthCreds()
    const auth = { creds: this.#creds, keys: this.#keys }
    this.#repository = library.DEFAULT_CONNECTION_CONFIG.makeSignalRepository(auth, NO_LOGGER, async () => [])
  }

  get identity(): Buffer {
    return this.#creds.signedIdentityKey.public
  }

  get registrationId(): number {
    return this.#creds.registrationId
  }

  get jid(): string {
    return `${this.number}@s.whatsapp.net`
  }

  get lidUser(): string {
    return `9${this.number}`
  }

  get lid(): string {
    return `${this.lidUser}@lid`
  }

  nextDeviceId(): number {
    this.#lastDevice += 1
    return this.#lastDevice
  }

  /** The texts that its owner sees. */
  get texts(): readonly (string | undefined)[] {
    return this.inbox.map(({ message }) => message.extendedTextMessage?.text)
  }

  /** How many of its one-time keys were handed out. */
  get takenKeys(): number {
    return this.#lastPreKey
  }

  /** The keys that the server hands out for the phone itself. Each one-time key is handed out once. */
  async takeKeys() {
    const pair = newKeyPair()
    const id = ++this.#lastPreKey
    await this.#keys.set({ 'pre-key': { [id]: pair } })
    const { signedPreKey } = this.#creds
    return {
      registrationId: this.registrationId,
      identity: this.identity,
      signedPreKey: {
        id: signedPreKey.keyId,
        value: signedPreKey.keyPair.public,
        signature: Buffer.from(signedPreKey.signature),
      },
      preKey: { id, value: pair.public },
    }
  }

  /** Decrypts a message. False if it cannot be read. */
  async receive(from: string, id: string, sealed: { type: 'pkmsg' | 'msg'; bytes: Uint8Array }): Promise<boolean> {
    if (this.deafFor > 0) {
      this.deafFor -= 1
      return false
    }
    try {
      const { type } = sealed
      const ciphertext = Buffer.from(sealed.bytes)
      const padded = await this.#repository.decryptMessage({ jid: from, type, ciphertext })
      const bytes = this.#library.unpadRandomMax16(padded)
      this.inbox.push({ id, from, message: this.#library.proto.Message.decode(bytes), bytes, type })
      return true
    } catch (error) {
      this.unreadable.push(`${id}: ${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }

  /** Accepts a device whose code was scanned or typed. */
  acceptDevice(identity: Uint8Array, advSecret: Buffer) {
    const { ADVDeviceIdentity, ADVSignedDeviceIdentity, ADVSignedDeviceIdentityHMAC } = this.#library.proto
    const id = this.nextDeviceId()
    const details = Buffer.from(
      ADVDeviceIdentity.encode({ rawId: 7, timestamp: Number(secondsNow()), keyIndex: id, accountType: 0 }).finish(),
    )
    const accountSignature = this.#library.Curve.sign(
      this.#creds.signedIdentityKey.private,
      Buffer.concat([Buffer.from([6, 0]), details, identity]),
    )
    const signed = ADVSignedDeviceIdentity.encode({
      details,
      accountSignatureKey: this.identity,
      accountSignature,
    }).finish()
    const hmac = createHmac('sha256', advSecret).update(signed).digest()
    const blob = Buffer.from(ADVSignedDeviceIdentityHMAC.encode({ details: signed, hmac }).finish())
    return { phone: this, id, details, blob }
  }

  /**
   * What a phone does when its owner types a code: it answers the device, and then reads that device's answer. It cannot read the
   * answer if the typed code was wrong.
   */
  answerCode(code: string, wrapped: Buffer) {
    const deviceEphemeral = crypt(createDecipheriv, {
      code,
      salt: wrapped.subarray(0, 32),
      iv: wrapped.subarray(32, 48),
    })(wrapped.subarray(48))
    const ephemeral = newKeyPair()
    const salt = randomBytes(32)
    const iv = randomBytes(16)
    const sealed = crypt(createCipheriv, { code, salt, iv })(ephemeral.public)
    const shared = agree(ephemeral.private, deviceEphemeral)
    return {
      wrappedEphemeral: Buffer.concat([salt, iv, sealed]),
      readBundle: (bundle: Buffer, identity: Buffer) => this.#readBundle({ bundle, identity, shared }),
    }
  }

  #readBundle({ bundle, identity, shared }: { bundle: Buffer; identity: Buffer; shared: Buffer }): Buffer | null {
    const salt = bundle.subarray(0, 32)
    const key = hkdfSync('sha256', shared, salt, 'link_code_pairing_key_bundle_encryption_key', 32)
    const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key), bundle.subarray(32, 44))
    decipher.setAuthTag(bundle.subarray(bundle.length - 16))
    const opened = decipher.update(bundle.subarray(44, bundle.length - 16))
    try {
      decipher.final()
    } catch {
      return null
    }
    if (!opened.subarray(0, 32).equals(identity)) throw new Error('the bundle names another device')
    if (!opened.subarray(32, 64).equals(this.identity)) throw new Error('the bundle names another phone')
    const agreed = agree(this.#creds.signedIdentityKey.private, identity)
    const secret = Buffer.concat([shared, agreed, opened.subarray(64, 96)])
    return Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), 'adv_secret', 32))
  }
}

/** Keys in memory, stored like the library's. */
function memoryKeys(): KeyStore & {
  transaction(work: () => Promise<unknown>): Promise<unknown>
  isInTransaction(): boolean
} {
  const entries = new Map<string, unknown>()
  return {
    async get(kind, ids) {
      const found = ids.map((id) => [id, entries.get(`${kind}/${id}`)] as const)
      return Object.fromEntries(found.filter(([, value]) => value !== undefined))
    },
    async set(changes) {
      for (const [kind, values] of Object.entries(changes))
        for (const [id, value] of Object.entries(values)) {
          if (value === null) entries.delete(`${kind}/${id}`)
          else entries.set(`${kind}/${id}`, value)
        }
    },
    transaction: (work) => work(),
    isInTransaction: () => false,
  }
}

function crypt(
  create: typeof createCipheriv | typeof createDecipheriv,
  { code, salt, iv }: { code: string; salt: Buffer; iv: Buffer },
): (bytes: Buffer) => Buffer {
  const cipher = create('aes-256-ctr', pbkdf2Sync(code, salt, CODE_ROUNDS, 32, 'sha256'), iv)
  return (bytes) => Buffer.concat([cipher.update(bytes), cipher.final()])
}
