import type { AdapterCapabilities } from '../../core/connection/adapter-capabilities.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { CHANGED_CAPABILITIES_KIND } from '../../core/ports/watch.ts'
import type { AskedConnection } from './adapter-client.ts'
import { readBridgeSettings } from './settings.ts'

const KIND = CHANGED_CAPABILITIES_KIND.slice('bridge.'.length)
const KEY = 'said'

/**
 * Keeps what an adapter says that it can do where that is not what was stored when its connection was checked. The watchdog raises
 * an alarm for it; nothing is taken over before a person checks the connection. One row for each connection.
 */
export class CapabilityChanges {
  readonly #memory: ChannelState
  readonly #clock: Clock

  constructor(memory: ChannelState, clock: Clock) {
    this.#memory = memory
    this.#clock = clock
  }

  /** Never rejects. */
  async compare({ id: connectionId, settings }: AskedConnection, said: AdapterCapabilities): Promise<void> {
    const { capabilities } = readBridgeSettings(settings)
    if (capabilities === null) return
    const value = JSON.stringify(said)
    const isSame = value === JSON.stringify(capabilities)
    try {
      const known = await this.#memory.find(KIND, connectionId, KEY)
      if (known && (isSame || known.value !== value)) await this.#memory.remove(KIND, known.position)
      if (!isSame) await this.#memory.add(KIND, { connectionId, key: KEY, value, at: this.#clock.now() })
    } catch {
      // Compared again with the next answer.
    }
  }
}
