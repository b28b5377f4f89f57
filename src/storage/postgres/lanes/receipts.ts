import type { ConnectionId, MessageId } from '../../../core/ids.ts'
import { applyReceipt, type ReceiptEffect, TIMELINE_ENTRIES_READ } from '../../../core/message/apply-receipt.ts'
import type { MessageState, Sequence } from '../../../core/message/message.ts'
import type { Receipt, ReceiptEnd } from '../../../core/ports/channel.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { endOf, isDoubtful, receiptEntry, receiptOf } from '../../queries/messages/receipt-entry.ts'
import { Batcher } from '../connection/batcher.ts'
import { bigintArray, textArray, withoutNul } from '../connection/binary-arrays.ts'
import type { PgConnection } from '../connection/pg-connection.ts'
import { periodOf } from '../retention/periods.ts'

const AT_ONCE = 500
const MOST_TRIES = 20
const TIMED_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i

/** `again`: what was decided no longer holds, or another report of the same message goes first. */
type Outcome = ReceiptEnd | 'again'

interface Target {
  readonly id: MessageId
  readonly account_id: string
  readonly connection_id: ConnectionId
  readonly sequence: Sequence
  readonly state: MessageState
  readonly attempts: number
  readonly network_id: string | null
  readonly is_open: boolean
}

type TargetOf = (receipt: Receipt) => Target | undefined

interface Found {
  readonly at: number
  readonly receipt: Receipt
  readonly target: Target
}

interface Decided extends Found {
  readonly effect: ReceiptEffect
}

/**
 * Applies what the network reports about messages. Reports that come in one turn share two round trips: one reads the messages, and
 * after core has decided, the other writes what still applies.
 */
export class ReceiptWriter {
  readonly #pgConnection: PgConnection
  readonly #batches: Batcher<Receipt, Outcome>

  constructor(pgConnection: PgConnection) {
    this.#pgConnection = pgConnection
    this.#batches = new Batcher({ concurrency: 1, mostPerBatch: AT_ONCE, run: (receipts) => this.#applyAll(receipts) })
  }

  async apply(receipt: Receipt): Promise<ReceiptEnd> {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const answer = await this.#batches.submit(receipt)
      if (answer !== 'again') return answer
    }
    throw new StorageUnavailable('the message of a report keeps changing', false)
  }

  async #applyAll(receipts: readonly Receipt[]): Promise<readonly Outcome[]> {
    const answers = receipts.map((): Outcome => 'again')
    const targetOf = await this.#find(receipts)
    const first = new Map<Sequence, Found>()
    for (const [at, given] of receipts.entries()) {
      const target = targetOf(given)
      if (target?.connection_id !== given.connectionId) answers[at] = 'message-unknown'
      else if (target.is_open) answers[at] = 'too-early'
      else if (!first.has(target.sequence))
        first.set(target.sequence, { at, receipt: receiptOf(given, target), target })
    }
    const decided = await this.#decide([...first.values()])
    for (const { at, effect } of decided) if (!effect.isNew) answers[at] = endOf(effect)
    for (const one of decided.filter(leavesItsLane)) if (await this.#finalize(one)) answers[one.at] = endOf(one.effect)
    for (const group of byPeriod(decided.filter((one) => one.effect.isNew && !leavesItsLane(one)))) {
      const letters = await this.#write(group)
      for (const [i, { at, effect }] of group.entries()) if (letters[i] === 'a') answers[at] = endOf(effect)
    }
    return answers
  }

  async #find(receipts: readonly Receipt[]): Promise<TargetOf> {
    const named = new Set<MessageId>()
    const unnamed = new Map<string, { connectionId: ConnectionId; networkId: string }>()
    for (const { messageId, connectionId, networkId } of receipts) {
      // PostgreSQL refuses a text with U+0000 even in a query.
      if (messageId !== null) {
        if (!messageId.includes('\0')) named.add(messageId)
      } else if (networkId !== null && !`${connectionId}${networkId}`.includes('\0')) {
        unnamed.set(networkKey(connectionId, networkId), { connectionId, networkId })
      }
    }
    const byId = await this.#findById([...named])
    const byNetworkId = await this.#findByNetworkId([...unnamed.values()])
    return ({ messageId, connectionId, networkId }) =>
      messageId === null ? byNetworkId.get(networkKey(connectionId, networkId)) : byId.get(messageId)
  }

  async #findById(ids: readonly MessageId[]): Promise<ReadonlyMap<MessageId, Target>> {
    if (ids.length === 0) return new Map()
    const madeAt = ids.map(timeIn).filter((time) => time !== null)
    const rows = await this.#pgConnection.query('select * from find_targets($1, $2, $3)', [
      textArray(ids),
      madeAt.length > 0 ? Math.min(...madeAt) : null,
      madeAt.length > 0 ? Math.max(...madeAt) : null,
    ])
    return new Map((rows as unknown as Target[]).map((target) => [target.id, target]))
  }

  async #findByNetworkId(
    wanted: readonly { readonly connectionId: ConnectionId; readonly networkId: string }[],
  ): Promise<ReadonlyMap<string, Target>> {
    if (wanted.length === 0) return new Map()
    const rows = await this.#pgConnection.query('select * from find_network_targets($1, $2)', [
      textArray(wanted.map(({ connectionId }) => connectionId)),
      textArray(wanted.map(({ networkId }) => networkId)),
    ])
    return new Map(
      (rows as unknown as Target[]).map((target) => [networkKey(target.connection_id, target.network_id), target]),
    )
  }

  async #decide(found: readonly Found[]): Promise<readonly Decided[]> {
    const reported = await this.#reportedFailed(
      found.filter(({ receipt, target }) => receipt.kind !== 'failed' && target.state === 'FAILED'),
    )
    const possiblySuperseded = await this.#withUnknown(
      found.filter(({ receipt, target }) => receipt.kind === 'failed' && target.attempts > 1),
    )
    const repeated = await this.#withUnknown(
      found.filter(
        ({ receipt, target }) => receipt.kind !== 'failed' && target.state === 'QUEUED' && target.attempts > 0,
      ),
    )
    return found.map(({ at, receipt, target }) => {
      const { sequence } = target
      const known = {
        waitsToBeRepeated: repeated.has(sequence),
        ...target,
        networkId: target.network_id,
        wasReportedFailed: reported.has(sequence),
        mayHaveArrivedOtherwise: possiblySuperseded.has(sequence),
      }
      return { at, receipt, target, effect: applyReceipt(known, receipt) }
    })
  }

  async #reportedFailed(found: readonly Found[]): Promise<ReadonlySet<Sequence>> {
    if (found.length === 0) return new Set()
    const rows = await this.#pgConnection.query(
      `select s.message_sequence from unnest($1::bigint[]) s (message_sequence) where 'receipt-failed' in (
         select kind from timeline where timeline.message_sequence = s.message_sequence order by position desc limit ${TIMELINE_ENTRIES_READ}
       )`,
      [bigintArray(found.map(({ target }) => target.sequence))],
    )
    return new Set(rows.map((row) => row['message_sequence'] as Sequence))
  }

  /**
   * The messages that have an attempt with an unknown result. Where the report says `failed`, the reported attempt does not count; that
   * is the last one where the report names none.
   */
  async #withUnknown(found: readonly Found[]): Promise<ReadonlySet<Sequence>> {
    if (found.length === 0) return new Set()
    const failed = ({ receipt, target }: Found) =>
      receipt.kind === 'failed' ? (receipt.attemptNumber ?? target.attempts) : null
    const rows = await this.#pgConnection.query(
      `select distinct a.message_sequence from unnest($1::bigint[], $2::bigint[]) s (sequence, failed)
         join ended_attempt a on a.message_sequence = s.sequence and a.number is distinct from s.failed and a.outcome = 'unknown'`,
      [bigintArray(found.map(({ target }) => target.sequence)), bigintArray(found.map(failed))],
    )
    return new Set(rows.map((row) => row['message_sequence'] as Sequence))
  }

  /** False when the message is being sent, or is no longer queued. Rare, so not batched. */
  async #finalize({ receipt, target, effect }: Decided): Promise<boolean> {
    const { kind, words } = timelineEntryOf(receipt, effect.contrary)
    const stateWords = clean(receipt.words)
    const [row] = await this.#pgConnection.query(
      'select settle_found($1, $2, $3, $4, $5, $6, $7, $8, $9) as is_settled',
      [
        target.sequence,
        effect.to,
        effect.reason,
        stateWords,
        receipt.at,
        clean(receipt.code),
        kind,
        words,
        clean(receipt.networkId),
      ],
    )
    return row?.['is_settled'] === true
  }

  async #write(group: readonly Decided[]): Promise<string> {
    const texts = (pick: (decided: Decided) => string | null) => textArray(group.map(pick))
    const entries = group.map(({ receipt, effect }) => timelineEntryOf(receipt, effect.contrary))
    const otherwise = group.map(({ receipt, effect }) => timelineEntryOf(receipt, !effect.contrary))
    const [row] = await this.#pgConnection.query(
      'select apply_receipts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) as letters',
      [
        texts(({ target }) => target.account_id),
        bigintArray(group.map(({ target }) => target.sequence)),
        texts(({ target }) => target.state),
        texts(({ effect }) => effect.to),
        texts(({ effect }) => effect.reason),
        texts(({ receipt }) => clean(receipt.words)),
        bigintArray(group.map(({ receipt, effect }) => (isDoubtful(effect.to) ? null : receipt.at))),
        bigintArray(group.map(({ receipt }) => receipt.at)),
        texts(({ receipt }) => clean(receipt.code)),
        textArray(entries.map(({ kind }) => kind)),
        textArray(entries.map(({ words }) => words)),
        textArray(otherwise.map(({ kind }) => kind)),
        textArray(otherwise.map(({ words }) => words)),
        texts(({ receipt }) => clean(receipt.networkId)),
        bigintArray(group.map(({ effect }) => effect.mostReported)),
        TIMELINE_ENTRIES_READ,
      ],
    )
    return row?.['letters'] as string
  }
}

function leavesItsLane({ target, effect }: Decided): boolean {
  return target.state === 'QUEUED' && effect.to !== null
}

/** An id of ours holds no line break. */
function networkKey(connectionId: ConnectionId, networkId: string | null): string {
  return `${connectionId}\n${networkId ?? ''}`
}

/** The time at which an id was made; null where the id does not contain it. */
function timeIn(id: string): number | null {
  const [, high, low] = TIMED_ID.exec(id) ?? []
  return high && low ? Number.parseInt(high + low, 16) : null
}

/** Each with the last message first: in that order all transactions lock messages. */
function byPeriod(decided: readonly Decided[]): readonly (readonly Decided[])[] {
  const sorted = decided.toSorted((a, b) => b.target.sequence - a.target.sequence)
  return [...Map.groupBy(sorted, ({ target }) => periodOf(target.sequence)).values()]
}

function timelineEntryOf({ kind, words }: Receipt, contrary: boolean) {
  return receiptEntry({ kind, words: clean(words) }, contrary)
}

function clean(text: string | null): string | null {
  return text && withoutNul(text)
}
