import type { Calls } from './calls.ts'
import type { Credentials, KeyStore, Library } from './library.ts'
import type { HostMethods, ThreadMethods } from './messages.ts'

export type HostCalls = Calls<HostMethods, ThreadMethods>

// WhatsApp notifies of changes. One whose notification was lost is noticed within a day.
const DEVICES_FRESH_MS = 24 * 3_600_000
const DEVICES_KIND = 'devices'
// Which encrypted sessions the library moves when it learns the other id of a person.
const DEVICE_LIST_KIND = 'device-list'
// The library lists in it everyone whose token it has, so it could not be erased with one of them.
const TOKEN_KIND = 'tctoken'
const TOKEN_INDEX = '__index'
// The library expects entries of this kind as objects of its own class.
const SYNC_KEY_KIND = 'app-state-sync-key'
// As long as the message of an attempt may leave, which encrypts it with what was read.
const READ_ONCE_MS = 1_000

interface StateParts {
  readonly library: Library
  readonly host: HostCalls
  readonly socket: number
}

/** By kind and id; undefined: nothing is stored there. */
type Texts = Map<string, Promise<string | undefined>>

/** What one socket remembers, in the database. Each change is one transaction, committed when its promise resolves. */
export class StoredState implements KeyStore {
  readonly #parts: StateParts
  /** What the running attempt has read, as texts, because the library changes the objects that it is given. Null: none runs. */
  #read: Texts | null = null
  #forgetting: NodeJS.Timeout | undefined

  constructor(parts: StateParts) {
    this.#parts = parts
  }

  /**
   * An attempt begins, and reads nothing twice that is not written in between. Nothing else writes these keys while the worker
   * has the lane. Once it does not, its writes are refused, and a ciphertext is given out only after one.
   */
  readOnce(): void {
    this.#read = new Map()
    clearTimeout(this.#forgetting)
    this.#forgetting = setTimeout(() => {
      this.#read = null
    }, READ_ONCE_MS)
  }

  /** Null: new ones. */
  readCredentials(text: string | null): Credentials {
    if (text === null) return this.#parts.library.initAuthCreds()
    return JSON.parse(text, this.#parts.library.BufferJSON.reviver) as Credentials
  }

  writeCredentials(credentials: Credentials): Promise<void> {
    const { host, socket } = this.#parts
    return host.call('writeCredentials', socket, this.#textOf(credentials))
  }

  async get(kind: string, ids: readonly string[]): Promise<Record<string, unknown>> {
    const { library } = this.#parts
    const texts = await this.#readTexts(kind, ids)
    const values = ids.flatMap((id, index) => {
      const text = texts[index]
      if (text === undefined) return []
      const value: unknown = JSON.parse(text, library.BufferJSON.reviver)
      return [[id, kind === SYNC_KEY_KIND ? library.proto.Message.AppStateSyncKeyData.fromObject(value) : value]]
    })
    return Object.fromEntries(values) as Record<string, unknown>
  }

  async set(changes: Parameters<KeyStore['set']>[0]): Promise<void> {
    const { host, socket } = this.#parts
    const keys = Object.entries(changes).flatMap(([kind, values]) =>
      Object.entries(values)
        .filter(([id]) => !(kind === TOKEN_KIND && id === TOKEN_INDEX))
        .map(([id, value]) => [kind, id, value === null || value === undefined ? null : this.#textOf(value)] as const),
    )
    if (keys.length === 0) return
    // After a failure it is not known what is stored. And what was read meanwhile may be older.
    await host.call('writeKeys', socket, keys).finally(() => this.#forget(keys))
  }

  /** Those that WhatsApp has named within a day; undefined: it is to be asked. */
  async readFreshDevices(user: string): Promise<readonly CachedDevice[] | undefined> {
    const stored = await this.#readDevices(user)
    return stored && Date.now() - stored.at < DEVICES_FRESH_MS ? stored.devices : undefined
  }

  /** As WhatsApp has named them. */
  keepDevices(user: string, devices: readonly CachedDevice[]): Promise<void> {
    return this.set({
      [DEVICES_KIND]: { [user]: { devices, at: Date.now() } satisfies StoredDevices },
      [DEVICE_LIST_KIND]: { [user]: devices.map(({ device }) => String(device)) },
    })
  }

  /** Changes the cached list of devices of a person, if there is one. Null: they are asked for again. */
  async changeDevices(
    user: string,
    change: (devices: readonly CachedDevice[]) => readonly CachedDevice[] | null,
  ): Promise<void> {
    const devices = await this.devices.get(user)
    const changed = devices && change(devices)
    if (changed === null || changed?.length === 0) await this.devices.del(user)
    else if (changed) await this.devices.set(user, changed)
  }

  /**
   * The cache of devices that the library asks for. It returns them however old they are, because the library fetches new keys
   * of a person whose devices it does not find. What the library sets comes from a notification of one change, so the age of
   * the list stays.
   */
  get devices() {
    return {
      get: async (user: string): Promise<readonly CachedDevice[] | undefined> =>
        (await this.#readDevices(user))?.devices,
      set: async (user: string, devices: readonly CachedDevice[]): Promise<void> => {
        const at = (await this.#readDevices(user))?.at ?? Date.now()
        await this.set({ [DEVICES_KIND]: { [user]: { devices, at } satisfies StoredDevices } })
      },
      del: (user: string): Promise<void> => this.set({ [DEVICES_KIND]: { [user]: null } }),
      // Part of the library's type, and never called.
      flushAll: async (): Promise<void> => {},
    }
  }

  async #readDevices(user: string): Promise<StoredDevices | undefined> {
    return (await this.get(DEVICES_KIND, [user]))[user] as StoredDevices | undefined
  }

  #readTexts(kind: string, ids: readonly string[]): Promise<readonly (string | undefined)[]> {
    const { host, socket } = this.#parts
    const read: Texts = this.#read ?? new Map()
    const missing = ids.filter((id) => !read.has(placeOf(kind, id)))
    if (missing.length > 0) {
      const found = host.call('readKeys', socket, kind, missing).then((entries) => new Map(entries))
      const texts = missing.map((id) => [placeOf(kind, id), found.then((entries) => entries.get(id))] as const)
      for (const [place, text] of texts) read.set(place, text)
      found.catch(() => {
        for (const [place] of texts) read.delete(place)
      })
    }
    return Promise.all(ids.map(async (id) => read.get(placeOf(kind, id))))
  }

  #forget(keys: readonly (readonly [kind: string, id: string, text: string | null])[]): void {
    for (const [kind, id] of keys) this.#read?.delete(placeOf(kind, id))
  }

  #textOf(value: unknown): string {
    return JSON.stringify(value, this.#parts.library.BufferJSON.replacer)
  }
}

function placeOf(kind: string, id: string): string {
  return `${kind}/${id}`
}

/** As the library caches it, under its user. */
export interface CachedDevice {
  readonly user: string
  readonly server: string
  readonly device: number
}

interface StoredDevices {
  readonly devices: readonly CachedDevice[]
  readonly at: number
}
