-- Claims those of these lanes that may be taken and have work. If the previous owner lost the lane during the call of an
-- attempt, that counts as a crash of the attempt; during a wait for evidence it does not.
--
-- The rows are locked first, in one order, and checked by a later statement, so a second session sees the result of the first
-- one. A row that another session is writing is left for the next poll.
create or replace function claim_lanes(a_worker text, ids text[], expected bigint, ignore_expiry boolean) returns setof claimed_lane language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  locked text[];
  taken text[];
  at_epochs bigint[];
  now bigint;
  spared text[];
  is_held boolean;
  -- A database that went back has lost claims. Their epochs must not be assigned again, because workers may still use them.
  past_lost_epochs constant bigint := (select r.holds from checkpoint r) * 1000000000::bigint;
begin
  perform begin_durable_write(2000);
  insert into lane (connection_id, account_id)
    select c.id, c.account_id
      from (select distinct unnest(ids) as id order by 1) s
      cross join lateral (select connection.id, connection.account_id from connection where connection.id = s.id offset 0) c
      where (select true from lane l where l.connection_id = s.id) is null
    on conflict (connection_id) do nothing;
  select array_agg(l.connection_id) into locked
    from (select distinct unnest(ids) as id order by 1) s
    cross join lateral (
      select lane.connection_id from lane where lane.connection_id = s.id for no key update skip locked
    ) l;
  -- A late worker may be opening or ending an attempt in this lane.
  select array_agg(s.id) into locked
    from unnest(locked) s (id)
    left join lateral (
      select true as yes from lane_attempt o where o.connection_id = s.id for no key update skip locked
    ) a on true
    where a.yes or (select true from lane_attempt o where o.connection_id = s.id) is null;
  now := now_ms();
  spared := workers_to_spare(a_worker, now, ignore_expiry or has_jumped(now, expected));
  is_held := exists (select from hold where "only" = 1);
  with t as (
    update lane l set owner = a_worker, epoch = greatest(l.epoch, past_lost_epochs) + 1
      from unnest(locked) s (id)
      where l.connection_id >= s.id and l.connection_id <= s.id and not coalesce(l.owner = any (spared), false)
        and ((not is_held and (select c.state from connection c where c.id = s.id) = 'active'
            and (select true from queued q where q.connection_id >= s.id and q.connection_id <= s.id limit 1))
          or (select true from open_attempt o where o.connection_id = s.id)
          or (not is_held and ((select true from channel_session cs where cs.connection_id = s.id)
            or (select true from session_request r where r.connection_id = s.id and r.ended_at is null))))
      returning l.connection_id, l.epoch
  )
  select array_agg(t.connection_id), array_agg(t.epoch) into taken, at_epochs from t;
  -- Again a later statement, which sees attempts that were opened during the wait for the row. From here on no attempt opens
  -- under an older epoch, because opening writes to this row.
  insert into lane_attempt as o (connection_id, account_id, epoch)
    select s.id, l.account_id, s.epoch
      from (select * from unnest(taken, at_epochs) u (id, epoch) order by u.id) s
      cross join lateral (select lane.account_id from lane where lane.connection_id = s.id offset 0) l
    on conflict (connection_id) do update set epoch = excluded.epoch,
      crashes = o.crashes + case when o.message_sequence is not null and o.evidence_until is null then 1 else 0 end;
  insert into timeline (message_sequence, position, at, kind, facts)
    select o.message_sequence, coalesce((select max(t.position) from timeline t where t.message_sequence = o.message_sequence), 0) + 1,
        now, 'recovered', json_build_object('attempt', o.number)::text
      from unnest(taken) s (id)
      cross join lateral (
        select a.message_sequence, a.number from open_attempt a
          where a.connection_id >= s.id and a.connection_id <= s.id and a.evidence_until is null offset 0
      ) o
    on conflict do nothing;
  return query select * from describe_lanes(taken, at_epochs);
end
$$;

-- Releases lanes. Deletes the attempt row of lanes without an open attempt, so that scans of these rows cost no more than the
-- held lanes.
create or replace function release_lanes(connections text[], epochs bigint[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  perform begin_durable_write(2000);
  -- In the order in which all functions lock them.
  perform from (select u.id, u.epoch from unnest(connections, epochs) u (id, epoch) order by u.id) s
    cross join lateral (select from lane l where l.connection_id = s.id and l.epoch = s.epoch for no key update) l;
  update lane l set owner = null from unnest(connections, epochs) s (id, epoch)
    where l.connection_id >= s.id and l.connection_id <= s.id and l.epoch = s.epoch;
  delete from lane_attempt o using unnest(connections, epochs) s (id, epoch)
    where o.connection_id >= s.id and o.connection_id <= s.id and o.epoch = s.epoch and o.message_sequence is null;
end
$$;
