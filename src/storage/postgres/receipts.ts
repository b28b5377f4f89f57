import { applyReceipt, type ReceiptEffect } from '../../core/message/apply-receipt.ts'
import type { MessageState, Sequence } from '../../core/message/message.ts'
import type { TimelineKind } from '../../core/message/timeline.ts'
import type { Receipt } from '../../core/ports/channel.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { Batches } from './batches.ts'
import { bigintArray, textArray, withoutNul } from './binary-arrays.ts'
import type { Link } from './link.ts'

const AT_ONCE = 500
const MOST_LOOKS = 20
const PERIOD_LENGTH = 2 ** 40
const TIMED_ID = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i

type Answer = 'applied' | 'too-early' | 'message-unknown'
/** `again`: what was decided no longer holds, or another report of the same message goes first. */
type Look = Answer | 'again'

interface Target {
  readonly id: string
  readonly account_id: string
  readonly sequence: Sequence
  readonly state: MessageState
  readonly is_open: boolean
}

interface Judged {
  readonly at: number
  readonly receipt: Receipt
  readonly target: Target
  readonly effect: ReceiptEffect
}

/**
 * Applies what the network reports about messages. Those that come in one turn share two round trips: one tells what
 * the messages are, and after core has judged, the other writes what still is so.
 */
export class ReceiptWriter {
  readonly #link: Link
  readonly #batches: Batches<Receipt, Look>

  constructor(link: Link) {
    this.#link = link
    this.#batches = new Batches({ ways: 1, mostPerBatch: AT_ONCE, run: (receipts) => this.#look(receipts) })
  }

  async apply(receipt: Receipt): Promise<Answer> {
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      const answer = await this.#batches.submit(receipt)
      if (answer !== 'again') return answer
    }
    throw new StorageUnavailable('the message of a report does not come to rest', false)
  }

  async #look(receipts: readonly Receipt[]): Promise<readonly Look[]> {
    const answers = receipts.map((): Look => 'again')
    const first = new Map<string, { at: number; receipt: Receipt }>()
    for (const [at, receipt] of receipts.entries()) {
      // Such a text cannot even be asked for.
      if (receipt.messageId.includes('\0')) answers[at] = 'message-unknown'
      else if (!first.has(receipt.messageId)) first.set(receipt.messageId, { at, receipt })
    }
    const targets = await this.#find([...first.keys()])
    const judged: Judged[] = []
    for (const { at, receipt } of first.values()) {
      const target = targets.get(receipt.messageId)
      if (!target) answers[at] = 'message-unknown'
      else if (target.is_open) answers[at] = 'too-early'
      else judged.push({ at, receipt, target, effect: applyReceipt(target.state, receipt) })
    }
    for (const group of byPeriod(judged)) {
      const letters = await this.#write(group)
      for (const [i, { at }] of group.entries()) if (letters[i] === 'a') answers[at] = 'applied'
    }
    return answers
  }

  async #find(ids: readonly string[]): Promise<ReadonlyMap<string, Target>> {
    if (ids.length === 0) return new Map()
    const madeAt = ids.map(timeIn).filter((time) => time !== null)
    const rows = await this.#link.ask('select * from find_targets($1, $2, $3)', [
      textArray(ids),
      madeAt.length > 0 ? Math.min(...madeAt) : null,
      madeAt.length > 0 ? Math.max(...madeAt) : null,
    ])
    return new Map((rows as unknown as Target[]).map((target) => [target.id, target]))
  }

  async #write(group: readonly Judged[]): Promise<string> {
    const texts = (pick: (judged: Judged) => string | null) => textArray(group.map(pick))
    const told = group.map(({ receipt, effect }) => momentOf(receipt, effect.contrary))
    const otherwise = group.map(({ receipt, effect }) => momentOf(receipt, !effect.contrary))
    const [row] = await this.#link.ask(
      'select apply_receipts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) as letters',
      [
        texts(({ target }) => target.account_id),
        bigintArray(group.map(({ target }) => target.sequence)),
        texts(({ target }) => target.state),
        texts(({ effect }) => effect.to),
        texts(({ effect }) => effect.reason),
        texts(({ receipt }) => clean(receipt.words)),
        bigintArray(group.map(({ receipt, effect }) => (effect.to === 'FAILED' ? null : receipt.at))),
        bigintArray(group.map(({ receipt }) => receipt.at)),
        texts(({ receipt }) => clean(receipt.code)),
        textArray(told.map(({ kind }) => kind)),
        textArray(told.map(({ words }) => words)),
        textArray(otherwise.map(({ kind }) => kind)),
        textArray(otherwise.map(({ words }) => words)),
      ],
    )
    return row?.['letters'] as string
  }
}

/** When an id says that it was made; null for one that says nothing of it. */
function timeIn(id: string): number | null {
  const [, high, low] = TIMED_ID.exec(id) ?? []
  return high && low ? Number.parseInt(high + low, 16) : null
}

/** Each in the order of sequences, which is the order in which others lock them. */
function byPeriod(judged: readonly Judged[]): readonly (readonly Judged[])[] {
  const sorted = judged.toSorted((a, b) => a.target.sequence - b.target.sequence)
  return [...Map.groupBy(sorted, ({ target }) => Math.floor(target.sequence / PERIOD_LENGTH)).values()]
}

/** As it stands in the story of the message. A contrary report names its kind in its words, unless it has some. */
function momentOf(receipt: Receipt, contrary: boolean): { kind: TimelineKind; words: string | null } {
  const words = clean(receipt.words)
  if (contrary) return { kind: 'receipt-contrary', words: words ?? receipt.kind }
  return { kind: `receipt-${receipt.kind}`, words }
}

function clean(text: string | null): string | null {
  return text && withoutNul(text)
}
