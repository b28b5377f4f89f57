import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId } from '../../../core/ids.ts'
import { applyReceipt, TIMELINE_ENTRIES_READ } from '../../../core/message/apply-receipt.ts'
import type { MessageState, Sequence } from '../../../core/message/message.ts'
import type { Receipt, ReceiptEnd } from '../../../core/ports/channel.ts'
import { endOf, isDoubtful, receiptEntry, receiptOf } from '../../queries/messages/receipt-entry.ts'

const TARGET = 'select sequence, state, connection_id, attempts, network_id from message'
// Written exactly like the condition of the partial index, which would otherwise not be used.
export const FIND_BY_NETWORK_ID = `${TARGET} where network_id = ? and network_id >= 'wamid.' and network_id < 'wamid/' and connection_id = ?`

// Only the newest entries, read backwards by the primary key: a timeline may be long, and this runs on the serving thread.
const READ_TIMELINE = `
  select count(*) filter (where kind between 'receipt-' and 'receipt.') as reports,
      coalesce(max(kind = 'receipt-failed'), 0) as wasReportedFailed,
      coalesce(max(at = ? and code is ? and (kind = ? and words is ? or kind = ? and words is ?)), 0) as wasBrought
    from (select kind, at, code, words from timeline where message_sequence = ? order by position desc limit ${TIMELINE_ENTRIES_READ})`

interface Timeline {
  readonly reports: number
  readonly wasReportedFailed: 0 | 1
  readonly wasBrought: 0 | 1
}

interface Target {
  readonly sequence: Sequence
  readonly state: MessageState
  readonly connection_id: ConnectionId
  readonly attempts: number
  readonly network_id: string | null
}

// A report gives its time in whole seconds, by another clock. So the message counts as sent no earlier than the first attempt that
// may have sent it. One that still waits ends after its last attempt.
const LEFT_AT = `max(?, accepted_at, coalesce((
  select case when message.settled_at is null then max(ended_at) else min(started_at) end from attempt
    where message_sequence = message.sequence and outcome <> 'rejected'), 0))`

/** Applies what the network reports about a message. Runs inside a transaction of the caller. */
export class ReceiptWriter {
  readonly #findById: StatementSync
  readonly #findByNetworkId: StatementSync
  readonly #isOpen: StatementSync
  readonly #readTimeline: StatementSync
  readonly #hasOtherUnknown: StatementSync
  readonly #wasUnknown: StatementSync
  readonly #move: StatementSync
  readonly #note: StatementSync

  constructor(database: DatabaseSync) {
    this.#findById = database.prepare(`${TARGET} where id = ?`)
    this.#findByNetworkId = database.prepare(FIND_BY_NETWORK_ID)
    this.#isOpen = database.prepare('select 1 from open_attempt where connection_id = ? and message_sequence = ?')
    this.#readTimeline = database.prepare(READ_TIMELINE)
    this.#hasOtherUnknown = database.prepare(
      `select 1 from attempt where message_sequence = ? and number <> ? and outcome = 'unknown' limit 1`,
    )
    this.#wasUnknown = database.prepare(
      `select 1 from attempt where message_sequence = ? and outcome = 'unknown' limit 1`,
    )
    // A failure that the network reports needs attention again, even if the message was resolved before. A message that was
    // sent again stays resolved.
    this.#move = database.prepare(
      `update message set state = ?, reason = coalesce(?, case when reason = 'possible_duplicate' then reason end),
           words = ?, published_at = coalesce(published_at, ${LEFT_AT}), settled_at = coalesce(settled_at, ${LEFT_AT}),
           network_id = coalesce(network_id, ?),
           resolved_at = case when ? then coalesce(resolved_at, ?) when resent_as is not null then resolved_at end
         where sequence = ?`,
    )
    this.#note = database.prepare(
      `insert into timeline (message_sequence, position, at, kind, code, words)
         select ?, coalesce(max(position), 0) + 1, ?, ?, ?, ? from timeline where message_sequence = ?`,
    )
  }

  /** `wasWaiting`: the report has taken it out of its lane. */
  apply(given: Receipt): { readonly end: ReceiptEnd; readonly wasWaiting: boolean } {
    const target = this.#find(given)
    if (!target || target.connection_id !== given.connectionId) return end('message-unknown')
    const receipt = receiptOf(given, target)
    const { sequence, state, attempts } = target
    if (this.#isOpen.get(target.connection_id, sequence)) return end('too-early')
    const timeline = this.#earlierReports(sequence, receipt)
    if (timeline.wasBrought) return end('applied')
    const wasReportedFailed = state === 'FAILED' && timeline.wasReportedFailed === 1
    const mayHaveArrivedOtherwise =
      receipt.kind === 'failed' &&
      attempts > 1 &&
      this.#hasOtherUnknown.get(sequence, receipt.attemptNumber ?? attempts) !== undefined
    const waitsToBeRepeated = state === 'QUEUED' && this.#wasUnknown.get(sequence) !== undefined
    const { network_id: networkId } = target
    const known = { state, attempts, networkId, wasReportedFailed, mayHaveArrivedOtherwise, waitsToBeRepeated }
    const effect = applyReceipt(known, receipt)
    if (!effect.isNew || (effect.mostReported !== null && timeline.reports >= effect.mostReported))
      return end('applied')
    if (effect.to) {
      const { words, networkId, at } = receipt
      const isGood = !isDoubtful(effect.to)
      const publishedAt = isGood ? at : null
      this.#move.run(effect.to, effect.reason, words, publishedAt, at, networkId, isGood ? 1 : 0, at, sequence)
    }
    const { at, code } = receipt
    const { kind, words } = receiptEntry(receipt, effect.contrary)
    this.#note.run(sequence, at, kind, code, words, sequence)
    return { end: endOf(effect), wasWaiting: effect.to !== null && state === 'QUEUED' }
  }

  #find({ messageId, networkId, connectionId }: Receipt): Target | undefined {
    const row = messageId === null ? this.#findByNetworkId.get(networkId, connectionId) : this.#findById.get(messageId)
    return row as unknown as Target | undefined
  }

  /** Earlier reports, and whether this one is among them: networks repeat reports, and two workers may bring the same one. */
  #earlierReports(sequence: Sequence, receipt: Receipt): Timeline {
    const [kept, contrary] = [receiptEntry(receipt, false), receiptEntry(receipt, true)]
    const { at, code } = receipt
    return this.#readTimeline.get(
      at,
      code,
      kept.kind,
      kept.words,
      contrary.kind,
      contrary.words,
      sequence,
    ) as unknown as Timeline
  }
}

function end(as: ReceiptEnd) {
  return { end: as, wasWaiting: false }
}
