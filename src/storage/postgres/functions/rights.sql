-- Whoever changes what acceptances are judged by gives `rights` another mark in the same commit, while it still holds the locks of
-- `guards.sql`. So what was judged by a mark still holds for whoever has these locks and finds the same mark.
create or replace function mark_rights() returns trigger language plpgsql as $$
begin
  -- Once in each transaction: one that changes thousands of rows would leave as many versions of this one behind.
  if current_setting('nuncio.has_marked_rights', true) is distinct from tg_table_schema then
    -- By chance, and not by counting: a database that has gone back would count to the same number once more. Beside the table
    -- that was changed, which a change by hand may have named with another schema than the one that is looked in first.
    execute format('insert into %I.rights ("only", mark) values (1, gen_random_uuid()::text)
      on conflict ("only") do update set mark = excluded.mark', tg_table_schema);
    perform set_config('nuncio.has_marked_rights', tg_table_schema, true);
  end if;
  return null;
end
$$;
