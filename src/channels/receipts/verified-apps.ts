import { secretPlaceOf } from '../../core/connection/secret-place.ts'
import type { ChannelConnection, ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { type Secrets, SecretUnreadable } from '../../core/ports/secrets.ts'

/** The connections that share an address for callbacks, and what proves that a callback to it is their network's. */
export interface VerifiedApp<Name extends string> {
  /** The living ones first, and removed ones: reports about them still come. */
  readonly connections: readonly ChannelConnection[]
  /** The secrets of the living connections, by the name of the stored setting; each once. */
  readonly secretsOf: Readonly<Record<Name, readonly string[]>>
  /** How many of the secrets could not be opened: the key ring is not the one that they were sealed with. */
  readonly unreadable: number
  readonly readMonotonic: number
}

// How long other processes still accept callbacks of a removed connection, and how long an unknown address is not looked up again.
const CACHED_MS = 10_000
// If a signature does not fit, a secret may just have been changed. So it is looked up again, but not more often than this.
const UNVERIFIED_AFTER_MS = 1_000
// Opened secrets are kept in memory for so many addresses at once.
const MOST_KEPT = 1_000
// What `connection.callback_app` may be, and a little more. Other addresses are not looked up.
const ADDRESS = /^[0-9A-Za-z]{8,64}$/

interface VerifiedAppsParts {
  readonly connections: ChannelConnections
  readonly secrets: Secrets
  readonly clock: Clock
}

/** The secrets that verify callbacks, by the last part of their address. Opened secrets stay in memory for seconds only. */
export class VerifiedApps<Name extends string> {
  readonly #connections: ChannelConnections
  readonly #secrets: Secrets
  readonly #clock: Clock
  readonly #names: readonly Name[]
  readonly #known = new Map<string, VerifiedApp<Name>>()
  readonly #reading = new Map<string, Promise<VerifiedApp<Name>>>()

  /** `names`: of the secrets, among the stored settings. */
  constructor(parts: VerifiedAppsParts, names: readonly Name[]) {
    this.#connections = parts.connections
    this.#secrets = parts.secrets
    this.#clock = parts.clock
    this.#names = names
  }

  /** Null when no living connection has this address. Rejects with `StorageUnavailable`. */
  async find(callbackApp: string): Promise<VerifiedApp<Name> | null> {
    if (!ADDRESS.test(callbackApp)) return null
    const known = this.#known.get(callbackApp)
    const app = known && this.#ageOf(known) < CACHED_MS ? known : await this.#read(callbackApp)
    return hasLiving(app) ? app : null
  }

  /** The connections whose secrets fit the callback. If the cached ones do not fit, they are read again. Null when none fit. */
  async findFitting(
    callbackApp: string,
    known: VerifiedApp<Name>,
    fits: (app: VerifiedApp<Name>) => boolean,
  ): Promise<VerifiedApp<Name> | null> {
    if (fits(known)) return known
    // It was read so recently that it cannot be out of date.
    if (this.#ageOf(known) < UNVERIFIED_AFTER_MS) return null
    const anew = await this.#read(callbackApp)
    return hasLiving(anew) && fits(anew) ? anew : null
  }

  #ageOf({ readMonotonic }: VerifiedApp<Name>): number {
    return this.#clock.monotonic() - readMonotonic
  }

  /** Concurrent callers share one query. */
  #read(callbackApp: string): Promise<VerifiedApp<Name>> {
    const running = this.#reading.get(callbackApp)
    if (running) return running
    const reading = this.#readNow(callbackApp).finally(() => this.#reading.delete(callbackApp))
    this.#reading.set(callbackApp, reading)
    return reading
  }

  async #readNow(callbackApp: string): Promise<VerifiedApp<Name>> {
    const connections = await this.#connections.ofCallbackApp(callbackApp)
    const living = connections.filter(({ isRemoved }) => !isRemoved)
    const opened = this.#names.map((name) => living.map((connection) => this.#open(connection, name)))
    const app: VerifiedApp<Name> = {
      connections,
      secretsOf: Object.fromEntries(
        this.#names.map((name, i) => [name, distinct(opened[i] ?? [])]),
      ) as VerifiedApp<Name>['secretsOf'],
      unreadable: opened.flat().filter((secret) => secret === null).length,
      readMonotonic: this.#clock.monotonic(),
    }
    this.#keep(callbackApp, app)
    return app
  }

  #keep(callbackApp: string, app: VerifiedApp<Name>): void {
    // Written anew, so that the first one in the map is the one that was read longest ago.
    this.#known.delete(callbackApp)
    this.#known.set(callbackApp, app)
    const [oldest] = this.#known.keys()
    if (this.#known.size > MOST_KEPT && oldest !== undefined) this.#known.delete(oldest)
  }

  #open(connection: ChannelConnection, name: Name): string | null {
    const sealed = connection.settings[name]
    if (typeof sealed !== 'string') return ''
    try {
      return this.#secrets.open(sealed, secretPlaceOf(connection, name))
    } catch (error) {
      if (error instanceof SecretUnreadable) return null
      throw error
    }
  }
}

function hasLiving({ connections }: Pick<VerifiedApp<string>, 'connections'>): boolean {
  return connections.some(({ isRemoved }) => !isRemoved)
}

/** Leaves out missing secrets, and empty ones: everybody could sign with an empty secret. */
function distinct(secrets: readonly (string | null)[]): readonly string[] {
  return [...new Set(secrets)].filter((secret): secret is string => secret !== null && secret !== '')
}
