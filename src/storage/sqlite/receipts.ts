import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { applyReceipt } from '../../core/message/apply-receipt.ts'
import type { MessageState, Sequence } from '../../core/message/message.ts'
import type { TimelineKind } from '../../core/message/timeline.ts'
import type { Receipt } from '../../core/ports/channel.ts'

/** Applies what the network reports about a message. Runs inside a transaction of the caller. */
export class ReceiptWriter {
  readonly #find: StatementSync
  readonly #isOpen: StatementSync
  readonly #move: StatementSync
  readonly #note: StatementSync

  constructor(database: DatabaseSync) {
    this.#find = database.prepare('select sequence, state, connection_id from message where id = ?')
    this.#isOpen = database.prepare('select 1 from open_attempt where connection_id = ? and message_sequence = ?')
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
    const effect = applyReceipt(row.state, receipt)
    if (effect.to) {
      const publishedAt = effect.to === 'FAILED' ? null : receipt.at
      this.#move.run(effect.to, effect.reason, receipt.words, publishedAt, receipt.at, row.sequence)
    }
    const kind: TimelineKind = effect.contrary ? 'receipt-contrary' : `receipt-${receipt.kind}`
    this.#note.run(
      row.sequence,
      receipt.at,
      kind,
      receipt.code,
      receipt.words ?? (effect.contrary ? receipt.kind : null),
      row.sequence,
    )
    return 'applied'
  }
}
