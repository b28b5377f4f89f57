import type { ConnectionId, Instant } from '../../core/ids.ts'
import { type ChannelConnections, REPORTS_NOTED_EVERY_MS } from '../../core/ports/channel-connections.ts'

/** Notes of each connection that its network reports, no more often than `REPORTS_NOTED_EVERY_MS`. */
export class ReportNotes {
  readonly #connections: Pick<ChannelConnections, 'noteReport'>
  /** When it was last noted. */
  readonly #notedAt = new Map<ConnectionId, Instant>()

  constructor(connections: Pick<ChannelConnections, 'noteReport'>) {
    this.#connections = connections
  }

  /** Rejects with `StorageUnavailable`; the next report is then noted. */
  async note(connectionId: ConnectionId, now: Instant): Promise<void> {
    const before = this.#notedAt.get(connectionId)
    if (before !== undefined && before <= now && now < before + REPORTS_NOTED_EVERY_MS) return
    this.#notedAt.set(connectionId, now)
    try {
      await this.#connections.noteReport(connectionId, now)
    } catch (error) {
      this.#notedAt.delete(connectionId)
      throw error
    }
  }
}
