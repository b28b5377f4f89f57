import { sql } from 'kysely'
import { commandLine } from '../../../core/command-line.ts'
import type { Store } from '../../queries/store.ts'
import { inBatch, type Verification, type VerifyEngine } from '../../queries/verify/verification.ts'

// One statement checks a whole table, and while it runs the write-ahead log of a service cannot start over. In a copy
// that does not matter.
const CHECKED_UP_TO_BYTES = 1024 * 1024 * 1024
const MOST_FINDINGS = 20

/** `isCopy`: no other process uses it. */
export function sqliteVerifyEngine({ isCopy }: { readonly isCopy: boolean }): VerifyEngine {
  return {
    async verifyPages(verification) {
      const { store, findings } = verification
      const size = (await numberOf(store, 'page_count')) * (await numberOf(store, 'page_size'))
      if (isCopy || size <= CHECKED_UP_TO_BYTES) await checkPages(verification, isCopy)
      else
        findings.add(
          'not_checked',
          `The pages of so large a file are not checked beside a service. ${commandLine`backup`} checks them in its copy, and ${commandLine`verify`} in a backup.`,
        )
      const broken = await sql<{
        table: string
        parent: string
        rowid: number | null
      }>`pragma foreign_key_check`.execute(store.database)
      for (const { table, parent, rowid } of broken.rows)
        findings.add('reference_broken', `${table}${rowid === null ? '' : ` (row ${rowid})`}: ${parent}`)
    },
    async verifyNumbers({ store, findings }) {
      const { rows } = await sql<{
        behind: number
      }>`select coalesce((select seq from sqlite_sequence where name = 'channel_memory'), 0)
        < (select coalesce(max(position), 0) from channel_memory) as behind`.execute(store.database)
      if (rows[0]?.behind === 1) findings.add('number_given_twice', 'channel_memory')
    },
  }
}

async function checkPages(verification: Verification, isCopy: boolean): Promise<void> {
  const { store, findings, onProgress } = verification
  const check = async (what: string | null) => {
    const { rows } = await sql<{
      integrity_check: string
    }>`pragma integrity_check(${sql.raw(what ?? String(MOST_FINDINGS))})`.execute(store.database)
    for (const { integrity_check: words } of rows)
      if (words !== 'ok') findings.add(/index/.test(words) ? 'index_damaged' : 'pages_damaged', words)
  }
  // A check of the whole file also finds pages that belong to no table. A check of one table at a time lets others write between.
  if (isCopy) return check(null)
  const { rows } = await sql<{
    name: string
  }>`select name from sqlite_schema where type = 'table' order by name`.execute(store.database)
  for (const [at, { name }] of rows.entries()) {
    onProgress({ doing: `pages of ${name}`, rows: at })
    await inBatch(verification, () => check(`"${name}"`))
  }
}

async function numberOf({ database }: Store, name: 'page_count' | 'page_size'): Promise<number> {
  const { rows } = await sql<Record<string, number>>`pragma ${sql.raw(name)}`.execute(database)
  return rows[0]?.[name] ?? 0
}
