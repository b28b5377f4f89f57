-- Whoever takes a right away gives `rights` another mark in the same commit, while it still holds the locks of `guards.sql`. So
-- what was judged by a mark still holds for whoever has these locks and finds the same mark: nothing was taken away since.
-- What is new, such as a token, takes nothing away from anybody.
create function mark_rights() returns trigger language plpgsql as $$
begin
  -- Once in each transaction: one that changes thousands of rows would leave as many versions of this one behind.
  if current_setting('nuncio.has_marked_rights', true) is distinct from 'yes' then
    -- By chance, and not by counting: a database that has gone back would count to the same number once more.
    insert into rights ("only", mark) values (1, gen_random_uuid()::text)
      on conflict ("only") do update set mark = excluded.mark;
    perform set_config('nuncio.has_marked_rights', 'yes', true);
  end if;
  return null;
end
$$;
