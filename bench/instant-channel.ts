import { MESSAGE_TYPES } from '../src/core/message/message.ts'
import type { Channel, Failure, Handover, Outcome } from '../src/core/ports/channel.ts'

const INSTANT = 'instant'
/** A recipient that cannot be reached. */
export const BUSY_RECIPIENT = '15550109999'
const BUSY: Failure = { class: 'transient', code: 'busy', words: null, suspectsNetwork: false, retryAfterMs: null }

/** A network that accepts everything at once, so that only the service's own work is measured. */
export class InstantChannel implements Channel {
  readonly name = INSTANT
  readonly capabilities: Channel['capabilities'] = {
    types: MESSAGE_TYPES,
    maxTextLength: null,
    maxCaptionLength: null,
    recognisesRepeat: false,
    evidenceWaitMs: 0,
    callBudgetMs: 30_000,
  }
  readonly #onSend: (handover: Handover) => void
  #sent = 0

  constructor(onSend: (handover: Handover) => void) {
    this.#onSend = onSend
  }

  get sent(): number {
    return this.#sent
  }

  parseSettings(): Readonly<Record<string, unknown>> {
    return {}
  }

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  async send(handover: Handover): Promise<Outcome> {
    if (handover.to === BUSY_RECIPIENT) return { kind: 'rejected', failure: BUSY }
    this.#sent += 1
    this.#onSend(handover)
    return { kind: 'accepted', networkId: handover.messageId }
  }

  async reconcile() {
    return { kind: 'nothing-ever' } as const
  }
}
