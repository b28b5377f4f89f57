-- The messages of reports: queued ones first, then finished ones. Finished messages are searched in the periods of the times
-- that their ids contain. Ids without a time or with a wrong one are then searched in all periods.
--
-- The query has a range condition on the id and an order by id: see `write_steps`. With an equality, and before statistics
-- existed, the planner scanned all sequences of the period.
create or replace function find_targets(ids text[], earliest bigint, latest bigint) returns setof receipt_target language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
  -- The largest difference that is allowed between the clock that made an id and ours.
  slack_ms constant bigint := 3600000;
  search constant text := 'select array_agg(row(x.id, x.account_id, x.connection_id, x.sequence, x.state, x.attempts, x.network_id, false)::receipt_target)
    from unnest($1) s (id) cross join lateral (
      select * from settled where settled.id >= s.id and settled.id <= s.id %s order by settled.id offset 0
    ) x';
  found_here receipt_target[];
  found_so_far receipt_target[];
  missing text[] := ids;
  first bigint;
  past bigint;
begin
  select array_agg(row(q.id, q.account_id, q.connection_id, q.sequence, 'QUEUED', q.attempts, null, q.is_open)::receipt_target) into found_here
    from unnest(missing) s (id) cross join lateral (
      select queued.id, queued.account_id, queued.connection_id, queued.sequence, queued.attempts,
          (select true from open_attempt o where o.connection_id = queued.connection_id and o.message_sequence = queued.sequence) is true as is_open
        from queued where queued.id = s.id offset 0
    ) q;
  found_so_far := found_here;
  select array_agg(m.id) into missing from unnest(missing) m (id) where m.id <> all (array(select f.id from unnest(found_here) f));
  if missing is not null and earliest is not null then
    select min(p.number)::bigint << 40, (max(p.number)::bigint + 1) << 40 into first, past
      from (select number, starts_at, lead(starts_at) over (order by number) as ends_at from period) p
      where (p.starts_at <= latest + slack_ms or p.number = 0) and (p.ends_at is null or p.ends_at >= earliest - slack_ms);
    execute format(search, format('and settled.sequence >= %s and settled.sequence < %s', first, past)) into found_here using missing;
    found_so_far := found_so_far || found_here;
    select array_agg(m.id) into missing from unnest(missing) m (id) where m.id <> all (array(select f.id from unnest(found_here) f));
  end if;
  if missing is not null then
    execute format(search, '') into found_here using missing;
    found_so_far := found_so_far || found_here;
  end if;
  return query select * from unnest(found_so_far);
end
$$;

-- The messages of reports that contain only the network's id, each within a connection. Such an id contains no time, so every
-- period is searched, by the partial index on ids with this prefix.
create or replace function find_network_targets(connections text[], network_ids text[]) returns setof receipt_target language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
begin
  return query select x.id, x.account_id, x.connection_id, x.sequence, x.state, x.attempts, x.network_id, false
    from unnest(connections, network_ids) s (connection_id, network_id) cross join lateral (
      select * from settled
        where settled.network_id >= s.network_id and settled.network_id <= s.network_id and settled.network_id like 'wamid.%'
          and settled.connection_id = s.connection_id
        order by settled.network_id limit 1
    ) x;
end
$$;
