import type { NewNotice, Notices } from '../../core/ports/notices.ts'
import { insist } from './insist.ts'
import type { Ask } from './link.ts'

export class PostgresNotices implements Notices {
  readonly #ask: Ask

  constructor(ask: Ask) {
    this.#ask = ask
  }

  async announce(notices: readonly NewNotice[]): Promise<void> {
    if (notices.length === 0) return
    const rows = notices.map(({ accountId, kind, at, key, data }) => ({
      account_id: accountId,
      kind,
      at,
      key: withoutNul(key),
      data: withoutNul(JSON.stringify(data)),
    }))
    await insist(() => this.#ask('select announce_notices($1)', [JSON.stringify(rows)]))
  }
}

/** As JSON text has it: the database takes no U+0000, and whoever is told needs none. */
function withoutNul(text: string): string {
  return text.replaceAll('\\u0000', '').replaceAll('\0', '')
}
