import type { NewChannelWorld, Suite } from './channel-world.ts'
import { evidenceIsTrue } from './evidence.ts'
import { messagesAreHandedOver } from './handing-over.ts'
import { errorsAreReportedHonestly } from './network-errors.ts'
import { reportsAreApplied } from './reporting.ts'
import { settingsAreKept } from './settings.ts'

/** The promises every channel keeps (core/ports/channel.ts). A channel is supported when this suite passes on it. */
export function channelKeepsItsPromises(suite: Suite, newWorld: NewChannelWorld): void {
  settingsAreKept(suite, newWorld)
  messagesAreHandedOver(suite, newWorld)
  errorsAreReportedHonestly(suite, newWorld)
  evidenceIsTrue(suite, newWorld)
  reportsAreApplied(suite, newWorld)
}
