import type { ConnectionId } from '../../../core/ids.ts'
import type { PgConnection } from './pg-connection.ts'

export const WAKE_CHANNEL = 'nuncio_wake'
export const CHANGE_CHANNEL = 'nuncio_change'

// Long enough to send a burst at once, short enough not to be noticed.
const LINGER_MS = 4
// A notification carries at most 8,000 bytes.
const MOST_BYTES = 7_900

/**
 * Notifies other processes of lanes with new messages. After the commit and apart from it: a notification inside would make all
 * commits of the installation wait for each other. When one is lost, the next poll finds the messages.
 */
export class WakeUpNotifier {
  readonly #link: PgConnection
  #pending = new Set<ConnectionId>()
  #isPlanned = false

  constructor(link: PgConnection) {
    this.#link = link
  }

  notify(ids: readonly ConnectionId[]): void {
    for (const id of ids) this.#pending.add(id)
    if (this.#isPlanned || this.#pending.size === 0) return
    this.#isPlanned = true
    setTimeout(() => void this.#send(), LINGER_MS)
  }

  async #send(): Promise<void> {
    const ids = [...this.#pending]
    this.#pending = new Set()
    const payloads = split(ids)
    await this.#link
      .ask(`select pg_notify('${WAKE_CHANNEL}', payload) from unnest($1::text[]) payload`, [payloads])
      .catch(() => {})
    this.#isPlanned = false
    if (this.#pending.size > 0) this.notify([])
  }
}

export function readWake(payload: string): ConnectionId[] {
  return payload === '' ? [] : (payload.split(',') as ConnectionId[])
}

function split(ids: readonly string[]): string[] {
  const payloads: string[] = []
  let current = ''
  for (const id of ids) {
    if (current.length + id.length + 1 > MOST_BYTES) {
      payloads.push(current)
      current = ''
    }
    current = current === '' ? id : `${current},${id}`
  }
  return [...payloads, current]
}
