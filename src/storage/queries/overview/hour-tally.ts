import type { AccountId, ConnectionId, Instant } from '../../../core/ids.ts'
import type { MessageState } from '../../../core/message/message.ts'
import type { Tallies } from '../../../core/ports/console/overview.ts'
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
  readonly #counts = new Map<string, TallyRow>()
  readonly #reasons = new Map<string, ReasonRow>()

  /** `connectionId` is null for what belongs to no connection. */
  add(some: {
    readonly accountId: AccountId
    readonly connectionId: ConnectionId | null
    readonly state: TalliedState
    readonly count: number
  }): void {
    const { accountId, connectionId, state, count } = some
    for (const of of connectionId === null ? [ALL_CONNECTIONS] : [ALL_CONNECTIONS, connectionId]) {
      const row: TallyRow = { account_id: accountId, connection_id: of, state, count }
      const known = this.#counts.get(tallyKey(row))
      if (known) known.count += count
      else this.#counts.set(tallyKey(row), row)
    }
  }

  addReason(some: {
    readonly accountId: AccountId
    readonly state: MessageState
    readonly reason: string
    readonly count: number
    readonly latestAt: Instant
  }): void {
    const { accountId, state, reason, count, latestAt } = some
    const row: ReasonRow = { account_id: accountId, state, reason, count, latest_at: latestAt }
    const known = this.#reasons.get(reasonKey(row))
    if (known) {
      known.count += count
      known.latest_at = Math.max(known.latest_at, latestAt)
    } else {
      this.#reasons.set(reasonKey(row), row)
    }
  }

  get counts(): ReadonlyMap<string, TallyRow> {
    return this.#counts
  }

  get reasons(): ReadonlyMap<string, ReasonRow> {
    return this.#reasons
  }
}

export function tallyKey(row: TallyRow): string {
  return `${row.account_id} ${row.connection_id} ${row.state}`
}

export function reasonKey(row: ReasonRow): string {
  return `${row.account_id} ${row.state} ${row.reason}`
}
