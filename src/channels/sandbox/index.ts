import type { ConnectionId } from '../../core/ids.ts'
import { MESSAGE_TYPES } from '../../core/message/message.ts'
import type { Channel, Evidence, OpenQuestion } from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { commandOf } from './commands.ts'
import { networkIdOf, SandboxInbox } from './inbox.ts'
import { MediaCopies } from './media-copies.ts'
import { SandboxReceipts } from './receipts.ts'
import { sendToSandbox } from './send.ts'
import { parseSandboxSettings } from './settings.ts'

export const SANDBOX = 'sandbox'

interface SandboxParts {
  readonly memory: ChannelState
  readonly clock: Clock
  /** Where copies of delivered media lie, and how much room they may take. */
  readonly mediaFolder: string
  readonly mediaBytes: number
  /** Does what command 0008 asks for: kills the process, or drops the claim of this connection. */
  readonly crash: (connectionId: ConnectionId) => void
}

/**
 * A network that exists only in storage: it delivers into an inbox, and fails on command. Several workers can run it
 * together, and each goes on where another ended.
 */
export function createSandbox(parts: SandboxParts): Channel {
  const inbox = new SandboxInbox(parts.memory, new MediaCopies(parts.mediaFolder, parts.mediaBytes))
  const receipts = new SandboxReceipts(parts.memory, parts.clock)
  return {
    name: SANDBOX,
    capabilities: {
      types: MESSAGE_TYPES,
      maxTextLength: null,
      maxCaptionLength: null,
      recognisesRepeat: false,
      evidenceWaitMs: 60_000,
      callBudgetMs: 30_000,
    },
    parseSettings: parseSandboxSettings,
    start: (events) => receipts.start(events),
    async stop() {
      receipts.stop()
    },
    send: (handover, signal, stillHolds) =>
      sendToSandbox({ ...parts, inbox, receipts }, handover, { signal, stillHolds }),
    reconcile: (open) =>
      // Storage logs by itself that it is away. What is not known now may be known later.
      findAttempt({ inbox, receipts, clock: parts.clock }, open).catch(() => ({ kind: 'nothing-yet' })),
  }
}

/** What the inbox shows about an attempt whose worker may be dead. */
async function findAttempt(
  {
    inbox,
    receipts,
    clock,
  }: { readonly inbox: SandboxInbox; readonly receipts: SandboxReceipts; readonly clock: Clock },
  open: OpenQuestion,
): Promise<Evidence> {
  const { messageId, to } = open
  const accepted: Evidence = { kind: 'accepted', networkId: networkIdOf(messageId) }
  switch (commandOf(to)) {
    // These commands demonstrate an unknown result, so no evidence may ever resolve it.
    case 'unknown-delivered':
    case 'unknown-lost':
      return { kind: 'nothing-ever' }
    case 'refuse-later':
      if (await receipts.isPlanned(open, 'failed')) return accepted
      return { kind: 'not-sent', words: 'the sandbox does not know of it' }
    default: {
      const record = await inbox.settle(open, clock.now())
      if (!record) return { kind: 'not-sent', words: 'it is not in the inbox' }
      // Its worker may have died after it had delivered and before it had planned them.
      for (const receipt of record.receipts ?? []) await receipts.plan(open, receipt)
      return accepted
    }
  }
}
