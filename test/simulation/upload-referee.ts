import type { DatabaseSync } from 'node:sqlite'
import type { MessageId } from '../../src/core/ids.ts'
import type { NetworkCall, NetworkKind } from './simulated-network.ts'
import type { SimulatedUploads, Upload } from './simulated-uploads.ts'
import type { Trace } from './trace.ts'

// A worker checks four times a second whether its claim is valid.
const LATE_AFTER_CHECKS = 3
// It checks four times a minute whether its message is still wanted, if storage answers.
const UNWANTED_AFTER_CHECKS = 60
const MOST_PER_LANE = 2

/** Checks what precedes an attempt: that its message was prepared, and that the network's rate limit was queried. */
export class UploadReferee {
  readonly #database: DatabaseSync
  readonly #uploads: () => SimulatedUploads
  readonly #trace: Trace
  readonly #nameOf: (id: MessageId) => string
  readonly #lateChecks = new Map<Upload, number>()
  readonly #unwantedChecks = new Map<Upload, number>()

  constructor(parts: {
    database: DatabaseSync
    uploads: () => SimulatedUploads
    trace: Trace
    nameOf: (id: MessageId) => string
  }) {
    this.#database = parts.database
    this.#uploads = parts.uploads
    this.#trace = parts.trace
    this.#nameOf = parts.nameOf
  }

  /** Checks I4, I5 and a part of I6 (no attempt is open yet) when a worker begins to prepare a message. */
  onUpload({ handover, machine }: Upload): void {
    const { connectionId, messageId, to } = handover
    const name = `${this.#nameOf(messageId)} of ${connectionId}`
    // A message that was just cancelled has no effect: its attempt is refused.
    const own = this.#value(`select sequence from message where id = ? and state = 'QUEUED'`, messageId)
    if (
      own !== undefined &&
      own === this.#value('select message_sequence from open_attempt where connection_id = ?', connectionId)
    )
      this.#violate('I6 intent first', `${name} is got ready while an attempt of it is open`)
    const beside = this.#uploads()
      .running()
      .filter((each) => each.machine === machine && each.handover.connectionId === connectionId && !each.signal.aborted)
    if (beside.length >= MOST_PER_LANE)
      this.#violate('I11 ready first', `${name} is got ready beside ${beside.length} others`)
    const owner = this.#ownerOf(connectionId)
    if (owner !== machine.name)
      this.#violate('I5 fencing', `${name} is got ready by ${machine.name}, but the lane is ${String(owner)}'s`)
    const head = this.#value(
      'select min(sequence) from waiting where connection_id = ? and recipient = ?',
      connectionId,
      to,
    )
    if (own !== undefined && head !== own)
      this.#violate('I4 order', `${name} is got ready while m${String(head)} is unfinished`)
  }

  /** Checks a call of a worker to the network. */
  onCall({ handover, machine }: NetworkCall, kind: NetworkKind): void {
    const { messageId, connectionId, to, attemptNumber } = handover
    const name = `${this.#nameOf(messageId)} #${attemptNumber} of ${connectionId}`
    if (kind.uploads && handover.media && !this.#uploads().has(messageId))
      this.#violate('I11 ready first', `${name} is called before it is ready`)
    if (kind.rests && !this.#uploads().takeLeave(handover, machine))
      this.#violate('I12 pace of the network', `${name} to ${to} is called, though the network did not say that it may`)
  }

  /**
   * Runs every second. No worker may continue in the lane of another one, unless it was stopped or is paused (I5), or with a
   * message that is no longer wanted (I11).
   */
  watch(): void {
    for (const upload of this.#uploads().running()) {
      const { handover, machine, signal } = upload
      const isOn = !signal.aborted && !machine.isPaused
      const name = `${this.#nameOf(handover.messageId)} of ${handover.connectionId}`
      const isLate = isOn && this.#ownerOf(handover.connectionId) !== machine.name
      if (count(this.#lateChecks, upload, isLate) >= LATE_AFTER_CHECKS)
        this.#violate('I5 fencing', `${name} is still got ready by ${machine.name}, whose lane it is no longer`)
      const isUnwanted =
        isOn && this.#value(`select 1 from message where id = ? and state = 'QUEUED'`, handover.messageId) === undefined
      if (count(this.#unwantedChecks, upload, isUnwanted) >= UNWANTED_AFTER_CHECKS)
        this.#violate('I11 ready first', `${name} is still got ready, though it is no longer to be sent`)
    }
  }

  #ownerOf(connectionId: string): unknown {
    return this.#value('select owner from lane where connection_id = ?', connectionId)
  }

  #value(sql: string, ...values: readonly string[]): unknown {
    const row = this.#database.prepare(sql).get(...values)
    return row && Object.values(row)[0]
  }

  #violate(invariant: string, detail: string): void {
    this.#trace.violate(invariant, detail)
  }
}

/** Counts how often in a row the condition was true. */
function count(checks: Map<Upload, number>, upload: Upload, isSo: boolean): number {
  const times = isSo ? (checks.get(upload) ?? 0) + 1 : 0
  checks.set(upload, times)
  return times
}
