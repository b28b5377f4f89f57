import { WHATSAPP_CLOUD } from '../channels/whatsapp-cloud/name.ts'
import { NumberMemory } from '../channels/whatsapp-cloud/number-memory.ts'
import { toldFacts } from '../channels/whatsapp-cloud/told-facts.ts'
import type { ChannelMemory } from '../core/ports/channel-memory.ts'
import type { ConnectionFact } from '../core/ports/channel-set-up.ts'
import type { Clock } from '../core/ports/clock.ts'
import type { StoredConnection } from '../core/ports/connecting.ts'

export interface LastFactsParts {
  readonly channelMemory: (channel: string) => ChannelMemory
  readonly clock: Clock
}

/** Looks up what networks have told of connections by themselves. Null: nothing. */
export function createLastFacts({
  channelMemory,
  clock,
}: LastFactsParts): (connection: StoredConnection) => Promise<readonly ConnectionFact[] | null> {
  const numbers = new NumberMemory(channelMemory(WHATSAPP_CLOUD), clock)
  return async ({ channel, id }) => (channel === WHATSAPP_CLOUD ? toldFacts(await numbers.read(id)) : null)
}
