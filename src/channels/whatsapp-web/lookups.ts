import type { Handover } from '../../core/ports/channel.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { HostedSocket } from './thread/host.ts'
import type { Found } from './thread/messages.ts'

// A first contact takes some ten milliseconds and two round trips.
const ANSWERED_WITHIN_MS = 500
// Long enough for the next attempt of the same message.
const KEPT_MS = 60_000

interface Lookup {
  readonly running: Promise<Found>
  /** By the monotonic clock. Not a timer, because a timer would keep a stopped process alive. */
  forgottenAt: number
}

/**
 * Looks up recipients for attempts. An attempt must not be open for long, because its recipient may be blocked meanwhile. So it
 * does not wait for a slow look-up, whose result the next attempt gets.
 */
export class Lookups {
  readonly #clock: Clock
  readonly #running = new WeakMap<Pick<HostedSocket, 'find'>, Map<string, Lookup>>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `running`: it took too long for this attempt, or was stopped. Never rejects. */
  async find(
    socket: Pick<HostedSocket, 'find'>,
    { to }: Pick<Handover, 'to'>,
    signal: AbortSignal,
  ): Promise<Found | 'running'> {
    const lookups = this.#lookupsOf(socket)
    const lookup = lookups.get(to) ?? begin(socket, to)
    lookups.set(to, lookup)
    const late = Promise.withResolvers<'running'>()
    const stop = () => late.resolve('running')
    const cancel = this.#clock.after(ANSWERED_WITHIN_MS, stop)
    signal.addEventListener('abort', stop, { once: true })
    const found = await Promise.race([lookup.running, late.promise])
    cancel()
    signal.removeEventListener('abort', stop)
    lookup.forgottenAt = this.#clock.monotonic() + KEPT_MS
    if (found !== 'running' && lookups.get(to) === lookup) lookups.delete(to)
    return found
  }

  #lookupsOf(socket: Pick<HostedSocket, 'find'>): Map<string, Lookup> {
    const known = this.#running.get(socket)
    const lookups = known ?? new Map<string, Lookup>()
    if (!known) this.#running.set(socket, lookups)
    const now = this.#clock.monotonic()
    for (const [to, { forgottenAt }] of lookups) if (forgottenAt <= now) lookups.delete(to)
    return lookups
  }
}

function begin(socket: Pick<HostedSocket, 'find'>, to: string): Lookup {
  // It rejects when the thread has ended. Then nothing was written.
  const running = socket.find(to).catch((): Found => ({ kind: 'unanswered' }))
  return { running, forgottenAt: Number.POSITIVE_INFINITY }
}
