import type { Instant } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Outage, StorageTrouble, StorageUnavailable } from '../../core/ports/lanes.ts'

// A full disk may still take a small row where it no longer takes a message: one that was written proves nothing so soon.
const REMEMBERED_MS = 3_000

type KnownTrouble = StorageTrouble & { readonly since: Instant }

/** Whether this process can write, as its own commits and heartbeats have shown. Cheap. */
export class StorageHealth {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #trouble: KnownTrouble | null = null
  #failedMonotonic = 0
  #outage: Outage | null = null

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** Null while everything can be written. */
  get trouble(): KnownTrouble | null {
    return this.#trouble
  }

  failed({ message }: StorageUnavailable): void {
    this.#failedMonotonic = this.#clock.monotonic()
    const since = this.#trouble?.since ?? this.#clock.now()
    this.#trouble = { ...toStorageTrouble(message, since), since }
  }

  wrote(): void {
    if (!this.#trouble || this.#clock.monotonic() - this.#failedMonotonic <= REMEMBERED_MS) return
    const { since, cause } = this.#trouble
    this.#outage = { since: this.#outage?.since ?? since, until: this.#clock.now(), cause }
    this.#trouble = null
  }

  /** The last one, with those since it was last taken; null while there is none, or one is not over. */
  takeOutage(): Outage | null {
    const outage = this.#trouble ? null : this.#outage
    if (outage) this.#outage = null
    return outage
  }
}

/** `why`: half a sentence, as `StorageUnavailable` says it. */
export function toStorageTrouble(why: string, since: Instant | null): StorageTrouble {
  return { since, cause: `${why.charAt(0).toUpperCase()}${why.slice(1)}.` }
}
