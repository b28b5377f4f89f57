import type { AdapterCapabilities } from '../../core/connection/adapter-capabilities.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { CHANGED_CAPABILITIES_KIND } from '../../core/ports/watch.ts'
import type { AskedConnection } from './adapter-client.ts'
import { readBridgeSettings } from './settings.ts'

const KIND = CHANGED_CAPABILITIES_KIND.slice('bridge.'.length)
const KEY = 'said'

/**
 * Stores the capabilities that an adapter reports, if they are not those from the last check of its connection. The watchdog raises
 * an alarm. They are used only after a person has checked the connection again. One row for each connection.
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
