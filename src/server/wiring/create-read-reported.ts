import { WHATSAPP_CLOUD } from '../../channels/whatsapp-cloud/name.ts'
import { NumberMemory } from '../../channels/whatsapp-cloud/number-memory.ts'
import { reportedFacts } from '../../channels/whatsapp-cloud/reported-facts.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { ConnectionService } from '../../core/ports/connection-service.ts'

interface ReadReportedParts {
  readonly channelState: (channel: string) => ChannelState
  readonly clock: Clock
}

/** Reads what networks have reported of connections by themselves. */
export function createReadReported({ channelState, clock }: ReadReportedParts): ConnectionService['readReported'] {
  const numbers = new NumberMemory(channelState(WHATSAPP_CLOUD), clock)
  return async ({ channel, id }, after) =>
    channel === WHATSAPP_CLOUD ? reportedFacts(await numbers.readAfter(id, after)) : []
}
