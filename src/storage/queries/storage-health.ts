import type { Instant } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Outage, StorageError, StorageUnavailable } from '../../core/ports/lanes.ts'
import { capitalized } from '../../format/capitalized.ts'

// A full disk may still take a small row when it no longer takes a message. So soon after a failure, such a row proves nothing.
const REMEMBERED_MS = 3_000

type KnownError = StorageError & { readonly since: Instant }

/** Whether this process can write, as its own commits and heartbeats have shown. Cheap. */
export class StorageHealth {
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  #error: KnownError | null = null
  #failedMonotonic = 0
  #outage: Outage | null = null

  constructor(clock: Pick<Clock, 'now' | 'monotonic'>) {
    this.#clock = clock
  }

  /** Null while everything can be written. */
  get error(): KnownError | null {
    return this.#error
  }

  failed({ message }: StorageUnavailable): void {
    this.#failedMonotonic = this.#clock.monotonic()
    const since = this.#error?.since ?? this.#clock.now()
    this.#error = { ...toStorageError(message, since), since }
  }

  wrote(): void {
    if (!this.#error || this.#clock.monotonic() - this.#failedMonotonic <= REMEMBERED_MS) return
    const { since, cause } = this.#error
    this.#outage = { since: this.#outage?.since ?? since, until: this.#clock.now(), cause }
    this.#error = null
  }

  /** The last outage, together with those since the last call; null when there was none, or one is not over yet. */
  takeOutage(): Outage | null {
    const outage = this.#error ? null : this.#outage
    if (outage) this.#outage = null
    return outage
  }
}

/** `why`: half a sentence, the message of `StorageUnavailable`. */
export function toStorageError(why: string, since: Instant | null): StorageError {
  return { since, cause: `${capitalized(why)}.` }
}
