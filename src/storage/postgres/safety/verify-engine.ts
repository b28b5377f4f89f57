import { sql } from 'kysely'
import type { Store } from '../../queries/store.ts'
import { inBatch, type Verification, type VerifyEngine } from '../../queries/verify/verification.ts'

/** The server owns the pages: reads its checksum statistics, and runs its extension amcheck if that is installed. */
export const postgresVerifyEngine: VerifyEngine = {
  async verifyPages(verification) {
    await queryChecksums(verification)
    await queryAmcheck(verification)
  },

  async verifyNumbers({ store, findings }) {
    // Not `select last_value from`: a role that may only use a sequence has no right to read it.
    const { rows } = await sql<{ name: string; behind: boolean }>`
      select 'message_block' as name, coalesce((greatest((select max(sequence) from queued), (select max(sequence) from settled))
          - (number::bigint << 40)) >> 10, -1) > coalesce(pg_sequence_last_value('message_block'), 0) - block_base as behind
        from (select number, block_base from period order by number desc limit 1) newest
      union all
      select 'audit', coalesce((select max(sequence) from audit), 0) > coalesce(pg_sequence_last_value(pg_get_serial_sequence('audit', 'sequence')::regclass), 0)
      union all
      select 'channel_memory', coalesce((select max(position) from channel_memory), 0)
        > coalesce(pg_sequence_last_value(pg_get_serial_sequence('channel_memory', 'position')::regclass), 0)`.execute(
      store.database,
    )
    for (const { name, behind } of rows) if (behind) findings.add('number_given_twice', name)
  },
}

async function queryChecksums({ store, findings }: Verification): Promise<void> {
  const { rows } = await sql<{
    failures: number | null
  }>`select checksum_failures::int as failures from pg_stat_database
    where datname = current_database()`.execute(store.database)
  const failures = rows[0]?.failures ?? null
  if (failures === null)
    findings.add(
      'not_checked',
      'The server keeps no checksums of its pages. They can be switched on with pg_checksums while it is stopped.',
    )
  else if (failures > 0) findings.add('checksum_failed', `${failures} pages of this database`)
}

async function queryAmcheck(verification: Verification): Promise<void> {
  const { store, findings, onProgress } = verification
  const schema = await schemaOfAmcheck(store)
  if (schema === null) {
    findings.add(
      'not_checked',
      'Indexes were not checked: the extension amcheck is missing, or not for this user. Make it once, as a superuser: create extension amcheck; grant execute on function bt_index_check(regclass) to the user.',
    )
    return
  }
  const { rows } = await sql<{
    oid: number
    name: string
  }>`select i.indexrelid::int as oid, i.indexrelid::regclass::text as name
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
    where c.relnamespace = current_schema()::regnamespace and a.amname = 'btree' and c.relkind = 'i' and i.indisvalid
    order by c.relpages`.execute(store.database)
  for (const [at, { oid, name }] of rows.entries()) {
    onProgress({ doing: `index ${name}`, rows: at })
    await inBatch(verification, async () => {
      try {
        // Its lock blocks neither reads nor writes.
        await sql`select ${sql.ref(`${schema}.bt_index_check`)}(${oid}::oid::regclass)`.execute(store.database)
      } catch (error) {
        findings.add('index_damaged', `${name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    })
  }
}

/** Null when amcheck is not installed or this user may not call it. */
async function schemaOfAmcheck({ database }: Store): Promise<string | null> {
  const { rows } = await sql<{
    schema: string
  }>`select n.nspname as schema from pg_proc p join pg_namespace n on n.oid = p.pronamespace
    where p.proname = 'bt_index_check' and p.pronargs = 1 and has_function_privilege(p.oid, 'execute')
      and has_schema_privilege(n.oid, 'usage')`.execute(database)
  return rows[0]?.schema ?? null
}
