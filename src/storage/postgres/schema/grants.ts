import type { Query, Row } from '../connection/pg-connection.ts'

// Written by migrations and by `open_period` alone.
const READ_ONLY = ['migration', 'applied_functions', 'period']

/**
 * Grants a role the use of what this role has made in the first schema of its path: rows of tables, but not the tables
 * themselves. A grant on a partitioned table also covers its partitions, including later ones. Must be called in a
 * transaction that holds the migration lock, because concurrent grants fail.
 */
export async function grantMissing(query: Query, role: string): Promise<void> {
  await queryAll(query, await query(MISSING, [role, READ_ONLY]))
}

/**
 * The same for each role that already uses the tables. Its services keep running and need the new objects, also when the
 * migration was started without naming that role.
 */
export async function grantToServices(query: Query): Promise<void> {
  const services = (await query(SERVICES)) as unknown as { role: string }[]
  for (const { role } of services) await grantMissing(query, role)
}

/** Functions that run with the rights of their owner may be called by services only. */
export async function closeDefiners(query: Query): Promise<void> {
  await queryAll(query, await query(CLOSING_DEFINERS))
}

async function queryAll(query: Query, statements: readonly Row[]): Promise<void> {
  for (const { sql } of statements as unknown as { sql: string }[]) await query(sql)
}

const OURS = `with ours as (
    select c.oid, c.relname, c.relkind, format('%I.%I', n.nspname, c.relname) as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = current_schema() and pg_get_userbyid(c.relowner) = current_user and not c.relispartition
        and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
  ), functions as (
    select p.oid, p.prosecdef, p.proacl, p.proowner, p.oid::regprocedure::text as name
      from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = current_schema() and pg_get_userbyid(p.proowner) = current_user
        and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  )`

const OPEN_DEFINERS = `select format('revoke execute on function %s from public', f.name) as sql
    from functions f where f.prosecdef
      and exists (select from aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) a where a.grantee = 0)`

/** Returns the statements that `closeDefiners` runs. */
export const CLOSING_DEFINERS = `${OURS} ${OPEN_DEFINERS}`

// Roles that may insert into `queued`. Roles that may only read, such as for reports, are not services.
const SERVICES = `select distinct pg_get_userbyid(a.grantee) as role
    from pg_class c cross join aclexplode(c.relacl) a
    where c.oid = to_regclass('queued') and a.privilege_type = 'INSERT' and a.grantee <> 0 and pg_get_userbyid(a.grantee) <> current_user`

const MISSING = `${OURS}
  select format('grant usage on schema %I to %I', current_schema(), $1::text) as sql
    where not has_schema_privilege($1, current_schema(), 'usage')
  union all
  select format('grant %s on %s to %I', r.name, o.name, $1)
    from ours o cross join unnest(array['select', 'insert', 'update', 'delete']) r (name)
    where (r.name = 'select' or o.relname <> all ($2))
      and case when o.relkind in ('r', 'p', 'v') then not has_table_privilege($1, o.oid, r.name) end
  union all
  select format('grant usage on sequence %s to %I', o.name, $1)
    from ours o where case when o.relkind = 'S' then not has_sequence_privilege($1, o.oid, 'usage') end
  union all
  select format('grant execute on function %s to %I', f.name, $1)
    from functions f where not has_function_privilege($1, f.oid, 'execute')`
