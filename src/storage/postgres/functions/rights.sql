-- A change of tokens or connections sets a new mark in `rights` in the same commit, while it holds the locks of `guards.sql`. So a
-- check that was made under one mark is still valid for a transaction that holds these locks and finds the same mark.
create or replace function mark_rights() returns trigger language plpgsql as $$
begin
  -- Once per transaction: one that changes thousands of rows would otherwise leave as many versions of this row behind.
  if current_setting('nuncio.has_marked_rights', true) is distinct from tg_table_schema then
    -- Random and not a counter: a database that has gone back would reach the same number again. In the schema of the changed
    -- table, because a change by hand may name a schema that is not the first in the search path.
    execute format('insert into %I.rights ("only", mark) values (1, gen_random_uuid()::text)
      on conflict ("only") do update set mark = excluded.mark', tg_table_schema);
    perform set_config('nuncio.has_marked_rights', tg_table_schema, true);
  end if;
  return null;
end
$$;
