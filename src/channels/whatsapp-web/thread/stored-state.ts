import type { Calls } from './calls.ts'
import type { Credentials, KeyStore, Library } from './library.ts'
import type { HostMethods, ThreadMethods } from './messages.ts'

export type HostCalls = Calls<HostMethods, ThreadMethods>

// A change is notified; should that be lost, it is noticed within a day.
const DEVICES_FRESH_MS = 24 * 3_600_000
const DEVICES_KIND = 'devices'
// Which encrypted sessions the library moves when it learns the other id of a person.
const DEVICE_LIST_KIND = 'device-list'
// The library lists in it everyone whose token it has, so it could not be erased with one of them.
const TOKEN_KIND = 'tctoken'
const TOKEN_INDEX = '__index'
// Of one kind that the library wants back as an object of its own.
const SYNC_KEY_KIND = 'app-state-sync-key'

interface StateParts {
  readonly library: Library
  readonly host: HostCalls
  readonly socket: number
}

/** What one socket remembers, in the database. Each change is one transaction, committed when its promise resolves. */
export class StoredState implements KeyStore {
  readonly #parts: StateParts

  constructor(parts: StateParts) {
    this.#parts = parts
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
    const { library, host, socket } = this.#parts
    const found = await host.call('readKeys', socket, kind, ids)
    const values = found.map(([id, text]) => {
      const value: unknown = JSON.parse(text, library.BufferJSON.reviver)
      return [id, kind === SYNC_KEY_KIND ? library.proto.Message.AppStateSyncKeyData.fromObject(value) : value]
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
    if (keys.length > 0) await host.call('writeKeys', socket, keys)
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
   * The cache of devices that the library asks for. It has them however old they are, because the library takes new keys of a
   * person whose devices it does not find. What it sets is a change that was notified, which makes the others no younger.
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

  #textOf(value: unknown): string {
    return JSON.stringify(value, this.#parts.library.BufferJSON.replacer)
  }
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
