import type { ConnectionId } from '../../core/ids.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { type Adapter, type AdapterClient, type AskedConnection, withoutSecrets } from './adapter-client.ts'
import type { CapabilityChanges } from './capability-changes.ts'
import { VERSION } from './protocol.ts'
import { readBridgeSettings } from './settings.ts'

/** Within this time of a signed answer nothing is asked before a message is sent. */
const PROVEN_FOR_MS = 60_000
const FIRST_PROBE_AFTER_MS = 1_000
const SLOWEST_PROBE_MS = 5_000
// After answers that were not the adapter's, although its health was: each of them leaves a message with an unknown result.
const FIRST_REST_MS = 5_000
const LONGEST_REST_MS = 5 * 60_000
/** This many attempts in a row without a complete answer close the gate. A single one may be chance. */
const BROKEN_IN_A_ROW = 2
// How many connections are remembered that this process has not sent for lately.
const MOST_KEPT = 10_000

interface Door {
  /** The key of the settings that it was opened with. */
  readonly settingsKey: string
  /** When the adapter last signed an answer; null when it is not known to be ready. */
  provenAt: number | null
  /** When it was last asked how it is. Signed answers to attempts say nothing of what it can do. */
  askedAt: number
  /** Nothing is asked or sent before. */
  restsUntil: number
  failedProbes: number
  unsignedInARow: number
  brokenInARow: number
  probing: Promise<void> | null
  words: string | null
}

interface GateParts {
  readonly client: AdapterClient
  readonly clock: Clock
  readonly changes: Pick<CapabilityChanges, 'compare'>
}

/**
 * Knows whether the adapter of a connection answers, has the right secret, and reaches its gateway. Without the gate a wrong
 * secret would leave each message of a backlog with an unknown result. With it that is one message, or two if the line breaks.
 *
 *   CLOSED ── signed health, ready ──▶ OPEN ── an unsigned answer, two broken lines, nothing there ──▶ CLOSED
 *
 * The adapter is asked only when a message is to be sent, so a connection without messages costs nothing. In memory: a new
 * process asks again.
 */
export class Gate {
  readonly #parts: GateParts
  readonly #clock: Clock
  readonly #doors = new Map<ConnectionId, Door>()

  constructor(parts: GateParts) {
    this.#parts = parts
    this.#clock = parts.clock
  }

  /** Whether this connection is known not to be ready: for how long at least, and why. Asks in the background when it is time. */
  closedFor(
    asked: AskedConnection,
    open: () => Adapter | null,
  ): { readonly ms: number; readonly words: string | null } | null {
    const door = this.#doorOf(asked)
    if (door.provenAt !== null || door.failedProbes + door.unsignedInARow + door.brokenInARow === 0) return null
    const leftMs = door.restsUntil - this.#clock.monotonic()
    const adapter = leftMs <= 0 ? open() : null
    if (adapter) void this.#probe(door, asked, adapter)
    return { ms: Math.max(leftMs, FIRST_PROBE_AFTER_MS / 4), words: door.words }
  }

  /** Resolves with null when a message may be sent now, and else with the reason why not. */
  async enter(asked: AskedConnection, adapter: Adapter): Promise<{ readonly words: string | null } | null> {
    const door = this.#doorOf(asked)
    const now = this.#clock.monotonic()
    if (door.provenAt !== null && now - door.provenAt < PROVEN_FOR_MS) {
      if (now - door.askedAt >= PROVEN_FOR_MS) void this.#probe(door, asked, adapter)
      return null
    }
    if (now < door.restsUntil) return { words: door.words }
    await this.#probe(door, asked, adapter)
    return door.provenAt === null ? { words: door.words } : null
  }

  /** Notes how an attempt has ended. `away`: nothing took the connection. */
  attempted(id: ConnectionId, how: 'signed' | 'unsigned' | 'broken' | 'away', words: string | null): void {
    const door = this.#doors.get(id)
    if (!door) return
    const now = this.#clock.monotonic()
    if (how === 'signed') {
      Object.assign(door, { provenAt: now, failedProbes: 0, unsignedInARow: 0, brokenInARow: 0, words: null })
      return
    }
    if (how === 'away') {
      Object.assign(door, { provenAt: null, failedProbes: 1, words, restsUntil: now + FIRST_PROBE_AFTER_MS })
      return
    }
    if (how === 'broken') door.brokenInARow += 1
    else door.unsignedInARow += 1
    const incidents = door.unsignedInARow + Math.max(0, door.brokenInARow - BROKEN_IN_A_ROW + 1)
    if (incidents === 0) return
    const restMs = Math.min(FIRST_REST_MS * 2 ** (incidents - 1), LONGEST_REST_MS)
    Object.assign(door, { provenAt: null, words, restsUntil: now + restMs })
  }

  #doorOf({ id, settings }: AskedConnection): Door {
    const { url, secret, oldSecret } = readBridgeSettings(settings)
    // Changes with whatever decides whether the adapter answers.
    const settingsKey = [url, secret, oldSecret].join(' ')
    const known = this.#doors.get(id)
    if (known?.settingsKey === settingsKey) return known
    const door: Door = {
      settingsKey,
      provenAt: null,
      askedAt: 0,
      restsUntil: 0,
      failedProbes: 0,
      unsignedInARow: 0,
      brokenInARow: 0,
      probing: null,
      words: null,
    }
    this.#doors.delete(id)
    this.#doors.set(id, door)
    const [oldest] = this.#doors.keys()
    if (this.#doors.size > MOST_KEPT && oldest !== undefined) this.#doors.delete(oldest)
    return door
  }

  /** Concurrent callers share one. */
  #probe(door: Door, asked: AskedConnection, adapter: Adapter): Promise<void> {
    door.probing ??= this.#ask(door, asked, adapter).finally(() => {
      door.probing = null
    })
    return door.probing
  }

  async #ask(door: Door, asked: AskedConnection, adapter: Adapter): Promise<void> {
    const { client, changes } = this.#parts
    door.askedAt = this.#clock.monotonic()
    const health = await client.health(adapter, new AbortController().signal)
    if (!('kind' in health)) void changes.compare(asked, health.capabilities)
    const now = this.#clock.monotonic()
    const isReady = !('kind' in health) && health.isReady && health.versions.includes(VERSION)
    if (isReady) {
      // What was counted against attempts stays: only a signed answer to one shows that attempts get through.
      Object.assign(door, { provenAt: now, failedProbes: 0, words: null })
      return
    }
    door.failedProbes += 1
    door.provenAt = null
    door.words = whyNot(health, adapter)
    door.restsUntil = now + Math.min(FIRST_PROBE_AFTER_MS * 2 ** (door.failedProbes - 1), SLOWEST_PROBE_MS)
  }
}

function whyNot(health: Awaited<ReturnType<AdapterClient['health']>>, adapter: Adapter): string | null {
  if ('kind' in health) return health.words
  if (!health.isReady) return withoutSecrets(health.words, adapter) ?? 'The adapter says that its gateway is not ready.'
  return `The adapter speaks version ${health.versions.join(', ')} of the protocol, and this is version ${VERSION}.`
}
