import type { AdapterCapabilities } from '../../core/connection/adapter-capabilities.ts'
import type { ConnectionId } from '../../core/ids.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { CHANGED_CAPABILITIES_KIND } from '../../core/ports/watch.ts'
import type { AskedConnection } from './adapter-client.ts'
import { readBridgeSettings } from './settings.ts'

const KIND = CHANGED_CAPABILITIES_KIND.slice('bridge.'.length)
const KEY = 'said'
// Of connections that this process has not asked lately.
const MOST_KEPT = 10_000

/**
 * Keeps what an adapter says that it can do where that is not what was stored when its connection was checked. The watchdog raises
 * an alarm for it; nothing is taken over before a person checks the connection. One row for each connection.
 */
export class CapabilityChanges {
  readonly #memory: ChannelState
  readonly #clock: Clock
  /** What was stored and said when they were last compared. */
  readonly #compared = new Map<ConnectionId, string>()

  constructor(memory: ChannelState, clock: Clock) {
    this.#memory = memory
    this.#clock = clock
  }

  /** Never rejects: without storage it is compared again with the next answer. */
  async compare({ id: connectionId, settings }: AskedConnection, said: AdapterCapabilities): Promise<void> {
    const { capabilities } = readBridgeSettings(settings)
    if (capabilities === null) return
    const [stored, value] = [JSON.stringify(capabilities), JSON.stringify(said)]
    if (this.#compared.get(connectionId) === stored + value) return
    try {
      const known = await this.#memory.find(KIND, connectionId, KEY)
      if (known && known.value !== value) await this.#memory.remove(KIND, known.position)
      if (value !== stored) await this.#memory.add(KIND, { connectionId, key: KEY, value, at: this.#clock.now() })
    } catch {
      return
    }
    if (this.#compared.size >= MOST_KEPT) this.#compared.clear()
    this.#compared.set(connectionId, stored + value)
  }
}
