-- Finishes messages older than the time to live of their connection. Within a lane the oldest message expires first,
-- because the time to live belongs to the connection. So only the front of each lane is read, up to the first message that may stay.
--
-- What a message waited for itself is only in its row of `queued`, and that its time was over shows in no state where it may have arrived:
-- both are kept in its timeline.
--
-- Nothing expires while all lanes are held: a message that waits in an older state of the database may have been sent, and a
-- person has to check it (G12).
create or replace function expire_messages(most integer, default_lasts_ms bigint) returns integer language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  now constant bigint := now_ms();
  found_count integer := 0;
  a_lane record;
  a_message record;
  may_have_arrived boolean;
  own_wait jsonb;
begin
  if exists (select from hold) then
    return 0;
  end if;
  perform begin_durable_write(2000);
  for a_lane in
    with recursive busy (id) as (
      (select q.connection_id from queued q order by q.connection_id limit 1)
      union all
      select (select q.connection_id from queued q where q.connection_id > busy.id order by q.connection_id limit 1)
        from busy where busy.id is not null
    )
    select f.id, f.lasts_ms from (
      select b.id, coalesce((c.policy::jsonb ->> 'timeToLiveMs')::bigint, default_lasts_ms) as lasts_ms,
          (select q.accepted_at from queued q where q.connection_id >= b.id and q.connection_id <= b.id
            order by q.connection_id, q.sequence limit 1) as oldest
        from busy b cross join lateral (select connection.policy from connection where connection.id = b.id offset 0) c) f
      where f.oldest <= now - f.lasts_ms
  loop
    for a_message in
      -- Another transaction is opening, ending or cancelling the messages that it has locked.
      select q.account_id, q.sequence, q.accepted_at, q.retry::jsonb -> 'wait' as wait from queued q where q.connection_id >= a_lane.id and q.connection_id <= a_lane.id
        order by q.connection_id, q.sequence limit most - found_count for update skip locked
    loop
      exit when a_message.accepted_at > now - a_lane.lasts_ms;
      -- After the lock, because opening an attempt locks the message first.
      continue when exists (select from open_attempt o where o.connection_id = a_lane.id and o.message_sequence = a_message.sequence);
      -- A message with an attempt of unknown outcome may have arrived, so it must not end as expired.
      may_have_arrived := exists (select from ended_attempt a where a.message_sequence = a_message.sequence and a.outcome = 'unknown');
      -- The end of the attempt before says why a retry waited.
      own_wait := case when a_message.wait ->> 'kind' <> 'retry' then a_message.wait end;
      if may_have_arrived or own_wait is not null then
        insert into timeline (message_sequence, position, at, kind, code, facts)
          select a_message.sequence, 1 + coalesce(max(t.position), 0), now, 'settled', 'time_to_live_over',
              json_strip_nulls(json_build_object('state', case when may_have_arrived then 'UNCONFIRMED' else 'EXPIRED' end,
                'waitedFor', own_wait -> 'reason', 'waitedSince', own_wait -> 'since', 'waitedUntil', own_wait -> 'until'))::text
            from timeline t where t.message_sequence = a_message.sequence
          on conflict do nothing;
        -- An entry that another transaction added meanwhile has taken its place: the next sweep ends the message.
        continue when not found;
      end if;
      perform end_queued(a_message.account_id, a_lane.id, a_message.sequence,
        case when may_have_arrived then 'UNCONFIRMED' else 'EXPIRED' end,
        case when may_have_arrived then 'result_unknown' else 'time_to_live_over' end, null, now);
      found_count := found_count + 1;
    end loop;
    exit when found_count >= most;
  end loop;
  return found_count;
end
$$;
