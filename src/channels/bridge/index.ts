import type { ConnectionId } from '../../core/ids.ts'
import { MESSAGE_TYPES } from '../../core/message/message.ts'
import type { CallbackReceiver } from '../../core/ports/callbacks.ts'
import type { Channel, ChannelCapabilities, Handover, RateLimitDelay } from '../../core/ports/channel.ts'
import type { ChannelConnections } from '../../core/ports/channel-connections.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { GuardedCall } from '../../core/ports/guarded-call.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import { ECHO_KIND, Echoes } from '../receipts/echoes.ts'
import { ReportQueue } from '../receipts/report-queue.ts'
import { StateCleanup } from '../receipts/state-cleanup.ts'
import { AdapterClient, openAdapter } from './adapter-client.ts'
import { applyReceipt } from './apply-receipt.ts'
import { BrokenPromises, PROMISE_KIND } from './broken-promises.ts'
import { createCallbackReceiver } from './callbacks.ts'
import { CapabilityChanges } from './capability-changes.ts'
import { Gate } from './gate.ts'
import { BRIDGE } from './name.ts'
import type { AdapterReceipt } from './protocol.ts'
import { findEvidence } from './reconcile.ts'
import { REJECTED_KIND, RejectedAttempts } from './rejected-attempts.ts'
import { askedOf, prepareMedia, type SendParts, sendToAdapter } from './send.ts'
import { EVIDENCE_WAIT, hasReceipts, parseBridgeSettings, readBridgeSettings, SEND_TIMEOUT } from './settings.ts'

interface BridgeParts {
  readonly memory: ChannelState
  readonly clock: Clock
  readonly secrets: Secrets
  readonly connections: ChannelConnections
  readonly guarded: GuardedCall
  /** Where adapters reach this service, without a slash at the end. */
  readonly publicUrl: string
  /** Called with events that no request caused. */
  readonly note?: (event: JournalEvent) => void
}

export interface Bridge extends Channel {
  readonly callbacks: CallbackReceiver
}

// Addresses for receipts hardly ever change; another process may change one.
const ADDRESS_KEPT_MS = 60_000
const MOST_ADDRESSES = 10_000
// Added to the adapter's own time, because the gate may first ask whether the adapter is there.
const PROBE_MS = 10_000

const CAPABILITIES: ChannelCapabilities = {
  types: MESSAGE_TYPES,
  maxTextLength: null,
  maxCaptionLength: null,
  // An adapter whose gateway recognises them repeats by itself (docs/decisions/0019).
  recognisesRepeat: false,
  evidenceWaitMs: SEND_TIMEOUT.most + EVIDENCE_WAIT.most,
  callBudgetMs: SEND_TIMEOUT.most + PROBE_MS,
}

/** Any gateway, behind an adapter that speaks the protocol of docs/channels/bridge-protocol.md. */
export function createBridge(parts: BridgeParts): Bridge {
  const { memory, clock, secrets, connections, guarded, note = () => {} } = parts
  const client = new AdapterClient({ guarded, clock, note })
  const gate = new Gate({ client, clock, changes: new CapabilityChanges(memory, clock) })
  const echoes = new Echoes(memory)
  const rejectedAttempts = new RejectedAttempts(memory)
  const brokenPromises = new BrokenPromises({ memory, clock, note })
  const addresses = new ReceiptAddresses(parts)
  const queue = new ReportQueue<AdapterReceipt>({
    memory,
    clock,
    apply: (report, events) =>
      applyReceipt({ events, echoes, rejectedAttempts, brokenPromises, note }, report, clock.now()),
    read: (value) => value as AdapterReceipt,
    onGivenUp: ({ kind }) => note({ event: 'callback.applied', channel: BRIDGE, kind, end: 'given-up' }),
  })
  const cleanup = new StateCleanup(memory, clock, [ECHO_KIND, REJECTED_KIND, PROMISE_KIND])
  const sending: SendParts = {
    client,
    gate,
    secrets,
    clock,
    receiptsUrlOf: (handover) => addresses.of(handover),
    rejectedAttempts,
    brokenPromises,
  }
  return {
    name: BRIDGE,
    capabilities: CAPABILITIES,
    capabilitiesOf,
    callbacks: createCallbackReceiver({ connections, secrets, clock, note, queue }),
    parseSettings: parseBridgeSettings,
    async start(events) {
      queue.start(events)
      cleanup.start()
    },
    async stop() {
      cleanup.stop()
      await queue.stop()
    },
    prepare: (handover, signal) => prepareMedia(sending, handover, signal),
    rateLimitDelayOf: (next, now) => gateDelay({ gate, secrets }, next, now),
    send: (handover, signal, stillHolds) => sendToAdapter(sending, handover, { signal, stillHolds }),
    reconcile: (open) =>
      findEvidence({ client, connections, echoes, rejectedAttempts, brokenPromises, secrets, clock }, open),
  }
}

function capabilitiesOf(stored: Handover['settings']): ChannelCapabilities {
  const { capabilities, sendTimeoutMs, evidenceWaitMs } = readBridgeSettings(stored)
  const { types, maxTextLength, maxCaptionLength } = capabilities ?? CAPABILITIES
  return {
    ...CAPABILITIES,
    ...{ types, maxTextLength, maxCaptionLength },
    // Never 0, so that receipts that came already are found; the channel itself ends it when both have passed.
    evidenceWaitMs: sendTimeoutMs + evidenceWaitMs,
    callBudgetMs: sendTimeoutMs + PROBE_MS,
  }
}

type Next = Parameters<NonNullable<Channel['rateLimitDelayOf']>>[0]

function gateDelay(
  { gate, secrets }: { readonly gate: Gate; readonly secrets: Secrets },
  next: Next,
  now: number,
): RateLimitDelay | null {
  const asked = askedOf(next)
  // Opened here only to probe a closed gate. A message that may go opens it anyway.
  const closed = gate.closedFor(asked, () => openAdapter(asked, secrets))
  return closed && { scope: 'connection', until: now + closed.ms, reason: 'bridge_not_ready', words: closed.words }
}

/** Where the adapters of connections report to. */
class ReceiptAddresses {
  readonly #parts: Pick<BridgeParts, 'connections' | 'clock' | 'publicUrl'>
  readonly #known = new Map<ConnectionId, { readonly url: string | null; readonly readAt: number }>()

  constructor(parts: Pick<BridgeParts, 'connections' | 'clock' | 'publicUrl'>) {
    this.#parts = parts
  }

  /** Null when its adapter has nothing to report. Rejects with `StorageUnavailable`. */
  async of({ connectionId, settings }: Handover): Promise<string | null> {
    if (!hasReceipts(readBridgeSettings(settings))) return null
    const { connections, clock, publicUrl } = this.#parts
    const known = this.#known.get(connectionId)
    if (known && clock.monotonic() - known.readAt < ADDRESS_KEPT_MS) return known.url
    const app = (await connections.find(connectionId))?.callbackApp ?? null
    const url = app && `${publicUrl}/channels/${BRIDGE}/${app}`
    if (this.#known.size >= MOST_ADDRESSES) this.#known.clear()
    this.#known.set(connectionId, { url, readAt: clock.monotonic() })
    return url
  }
}
