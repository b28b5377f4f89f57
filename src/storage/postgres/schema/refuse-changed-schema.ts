import { randomBytes } from 'node:crypto'
import { escapeIdentifier, escapeLiteral } from 'pg'
import { changedSchema } from '../../queries/migrations.ts'
import { readMigrations } from './migrate.ts'
import { readFunctions } from './stored-functions.ts'

/**
 * Statements that a transaction runs after it has read in a dump and before any other write, because a foreign trigger in the
 * dump would run. They replace all functions with ours. Then they build the expected schema beside the restored one from the
 * applied migrations, compare the names of all objects that can call functions, and drop it again.
 *
 * Only names and types are compared: after a dump a server may print definitions differently.
 */
export function refuseChangedSchema(schema: string, appliedMigrations: number): string {
  const beside = `nuncio_expected_${randomBytes(6).toString('hex')}`
  const functions = readFunctions()
  const migrations = readMigrations(functions).filter(({ number }) => number <= appliedMigrations)
  return `
set check_function_bodies = off;
${functions.sql}
delete from applied_functions;
insert into applied_functions ("only", version, hash) values (1, ${escapeLiteral(functions.version)}, ${escapeLiteral(functions.hash)});
create schema ${escapeIdentifier(beside)};
set search_path = ${escapeIdentifier(beside)}, pg_temp;
${migrations.map(({ sql }) => sql).join('\n')}
set search_path = pg_catalog, pg_temp;
do $refuse$
  declare other text;
  begin
    select coalesce(found.name, expected.name) into other
      from (${objectsOf(schema)}) found full join (${objectsOf(beside)}) expected using (name)
      where found.name is null or expected.name is null order by 1 limit 1;
    if other is not null then
      raise '${changedSchema('%')}', other;
    end if;
  end
$refuse$;
drop schema ${escapeIdentifier(beside)} cascade;
`
}

/** The names of all objects in a schema, without those of extensions and without partitions. */
function objectsOf(schema: string): string {
  const isIn = (column: string) => `${column} = ${escapeLiteral(escapeIdentifier(schema))}::regnamespace`
  const isOwn = (catalog: string) =>
    `not exists (select from pg_depend d where d.classid = '${catalog}'::regclass and d.objid = o.oid and d.deptype = 'e')`
  const plain = (text: string) => `replace(${text}, quote_ident(${escapeLiteral(schema)}) || '.', '')`
  return `
    select format('the %s “%s”', case o.relkind when 'v' then 'view' when 'S' then 'sequence' when 'i' then 'index' when 'I' then 'index'
        else 'table' end, o.relname) as name
      from pg_class o where ${isIn('o.relnamespace')} and not o.relispartition and ${isOwn('pg_class')}
    union all
    select format('the column “%s” of “%s” with the type %s', a.attname, o.relname, ${plain('format_type(a.atttypid, a.atttypmod)')})
      from pg_attribute a join pg_class o on o.oid = a.attrelid
      where ${isIn('o.relnamespace')} and not o.relispartition and o.relkind in ('r', 'p', 'v') and a.attnum > 0
        and not a.attisdropped and ${isOwn('pg_class')}
    union all
    select format('the trigger “%s” of “%s”, which calls “%s”,', t.tgname, o.relname, p.proname)
      from pg_trigger t join pg_class o on o.oid = t.tgrelid join pg_proc p on p.oid = t.tgfoid
      where ${isIn('o.relnamespace')} and not t.tgisinternal and t.tgparentid = 0
    union all
    select format('the rule “%s” of “%s”', r.rulename, o.relname)
      from pg_rewrite r join pg_class o on o.oid = r.ev_class where ${isIn('o.relnamespace')} and r.rulename <> '_RETURN'
    union all
    select format('the policy “%s” of “%s”', y.polname, o.relname)
      from pg_policy y join pg_class o on o.oid = y.polrelid where ${isIn('o.relnamespace')}
    union all
    select format('the function “%s(%s)”', o.proname, ${plain('pg_get_function_identity_arguments(o.oid)')})
      from pg_proc o where ${isIn('o.pronamespace')} and ${isOwn('pg_proc')}
    union all
    select format('the type “%s”', o.typname)
      from pg_type o where ${isIn('o.typnamespace')} and o.typtype in ('d', 'e', 'r') and ${isOwn('pg_type')}
    union all
    select format('the operator “%s”', o.oprname)
      from pg_operator o where ${isIn('o.oprnamespace')} and ${isOwn('pg_operator')}`
}
