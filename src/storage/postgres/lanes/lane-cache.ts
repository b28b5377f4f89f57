import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { ClaimedLane } from '../../../core/ports/lanes.ts'
import type { PgConnection } from '../connection/pg-connection.ts'

/** What a step must know of its lane, and does not say. */
export interface KnownLane {
  readonly accountId: AccountId
}

/** The lanes of this process, from their claim until they are given back. */
export class LaneCache {
  readonly #link: PgConnection
  readonly #lanes = new Map<ConnectionId, KnownLane & { readonly epoch: number }>()

  constructor(link: PgConnection) {
    this.#link = link
  }

  get size(): number {
    return this.#lanes.size
  }

  note({ connectionId, accountId, epoch }: ClaimedLane): void {
    this.#lanes.set(connectionId, { accountId, epoch })
  }

  /** A lane that was claimed anew meanwhile stays. */
  forget({ connectionId, epoch }: { readonly connectionId: ConnectionId; readonly epoch: number }): void {
    const lane = this.#lanes.get(connectionId)
    if (lane && lane.epoch <= epoch) this.#lanes.delete(connectionId)
  }

  find(connectionId: ConnectionId): KnownLane | undefined {
    return this.#lanes.get(connectionId)
  }

  /** All of these, also those that were given back while a step of theirs was on its way. */
  async lookUp(connectionIds: readonly ConnectionId[]): Promise<ReadonlyMap<ConnectionId, KnownLane>> {
    const found = new Map<ConnectionId, KnownLane>()
    const unknown: ConnectionId[] = []
    for (const id of connectionIds) {
      const lane = this.#lanes.get(id)
      if (lane) found.set(id, lane)
      else unknown.push(id)
    }
    if (unknown.length === 0) return found
    const rows = await this.#link.ask('select id, account_id from connection where id = any ($1::text[])', [unknown])
    for (const row of rows) found.set(row['id'] as ConnectionId, { accountId: row['account_id'] as AccountId })
    return found
  }
}
