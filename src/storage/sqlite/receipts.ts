import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { ConnectionId } from '../../core/ids.ts'
import { applyReceipt } from '../../core/message/apply-receipt.ts'
import type { MessageState, Sequence } from '../../core/message/message.ts'
import type { Receipt, ReceiptEnd } from '../../core/ports/channel.ts'
import { isDoubtful, receiptMoment } from '../shared/receipt-moment.ts'

const TARGET = 'select sequence, state, connection_id, attempts from message'
// In the words of the index on just those ids, or it would not be used.
export const FIND_BY_NETWORK_ID = `${TARGET} where network_id = ? and network_id >= 'wamid.' and network_id < 'wamid/' and connection_id = ?`

interface Target {
  readonly sequence: Sequence
  readonly state: MessageState
  readonly connection_id: ConnectionId
  readonly attempts: number
}

/** Applies what the network reports about a message. Runs inside a transaction of the caller. */
export class ReceiptWriter {
  readonly #findById: StatementSync
  readonly #findByNetworkId: StatementSync
  readonly #isOpen: StatementSync
  readonly #isTold: StatementSync
  readonly #wasReportedFailed: StatementSync
  readonly #hasUnknownBefore: StatementSync
  readonly #move: StatementSync
  readonly #note: StatementSync

  constructor(database: DatabaseSync) {
    this.#findById = database.prepare(`${TARGET} where id = ?`)
    this.#findByNetworkId = database.prepare(FIND_BY_NETWORK_ID)
    this.#isOpen = database.prepare('select 1 from open_attempt where connection_id = ? and message_sequence = ?')
    this.#isTold = database.prepare(
      'select 1 from timeline where message_sequence = ? and kind = ? and at = ? and code is ? and words is ? limit 1',
    )
    this.#wasReportedFailed = database.prepare(
      `select 1 from timeline where message_sequence = ? and kind = 'receipt-failed' limit 1`,
    )
    this.#hasUnknownBefore = database.prepare(
      `select 1 from attempt where message_sequence = ? and number < ? and outcome = 'unknown' limit 1`,
    )
    this.#move = database.prepare(
      `update message set state = ?, reason = ?, words = ?, published_at = coalesce(published_at, ?),
           network_id = coalesce(network_id, ?), resolved_at = coalesce(resolved_at, ?)
         where sequence = ?`,
    )
    this.#note = database.prepare(
      `insert into timeline (message_sequence, position, at, kind, code, words)
         select ?, coalesce(max(position), 0) + 1, ?, ?, ?, ? from timeline where message_sequence = ?`,
    )
  }

  apply(receipt: Receipt): ReceiptEnd {
    const target = this.#find(receipt)
    if (!target || target.connection_id !== receipt.connectionId) return 'message-unknown'
    const { sequence, state, attempts } = target
    if (this.#isOpen.get(target.connection_id, sequence)) return 'too-early'
    if (this.#wasBrought(sequence, receipt)) return 'applied'
    const wasReportedFailed = state === 'FAILED' && this.#wasReportedFailed.get(sequence) !== undefined
    const mayHaveArrivedBefore =
      receipt.kind === 'failed' && attempts > 1 && this.#hasUnknownBefore.get(sequence, attempts) !== undefined
    const effect = applyReceipt({ state, attempts, wasReportedFailed, mayHaveArrivedBefore }, receipt)
    if (!effect.isTold) return 'applied'
    if (effect.to) {
      const { words, networkId, at } = receipt
      const publishedAt = isDoubtful(effect.to) ? null : at
      const resolvedAt = effect.to === 'UNCONFIRMED' ? null : at
      this.#move.run(effect.to, effect.reason, words, publishedAt, networkId, resolvedAt, sequence)
    }
    const { at, code } = receipt
    const { kind, words } = receiptMoment(receipt, effect.contrary)
    this.#note.run(sequence, at, kind, code, words, sequence)
    return 'applied'
  }

  #find({ messageId, networkId, connectionId }: Receipt): Target | undefined {
    const row = messageId === null ? this.#findByNetworkId.get(networkId, connectionId) : this.#findById.get(messageId)
    return row as unknown as Target | undefined
  }

  /** Networks repeat themselves, and two workers may report the same. */
  #wasBrought(sequence: Sequence, receipt: Receipt): boolean {
    return [false, true].some((contrary) => {
      const { kind, words } = receiptMoment(receipt, contrary)
      return this.#isTold.get(sequence, kind, receipt.at, receipt.code, words) !== undefined
    })
  }
}
