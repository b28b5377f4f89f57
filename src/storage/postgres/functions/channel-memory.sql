-- Adds entries, and returns the 1-based indexes of those that were new. Transactions of one kind commit one after another,
-- so positions become visible in their order: a reader that continues after its last position misses none.
create or replace function remember_entries(kinds text[], connections text[], keys text[], contents text[], ats bigint[], reminders bigint[])
  returns setof integer language plpgsql set enable_seqscan = off
as $$
begin
  perform begin_durable_write(2000);
  perform pg_advisory_xact_lock(5, b) from (select distinct hashtext(k) & 1023 as b from unnest(kinds) k order by b) buckets;
  return query
  with added as (
    insert into channel_memory (kind, connection_id, key, value, at, remind_at)
      select s.kind, s.connection_id, s.key, s.value, s.at, s.remind_at
        from unnest(kinds, connections, keys, contents, ats, reminders) with ordinality s (kind, connection_id, key, value, at, remind_at, i) order by s.i
      on conflict (kind, connection_id, key) do nothing
      returning kind, connection_id, key
  )
  select min(s.i)::integer from added a
    join unnest(kinds, connections, keys) with ordinality s (kind, connection_id, key, i)
      on s.kind = a.kind and s.connection_id = a.connection_id and s.key = a.key
    group by s.kind, s.connection_id, s.key;
end
$$;
