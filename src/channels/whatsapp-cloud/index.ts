import { MESSAGE_TYPES } from '../../core/message/message.ts'
import type { CallbackReceiver } from '../../core/ports/callbacks.ts'
import type { Channel } from '../../core/ports/channel.ts'
import type { ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { ECHO_KIND } from '../receipts/echoes.ts'
import { StateCleanup } from '../receipts/state-cleanup.ts'
import { createCallbackReceiver } from './callbacks/create-callback-receiver.ts'
import { GraphClient } from './graph-client.ts'
import { MOST_CAPTION, MOST_TEXT } from './message-body.ts'
import { WHATSAPP_CLOUD } from './name.ts'
import { NumberMemory } from './number-memory.ts'
import { Pace } from './pace.ts'
import { rateLimitDelayOf } from './rate-limit-delay.ts'
import { sendToCloud } from './send.ts'
import { parseWhatsAppCloudSettings } from './settings.ts'
import { REPEAT_KIND } from './statuses/repeats.ts'
import { StatusApplier } from './statuses/status-applier.ts'
import { prepareUpload } from './upload.ts'
import { UPLOAD_KIND, UploadMemory } from './upload-memory.ts'
import { WINDOW_KIND, WindowMemory } from './window-memory.ts'

/** How long one call may take: no time limit of Meta's is published, and its own archived SDK gave up after 20 s. */
const CALL_BUDGET_MS = 30_000
/** How long a report that shows that Meta took a message may take; it usually comes within seconds. */
const EVIDENCE_WAIT_MS = 60_000
// A connection has one call at a time; this is how many connections call at once before others queue.
const MOST_CALLS = 256
const MOST_UPLOADS = 32
/** What is remembered for a time only. */
export const FORGOTTEN_KINDS = [UPLOAD_KIND, WINDOW_KIND, ECHO_KIND, REPEAT_KIND]

interface WhatsAppCloudParts {
  readonly memory: ChannelState
  readonly clock: Clock
  readonly secrets: Secrets
  readonly connections: ChannelConnections
  /** Where the Graph API is, without a slash at the end. */
  readonly baseUrl: string
  /** Called with events that no request caused. */
  readonly note?: (event: JournalEvent) => void
}

export interface WhatsAppCloud extends Channel {
  readonly callbacks: CallbackReceiver
}

/**
 * The official WhatsApp Business Cloud API. All that decides about a message is in storage, so that any worker can go on
 * where another ended; what is kept in the process besides is only pace, which the network enforces anyway.
 */
export function createWhatsAppCloud(parts: WhatsAppCloudParts): WhatsAppCloud {
  const { memory, clock, secrets, connections, baseUrl, note = () => {} } = parts
  const calls = new GraphClient(baseUrl, { connections: MOST_CALLS })
  const uploading = new GraphClient(baseUrl, { connections: MOST_UPLOADS })
  const windows = new WindowMemory(memory)
  const numbers = new NumberMemory(memory, clock)
  const uploads = new UploadMemory(memory, clock)
  const pace = new Pace()
  const statuses = new StatusApplier({ memory, connections, windows, numbers, clock, note })
  const cleanup = new StateCleanup(memory, clock, FORGOTTEN_KINDS)
  return {
    name: WHATSAPP_CLOUD,
    capabilities: {
      types: MESSAGE_TYPES,
      maxTextLength: MOST_TEXT,
      maxCaptionLength: MOST_CAPTION,
      // Meta has no id of ours by which it would know a repeat: `biz_opaque_callback_data` is only given back.
      recognisesRepeat: false,
      evidenceWaitMs: EVIDENCE_WAIT_MS,
      callBudgetMs: CALL_BUDGET_MS,
    },
    callbacks: createCallbackReceiver({
      memory,
      connections,
      secrets,
      clock,
      note,
      applying: statuses,
    }),
    parseSettings: parseWhatsAppCloudSettings,
    async start(events) {
      statuses.start(events)
      cleanup.start()
    },
    async stop() {
      cleanup.stop()
      await statuses.stop()
      await Promise.all([calls.close(), uploading.close()])
    },
    prepare: (handover, signal) => prepareUpload({ client: uploading, uploads, secrets, clock }, handover, signal),
    rateLimitDelayOf: (next, now) => rateLimitDelayOf({ pace, numbers }, next, now),
    send: (handover, signal, stillHolds) =>
      sendToCloud({ client: calls, uploads, windows, numbers, pace, secrets, clock, note }, handover, {
        signal,
        stillHolds,
      }),
    // Any report about the attempt shows that Meta took it. That none came shows nothing.
    reconcile: (open) => statuses.findEcho(open),
  }
}
