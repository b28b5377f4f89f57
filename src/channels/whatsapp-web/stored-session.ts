import type { HeldLane } from '../../core/ports/channel.ts'
import type { OpenedSession, SessionKey, SessionStore } from '../../core/ports/session-store.ts'
import type { SessionStatus } from './close-code.ts'
import { mappingOf, personOf } from './key-recipient.ts'

// What is stored of a ratchet may have been used already (G12).
const RATCHET_KINDS = ['session', 'sender-key', 'sender-key-memory', 'device-list', 'devices']
// More than are uploaded at once, so that no key id is used twice.
const SKIPPED_KEYS = 1_000
const MOST_NUMBERS = 10_000
/** The device that was linked before, until it is unlinked. */
const FORMER_KIND = 'former'
/** By which request of a person the device was linked. */
const REQUEST_KIND = 'linked-by'
/** Why the session stays closed: see `close-code.ts`. */
const STATUS_KIND = 'status'
// What belongs to one device. Names, tokens and known contacts belong to the number.
const DEVICE_KINDS = [
  ...RATCHET_KINDS,
  'pre-key',
  'identity-key',
  'app-state-sync-key',
  'app-state-sync-version',
  STATUS_KIND,
]

type StayingStatus = Extract<SessionStatus, { name: 'banned' | 'taken-elsewhere' }>

interface NumberedKeys {
  nextPreKeyId: number
  firstUnuploadedPreKeyId: number
}

/** The session of a connection as the library writes it: texts by kind and id. */
export class StoredSession {
  readonly #session: OpenedSession
  readonly #onLost: () => void
  readonly #numbers = new Map<string, string>()

  private constructor(session: OpenedSession, onLost: () => void) {
    this.#session = session
    this.#onLost = onLost
  }

  /** Null when this worker may not have it. `onLost` is called when it later turns out that another worker has it (G6). */
  static async open(
    store: SessionStore,
    lane: Pick<HeldLane, 'connectionId' | 'accountId' | 'epoch'>,
    onLost: () => void,
  ): Promise<StoredSession | null> {
    const session = await store.open(lane)
    return session && new StoredSession(session, onLost)
  }

  /** Those to log in with; null: the number is not linked. Rejects when another worker has the session. */
  async readCredentials(): Promise<string | null> {
    const { credentials, mustReset } = this.#session
    if (!credentials) return null
    const text = Buffer.from(credentials).toString()
    if (!mustReset) return text
    const skipped = withUnusedKeys(text)
    await this.#write({ reset: RATCHET_KINDS, credentials: Buffer.from(skipped) })
    return skipped
  }

  writeCredentials(text: string): Promise<void> {
    return this.#write({ credentials: Buffer.from(text) })
  }

  async readKeys(kind: string, ids: readonly string[]): Promise<readonly (readonly [id: string, text: string])[]> {
    const found = await this.#session.read(kind, ids)
    return [...found].map(([id, value]) => [id, Buffer.from(value).toString()])
  }

  /** Rejects when it was not committed. */
  async writeKeys(keys: readonly (readonly [kind: string, id: string, text: string | null])[]): Promise<void> {
    const places = keys.map(([kind, id]) => ({ kind, id }))
    for (const [kind, id, text] of keys) this.#learn({ kind, id }, text)
    const recipients = await Promise.all(places.map((place) => this.#recipientOf(place)))
    const changed = keys.map(
      ([kind, id, text], index): SessionKey => ({
        kind,
        id,
        recipient: recipients[index] ?? null,
        value: text === null ? null : Buffer.from(text),
      }),
    )
    await this.#write({ keys: changed })
  }

  /** Writes a key that is about this recipient. Rejects when it was not committed. */
  writeAbout(recipient: string, [kind, id, text]: readonly [kind: string, id: string, text: string]): Promise<void> {
    return this.#write({ keys: [{ kind, id, recipient, value: Buffer.from(text) }] })
  }

  /** Removes all keys of a kind, and writes one. Rejects when it was not committed. */
  empty(emptied: string, [kind, id, text]: readonly [kind: string, id: string, text: string]): Promise<void> {
    return this.#write({ reset: [emptied], keys: [{ kind, id, recipient: null, value: Buffer.from(text) }] })
  }

  /** Why the session stays closed also after a restart; null: it does not. */
  async readStatus(): Promise<StayingStatus | null> {
    const [entry] = await this.readKeys(STATUS_KIND, [''])
    return entry ? (JSON.parse(entry[1]) as StayingStatus) : null
  }

  keepStatus(status: StayingStatus): Promise<void> {
    return this.writeKeys([[STATUS_KIND, '', JSON.stringify(status)]])
  }

  async forgetStatus(): Promise<void> {
    if (await this.readStatus()) await this.writeKeys([[STATUS_KIND, '', null]])
  }

  /**
   * A device that a phone has just linked takes the place of the one before. One that is kept already stays: the device since
   * then may never have logged in.
   */
  async adopt(credentials: string, request: string): Promise<void> {
    const isKept = (await this.readFormer()) !== null
    const before = isKept ? null : this.#session.credentials && Buffer.from(this.#session.credentials)
    const entry = (kind: string, value: Buffer): SessionKey => ({ kind, id: '', recipient: null, value })
    await this.#write({
      credentials: Buffer.from(credentials),
      reset: DEVICE_KINDS,
      keys: [entry(REQUEST_KIND, Buffer.from(request)), ...(before ? [entry(FORMER_KIND, before)] : [])],
    })
  }

  async wasLinkedBy(request: string): Promise<boolean> {
    const [entry] = await this.readKeys(REQUEST_KIND, [''])
    return entry?.[1] === request
  }

  /** The credentials of the device before; null when there is none, or it is unlinked. */
  async readFormer(): Promise<string | null> {
    const [entry] = await this.readKeys(FORMER_KIND, [''])
    return entry?.[1] ?? null
  }

  async forgetFormer(): Promise<void> {
    await this.writeKeys([[FORMER_KIND, '', null]])
  }

  /** The new device cannot log in, so the one before is used again. False when there is none. */
  async restoreFormer(): Promise<boolean> {
    const former = await this.readFormer()
    if (former === null) return false
    const reset = [...DEVICE_KINDS, FORMER_KIND, REQUEST_KIND]
    // Its ratchets are gone, and its uploaded keys with them.
    await this.#write({ credentials: Buffer.from(withUnusedKeys(former)), reset })
    return true
  }

  async remove(): Promise<void> {
    await this.#session.remove()
  }

  async #write(change: Parameters<OpenedSession['write']>[0]): Promise<void> {
    if (await this.#session.write(change)) return
    this.#onLost()
    throw new Error('the session is not of this worker any more')
  }

  #learn(place: { readonly kind: string; readonly id: string }, text: string | null): void {
    const person = personOf(place)
    const isMapping = person && 'lid' in person && mappingOf(person.lid).kind === place.kind
    if (isMapping && text !== null) this.#remember(person.lid, JSON.parse(text) as string)
  }

  async #recipientOf(place: { readonly kind: string; readonly id: string }): Promise<string | null> {
    const person = personOf(place)
    if (!person || 'number' in person) return person?.number ?? null
    const { lid } = person
    const known = this.#numbers.get(lid)
    if (known !== undefined) return known
    const { kind, id } = mappingOf(lid)
    const [stored] = await this.readKeys(kind, [id])
    // Some kinds have a number where others have WhatsApp's own id.
    const number = stored ? (JSON.parse(stored[1]) as string) : lid
    this.#remember(lid, number)
    return number
  }

  #remember(lid: string, number: string): void {
    if (this.#numbers.size >= MOST_NUMBERS) this.#numbers.clear()
    this.#numbers.set(lid, number)
  }
}

function withUnusedKeys(credentials: string): string {
  const parsed = JSON.parse(credentials) as NumberedKeys
  parsed.nextPreKeyId += SKIPPED_KEYS
  // Then the newest key is missing, and the library uploads new ones.
  parsed.firstUnuploadedPreKeyId = parsed.nextPreKeyId
  return JSON.stringify(parsed)
}
