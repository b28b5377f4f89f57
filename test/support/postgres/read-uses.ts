import { withClient } from './postgres-server.ts'

/** Something of the schema that statements of older code may name, and the migration since which they may. */
export interface Use {
  readonly since: number
  readonly what: string
}

const NEEDS_VALUE = ' needs a value'

// Partitions are used through their tables.
const USES = `
  with ours as (
    select c.oid, c.relname as name, c.relkind as kind from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v') and not c.relispartition
  )
  select 'function ' || p.oid::regprocedure || ' returns ' || pg_get_function_result(p.oid) as what
    from pg_proc p where p.pronamespace = 'public'::regnamespace
  union all
  select 'table ' || name from ours
  union all
  select 'column ' || o.name || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull and not a.atthasdef and a.attidentity = '' and o.kind <> 'v' then '${NEEDS_VALUE}' else '' end
    from ours o join pg_attribute a on a.attrelid = o.oid where a.attnum > 0 and not a.attisdropped
  union all
  -- What "on conflict" may name.
  select 'unique ' || o.name || ' ' || regexp_replace(pg_get_indexdef(i.indexrelid), '^.*? USING btree ', '')
    from ours o join pg_index i on i.indrelid = o.oid where i.indisunique`

/** What statements may name in this database. */
export async function readUses(url: string): Promise<string[]> {
  return withClient(url, async (client) => {
    const { rows } = await client.query<{ what: string }>(USES)
    return rows.map(({ what }) => what)
  })
}

export function parseUses(text: string): Use[] {
  return text
    .split('\n')
    .filter((line) => /^\d{4} /.test(line))
    .map((line) => ({ since: Number(line.slice(0, 4)), what: line.slice(5) }))
}

export function printUses(uses: readonly Use[]): string {
  const lines = uses.map(({ since, what }) => `${String(since).padStart(4, '0')} ${what}\n`)
  return lines.join('')
}

/** With what the newest migration has brought, and without what only code before the last breaking one could name. */
export function addUses(
  known: readonly Use[],
  present: readonly string[],
  numbers: { newest: number; breaking: number },
) {
  const isKnown = new Set(known.map(({ what }) => what))
  const isPresent = new Set(present)
  const kept = known.filter(({ since, what }) => isPresent.has(what) || since >= numbers.breaking)
  const added = present.filter((what) => !isKnown.has(what)).map((what) => ({ since: numbers.newest, what }))
  return [...kept, ...added].sort((a, b) => (a.what < b.what ? -1 : 1))
}

/** What takes away from older code what its statements name, or what they do not know of and must give: in sentences. */
export function findBreaks(known: readonly Use[], present: readonly string[], breaking: number): string[] {
  const isPresent = new Set(present)
  const gone = known.filter(({ since, what }) => since >= breaking && !isPresent.has(what))
  const bornAt = new Map(known.map(({ since, what }) => [what, since]))
  const unasked = known.filter(({ since, what }) => {
    const [, table = ''] = /^column (\w+)\./.exec(what) ?? []
    const tableSince = bornAt.get(`table ${table}`) ?? since
    return what.endsWith(NEEDS_VALUE) && isPresent.has(what) && since > Math.max(tableSince, breaking)
  })
  return [
    ...gone.map(({ what }) => `Gone or changed: ${what}`),
    ...unasked.map(({ what }) => `Code before it inserts none: ${what}`),
  ]
}
