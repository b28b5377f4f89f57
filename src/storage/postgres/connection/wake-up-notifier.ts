import type { ConnectionId } from '../../../core/ids.ts'
import type { PgConnection } from './pg-connection.ts'

export const WAKE_CHANNEL = 'nuncio_wake'
export const CHANGE_CHANNEL = 'nuncio_change'

// Long enough that a busy moment is told once, short enough that nobody notices.
const GATHERED_FOR_MS = 4
// A notification carries at most 8,000 bytes.
const MOST_BYTES = 7_900

/**
 * Tells other processes which lanes have new messages. After the commit and apart from it: a notification inside would
 * make all commits of the installation wait for each other. When one is lost, the next look finds the messages.
 */
export class WakeUpNotifier {
  readonly #link: PgConnection
  #gathered = new Set<ConnectionId>()
  #isPlanned = false

  constructor(link: PgConnection) {
    this.#link = link
  }

  tell(ids: readonly ConnectionId[]): void {
    for (const id of ids) this.#gathered.add(id)
    if (this.#isPlanned || this.#gathered.size === 0) return
    this.#isPlanned = true
    setTimeout(() => void this.#send(), GATHERED_FOR_MS)
  }

  async #send(): Promise<void> {
    const ids = [...this.#gathered]
    this.#gathered = new Set()
    const payloads = split(ids)
    await this.#link
      .ask(`select pg_notify('${WAKE_CHANNEL}', payload) from unnest($1::text[]) payload`, [payloads])
      .catch(() => {})
    this.#isPlanned = false
    if (this.#gathered.size > 0) this.tell([])
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
