import { blockedRecipientsKeepTheirPromises } from './blocked-recipients.ts'
import { channelConnectionsAreFound } from './channel-connections.ts'
import { channelMemoryKeepsItsPromises } from './channel-memory.ts'
import { deliveriesKeepTheirPromises } from './deliveries.ts'
import { intakeKeepsItsPromises } from './intake.ts'
import { lanesKeepTheirPromises } from './lanes.ts'
import { mediaQueueKeepsItsPromises } from './media-queue.ts'
import { noticesKeepTheirPromises } from './notices.ts'
import { receiptsKeepTheirPromises } from './receipts.ts'
import { retentionKeepsItsPromises } from './retention.ts'
import { sendingAgainKeepsItsPromises } from './send-again.ts'
import { lanesWithSessionsAreClaimed, sessionRequestsAreCarried, sessionsAreStored } from './sessions.ts'
import type { NewWorld, Suite } from './storage-world.ts'

/** The promises every storage engine keeps. An engine is supported when this suite passes on it. */
export function messageStorageKeepsItsPromises(suite: Suite, newWorld: NewWorld): void {
  channelMemoryKeepsItsPromises(suite, newWorld)
  channelConnectionsAreFound(suite, newWorld)
  intakeKeepsItsPromises(suite, newWorld)
  lanesKeepTheirPromises(suite, newWorld)
  receiptsKeepTheirPromises(suite, newWorld)
  sendingAgainKeepsItsPromises(suite, newWorld)
  mediaQueueKeepsItsPromises(suite, newWorld)
  noticesKeepTheirPromises(suite, newWorld)
  blockedRecipientsKeepTheirPromises(suite, newWorld)
  deliveriesKeepTheirPromises(suite, newWorld)
  retentionKeepsItsPromises(suite, newWorld)
  sessionsAreStored(suite, newWorld)
  lanesWithSessionsAreClaimed(suite, newWorld)
  sessionRequestsAreCarried(suite, newWorld)
}
