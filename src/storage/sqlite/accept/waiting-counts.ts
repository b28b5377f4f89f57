import type { DatabaseSync } from 'node:sqlite'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { FullCounts, LeastFull } from '../../queries/alarms/watch-database.ts'

/**
 * How many messages wait, per connection and account, kept in memory so that a limit costs nothing to check. A change by
 * another process is counted when it is noticed: limits protect the service, so a short delay is fine.
 */
export class WaitingCounts {
  readonly #database: DatabaseSync
  #byConnection = new Map<ConnectionId, number>()
  #byAccount = new Map<AccountId, number>()
  #accountOf = new Map<ConnectionId, AccountId>()

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  ofConnection(id: ConnectionId): number {
    return this.#byConnection.get(id) ?? 0
  }

  ofAccount(id: AccountId): number {
    return this.#byAccount.get(id) ?? 0
  }

  total(): number {
    let sum = 0
    for (const count of this.#byAccount.values()) sum += count
    return sum
  }

  /** The connections and accounts in which this many messages or more wait. */
  atLeast({ perConnection, perAccount }: LeastFull): FullCounts {
    return {
      connections: new Map([...this.#byConnection].filter(([, count]) => count >= perConnection)),
      accounts: new Map([...this.#byAccount].filter(([, count]) => count >= perAccount)),
    }
  }

  change(connectionId: ConnectionId, accountId: AccountId, by: number): void {
    this.#accountOf.set(connectionId, accountId)
    this.#byConnection.set(connectionId, Math.max(0, this.ofConnection(connectionId) + by))
    this.#byAccount.set(accountId, Math.max(0, this.ofAccount(accountId) + by))
  }

  /** This many messages of the connection no longer wait. */
  settled(connectionId: ConnectionId, count = 1): void {
    const accountId = this.#accountOf.get(connectionId)
    if (accountId) this.change(connectionId, accountId, -count)
  }

  /** Counts one connection again, after another process changed its lane. */
  recountOne(connectionId: ConnectionId): void {
    const row = this.#database
      .prepare(
        `select account_id, (select count(*) from waiting where waiting.connection_id = connection.id) as waiting
           from connection where id = ?`,
      )
      .get(connectionId) as { account_id: AccountId; waiting: number } | undefined
    if (row) this.change(connectionId, row.account_id, row.waiting - this.ofConnection(connectionId))
  }

  /** Counts lane entries alone, which may be a run too many per lane; some hundred milliseconds for five million of them. */
  recount(): void {
    const byConnection = new Map<ConnectionId, number>()
    const byAccount = new Map<AccountId, number>()
    const rows = this.#database
      .prepare(
        `select counts.connection_id, counts.waiting, connection.account_id
           from (select connection_id, count(*) as waiting from lane_entry group by connection_id) counts
           join connection on connection.id = counts.connection_id`,
      )
      .iterate() as Iterable<{ connection_id: ConnectionId; waiting: number; account_id: AccountId }>
    for (const row of rows) {
      this.#accountOf.set(row.connection_id, row.account_id)
      byConnection.set(row.connection_id, row.waiting)
      byAccount.set(row.account_id, (byAccount.get(row.account_id) ?? 0) + row.waiting)
    }
    this.#byConnection = byConnection
    this.#byAccount = byAccount
  }
}
