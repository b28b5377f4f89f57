import type { MessageState } from '../../../core/message/message.ts'
import type { Tallies, Totals } from '../../../core/ports/console/overview.ts'
import type { Tables } from '../tables.generated.ts'

type TalliedState = keyof Tallies
export type TallyRow = Omit<Tables['tally'], 'hour'>
export type ReasonRow = Omit<Tables['tally_reason'], 'hour'>

/** The account's whole, among its connections. */
export const ALL_CONNECTIONS = ''

const TALLIED_AS: Readonly<Record<MessageState, TalliedState>> = {
  QUEUED: 'waiting',
  SENDING: 'waiting',
  PUBLISHED: 'published',
  DELIVERED: 'published',
  READ: 'published',
  FAILED: 'failed',
  UNCONFIRMED: 'unconfirmed',
  EXPIRED: 'expired',
  CANCELLED: 'cancelled',
}

export function talliedAs(state: MessageState): TalliedState {
  return TALLIED_AS[state]
}

/** What was counted of one hour so far. */
export class HourTally {
  readonly counts = new Map<string, TallyRow>()
  readonly reasons = new Map<string, ReasonRow>()

  /** What belongs to a connection counts for the whole account as well. */
  add(row: TallyRow): void {
    for (const id of new Set([ALL_CONNECTIONS, row.connection_id])) {
      const of = { ...row, connection_id: id }
      const known = this.counts.get(tallyKey(of))
      if (known) known.count += row.count
      else this.counts.set(tallyKey(of), of)
    }
  }

  addReason(row: ReasonRow): void {
    const known = this.reasons.get(reasonKey(row))
    this.reasons.set(reasonKey(row), {
      ...row,
      count: row.count + (known?.count ?? 0),
      latest_at: Math.max(row.latest_at, known?.latest_at ?? 0),
    })
  }
}

export function tallyKey(row: TallyRow): string {
  return `${row.account_id} ${row.connection_id} ${row.state}`
}

export function reasonKey(row: ReasonRow): string {
  return `${row.account_id} ${row.state} ${row.reason}`
}

export const NONE: Tallies = {
  published: 0,
  waiting: 0,
  failed: 0,
  unconfirmed: 0,
  expired: 0,
  cancelled: 0,
  refused: 0,
}

export function totalsOf(bars: readonly Tallies[]): Totals {
  const totals: Record<keyof Tallies, number> = { ...NONE }
  for (const bar of bars) for (const state of Object.keys(NONE) as (keyof Tallies)[]) totals[state] += bar[state]
  const { published, waiting, failed, unconfirmed, expired, cancelled } = totals
  return { ...totals, accepted: published + waiting + failed + unconfirmed + expired + cancelled }
}
