import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { AccountId, ConnectionId } from '../core/ids.ts'
import { type SecretPlace, type Secrets, SecretUnreadable } from '../core/ports/secrets.ts'
import { placeOfCode } from '../core/ports/session-requests.ts'
import type {
  OpenedSession,
  ReportedProgress,
  SessionChange,
  SessionRight,
  SessionRow,
  SessionRows,
  SessionStore,
} from '../core/ports/session-store.ts'
import { NONCE_BYTES, TAG_BYTES } from './sealed-text.ts'

const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
// The first byte of each value, so that a later form can be distinguished.
const FORM = 1

type OwnedLane = Parameters<SessionStore['open']>[0]

/**
 * Encrypts sessions, each with a data key of its own. The key ring seals only that, so a rotation rewrites one text for each
 * connection and not thousands of keys.
 */
export class EncryptedSessionStore implements SessionStore {
  readonly #rows: SessionRows
  readonly #secrets: Secrets

  constructor({ rows, secrets }: { readonly rows: SessionRows; readonly secrets: Secrets }) {
    this.#rows = rows
    this.#secrets = secrets
  }

  async open(lane: OwnedLane): Promise<OpenedSession | null> {
    const found = await this.#rows.find(lane)
    if (!found) return null
    const { connectionId, epoch } = lane
    const right = { connectionId, epoch, holds: found.holds }
    const cipher = found.row
      ? openSessionCipher(this.#secrets, { ...lane, dataKey: found.row.dataKey })
      : new SessionCipher(connectionId, randomBytes(KEY_BYTES))
    return new EncryptedSession({
      rows: this.#rows,
      right,
      cipher,
      row: found.row,
      seal: (key) => this.#seal(lane, key),
    })
  }

  async remove({ connectionId, epoch }: Parameters<SessionStore['remove']>[0]): Promise<boolean> {
    const found = await this.#rows.find({ connectionId, epoch })
    return found !== null && this.#rows.remove({ connectionId, epoch, holds: found.holds })
  }

  findRequest(lane: Parameters<SessionStore['findRequest']>[0]): ReturnType<SessionStore['findRequest']> {
    return this.#rows.findRequest(lane)
  }

  async report(lane: OwnedLane, { code, endsWaits = [], ...progress }: ReportedProgress): Promise<boolean> {
    const { connectionId, accountId } = lane
    const place = placeOfCode({ id: connectionId, accountId }, progress.id)
    const sealed = code === undefined ? null : this.#secrets.seal(code, place)
    return this.#rows.report(lane, { connectionId, ...progress, code: sealed, endsWaits })
  }

  writeStatus(...given: Parameters<SessionStore['writeStatus']>): Promise<void> {
    return this.#rows.writeStatus(...given)
  }

  #seal(lane: OwnedLane, dataKey: Buffer): string {
    return this.#secrets.seal(dataKey.toString('base64'), placeOfDataKey(lane))
  }
}

interface SealedDataKey {
  readonly connectionId: ConnectionId
  readonly accountId: AccountId
  readonly dataKey: string
}

/** What encrypts the values of a session. Throws `SecretUnreadable` without the right key. */
export function openSessionCipher(secrets: Pick<Secrets, 'open'>, { dataKey, ...owner }: SealedDataKey): SessionCipher {
  return new SessionCipher(owner.connectionId, Buffer.from(secrets.open(dataKey, placeOfDataKey(owner)), 'base64'))
}

function placeOfDataKey({
  connectionId,
  accountId,
}: {
  connectionId: ConnectionId
  accountId: AccountId
}): SecretPlace {
  return { purpose: 'session', accountId, owner: connectionId, name: 'data_key' }
}

interface SessionParts {
  readonly rows: SessionRows
  readonly right: SessionRight
  readonly cipher: SessionCipher
  readonly row: SessionRow | null
  readonly seal: (dataKey: Buffer) => string
}

class EncryptedSession implements OpenedSession {
  readonly credentials: Uint8Array | null
  readonly mustReset: boolean
  readonly #parts: SessionParts
  #isStored: boolean

  constructor(parts: SessionParts) {
    const { row, right, cipher } = parts
    this.#parts = parts
    this.#isStored = row !== null
    this.credentials = row && cipher.open(row.credentials, CREDENTIALS)
    this.mustReset = row !== null && row.holds !== right.holds
  }

  async read(kind: string, ids: readonly string[]): Promise<ReadonlyMap<string, Uint8Array>> {
    const { rows, right, cipher } = this.#parts
    const found = await rows.read(right.connectionId, kind, ids)
    return new Map([...found].map(([id, value]) => [id, cipher.open(value, { kind, id })]))
  }

  async write(change: SessionChange): Promise<boolean> {
    const { rows, right, cipher, seal } = this.#parts
    const { credentials, keys = [] } = change
    const encrypted: SessionChange = {
      ...change,
      ...(credentials && { credentials: cipher.seal(credentials, CREDENTIALS) }),
      keys: keys.map((key) => ({ ...key, value: key.value && cipher.seal(key.value, key) })),
    }
    const isFirst = !this.#isStored && credentials !== undefined
    const isWritten = await rows.write(right, isFirst ? { ...encrypted, dataKey: seal(cipher.dataKey) } : encrypted)
    if (isWritten) this.#isStored = true
    return isWritten
  }

  async remove(): Promise<boolean> {
    return this.#parts.rows.remove(this.#parts.right)
  }
}

/** Where a value lies. It opens nowhere else. */
interface ValuePlace {
  readonly kind: string
  readonly id: string
}

export const CREDENTIALS: ValuePlace = { kind: 'credentials', id: '' }

class SessionCipher {
  readonly dataKey: Buffer
  readonly #connectionId: ConnectionId

  constructor(connectionId: ConnectionId, dataKey: Buffer) {
    this.dataKey = dataKey
    this.#connectionId = connectionId
  }

  /** The form, the nonce, the ciphertext and its tag. */
  seal(value: Uint8Array, place: ValuePlace): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, this.dataKey, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(this.#bytesOf(place))
    return Buffer.concat([Buffer.of(FORM), nonce, cipher.update(value), cipher.final(), cipher.getAuthTag()])
  }

  open(value: Uint8Array, place: ValuePlace): Buffer {
    const nonceEnd = 1 + NONCE_BYTES
    try {
      const decipher = createDecipheriv(CIPHER, this.dataKey, value.subarray(1, nonceEnd), { authTagLength: TAG_BYTES })
      decipher.setAAD(this.#bytesOf(place))
      decipher.setAuthTag(value.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(value.subarray(nonceEnd, -TAG_BYTES)), decipher.final()])
    } catch (error) {
      throw new SecretUnreadable(
        `The ${place.kind} of the session of ${this.#connectionId} does not open: it was changed, or copied here from another place.`,
        { cause: error },
      )
    }
  }

  /** As JSON, which differs for any two places. */
  #bytesOf({ kind, id }: ValuePlace): Buffer {
    return Buffer.from(JSON.stringify([FORM, this.#connectionId, kind, id]))
  }
}
