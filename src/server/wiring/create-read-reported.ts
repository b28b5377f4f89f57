import { WHATSAPP_CLOUD } from '../../channels/whatsapp-cloud/name.ts'
import { NumberMemory } from '../../channels/whatsapp-cloud/number-memory.ts'
import { toldFacts } from '../../channels/whatsapp-cloud/reported-facts.ts'
import type { ChannelMemory } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { Connecting } from '../../core/ports/connection-service.ts'

interface ReadReportedParts {
  readonly channelMemory: (channel: string) => ChannelMemory
  readonly clock: Clock
}

/** Reads what networks have reported of connections by themselves. */
export function createReadReported({ channelMemory, clock }: ReadReportedParts): Connecting['readReported'] {
  const numbers = new NumberMemory(channelMemory(WHATSAPP_CLOUD), clock)
  return async ({ channel, id }, after) =>
    channel === WHATSAPP_CLOUD ? toldFacts(await numbers.readAfter(id, after)) : []
}
