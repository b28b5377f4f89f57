import type { ConnectionId, Instant, MessageId } from '../../core/ids.ts'
import type { Evidence, OpenQuestion } from '../../core/ports/channel.ts'
import type { ChannelState } from '../../core/ports/channel-state.ts'
import { wireIdOf } from './wire-id.ts'

/** The message, by its wire id. */
export const MESSAGE_KIND = 'message'
/** By attempt: whether it may have written its message, or never will. */
export const ATTEMPT_KIND = 'attempt'
/** By message: a receipt came while the attempt was open. */
export const TAKEN_KIND = 'taken'

const DAY_MS = 24 * 3_600_000
// People read messages weeks later.
const MESSAGE_KEPT_MS = 30 * DAY_MS
// Evidence is asked for within minutes. A week covers a service that stood still over holidays.
const ATTEMPT_KEPT_MS = 7 * DAY_MS
const BEGUN = 'begun'
const DENIED = 'denied'
// A receipt that waited comes with the next login.
export const EVIDENCE_WAIT_MS = 90_000

type Attempt = Pick<OpenQuestion, 'connectionId' | 'messageId' | 'attemptNumber'>

/** What is stored about attempts, whichever worker made them. */
export class Attempts {
  readonly #memory: ChannelState

  constructor(memory: ChannelState) {
    this.#memory = memory
  }

  /** Durable when it resolves. False if the attempt was denied before: then its message must not be written. */
  async begin(attempt: Attempt, now: Instant, isWanted: () => boolean): Promise<boolean> {
    const { connectionId, messageId } = attempt
    const message = { connectionId, key: wireIdOf(attempt), value: messageId, at: now, remindAt: now + MESSAGE_KEPT_MS }
    const [isFirst] = await Promise.all([
      this.#decide(attempt, BEGUN, { now, isWanted }),
      this.#memory.add(MESSAGE_KIND, message),
    ])
    return isFirst
  }

  /** What became of an attempt that has ended without a result. */
  async reconcile(open: OpenQuestion, now: Instant): Promise<Evidence> {
    const { connectionId, messageId } = open
    // The worker may only be slow. Whichever is stored first decides: a denied attempt never writes its message.
    const isDenied = await this.#decide(open, DENIED, { now, isWanted: () => true })
    const entry = isDenied ? null : await this.#memory.find(ATTEMPT_KIND, connectionId, keyOf(open))
    if (isDenied || entry?.value === DENIED) return { kind: 'not-sent', words: 'it had not been handed over yet' }
    const taken = await this.#memory.find(TAKEN_KIND, connectionId, messageId)
    if (taken && taken.at >= open.startedAt) return { kind: 'accepted', networkId: wireIdOf(open) }
    return now - open.startedAt > EVIDENCE_WAIT_MS ? { kind: 'nothing-ever' } : { kind: 'nothing-yet' }
  }

  /** The messages of these wire ids, of those that are known. */
  async findMessages(connectionId: ConnectionId, wireIds: readonly string[]): Promise<readonly MessageId[]> {
    const found = await this.#memory.findSome(MESSAGE_KIND, connectionId, wireIds)
    return found.map(({ value }) => value as MessageId)
  }

  /** WhatsApp has taken the message of an open attempt. Durable when it resolves. */
  async keepTaken(connectionId: ConnectionId, messageId: MessageId, now: Instant): Promise<void> {
    const entry = { connectionId, key: messageId, value: '', at: now, remindAt: now + ATTEMPT_KEPT_MS }
    await this.#memory.add(TAKEN_KIND, entry)
  }

  #decide(
    attempt: Attempt,
    value: string,
    { now, isWanted }: { readonly now: Instant; readonly isWanted: () => boolean },
  ): Promise<boolean> {
    const { connectionId } = attempt
    const entry = { connectionId, key: keyOf(attempt), value, at: now, remindAt: now + ATTEMPT_KEPT_MS, isWanted }
    return this.#memory.add(ATTEMPT_KIND, entry)
  }
}

function keyOf({ messageId, attemptNumber }: Attempt): string {
  return `${messageId}_${attemptNumber}`
}
