import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { applyReceipt } from '../../core/message/apply-receipt.ts'
import type { MessageState, Sequence } from '../../core/message/message.ts'
import type { TimelineKind } from '../../core/message/timeline.ts'
import type { Receipt } from '../../core/ports/channel.ts'

/** Applies what the network reports about a message. Runs inside a transaction of the caller. */
export class ReceiptWriter {
  readonly #find: StatementSync
  readonly #isOpen: StatementSync
  readonly #isTold: StatementSync
  readonly #move: StatementSync
  readonly #note: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare('select sequence, state, connection_id from message where id = ?')
    this.#isOpen = database.prepare('select 1 from open_attempt where connection_id = ? and message_sequence = ?')
    this.#isTold = database.prepare(
      'select 1 from timeline where message_sequence = ? and kind = ? and at = ? and code is ? and words is ? limit 1',
    )
    this.#move = database.prepare(
      `update message set state = ?, reason = ?, words = ?, published_at = coalesce(published_at, ?), resolved_at = coalesce(resolved_at, ?)
         where sequence = ?`,
    )
    this.#note = database.prepare(
      `insert into timeline (message_sequence, position, at, kind, code, words)
         select ?, coalesce(max(position), 0) + 1, ?, ?, ?, ? from timeline where message_sequence = ?`,
    )
  }

  apply(receipt: Receipt): 'applied' | 'too-early' | 'message-unknown' {
    const row = this.#find.get(receipt.messageId) as
      | { sequence: Sequence; state: MessageState; connection_id: string }
      | undefined
    if (!row) return 'message-unknown'
    if (this.#isOpen.get(row.connection_id, row.sequence)) return 'too-early'
    if (this.#wasBrought(row.sequence, receipt)) return 'applied'
    const effect = applyReceipt(row.state, receipt)
    if (effect.to) {
      const publishedAt = effect.to === 'FAILED' ? null : receipt.at
      this.#move.run(effect.to, effect.reason, receipt.words, publishedAt, receipt.at, row.sequence)
    }
    const { at, code } = receipt
    const { kind, words } = momentOf(receipt, effect.contrary)
    this.#note.run(row.sequence, at, kind, code, words, row.sequence)
    return 'applied'
  }

  /** Networks repeat themselves, and two workers may report the same. */
  #wasBrought(sequence: Sequence, receipt: Receipt): boolean {
    return [false, true].some((contrary) => {
      const { kind, words } = momentOf(receipt, contrary)
      return this.#isTold.get(sequence, kind, receipt.at, receipt.code, words) !== undefined
    })
  }
}

/** As it stands in the story of the message. A contrary report names its kind in its words, unless it has some. */
function momentOf(receipt: Receipt, contrary: boolean): { kind: TimelineKind; words: string | null } {
  if (contrary) return { kind: 'receipt-contrary', words: receipt.words ?? receipt.kind }
  return { kind: `receipt-${receipt.kind}`, words: receipt.words }
}
