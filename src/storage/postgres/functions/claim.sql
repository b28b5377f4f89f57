-- Workers whose lanes nobody may take. A heartbeat that lies far in the future was written before the clock of the
-- database was set back: it says nothing. `grace`: that clock has jumped, so heartbeats may only look as if they had run
-- out, and the lanes of every worker that has not retired are left alone.
--
-- Volatile, so that it sees what has committed until it is called and not until the statement began that calls it: a
-- worker that has just come up must not be taken for dead by whoever has waited for its lane.
create function workers_to_spare(a_worker text, now bigint, grace boolean) returns text[] language plpgsql volatile
  set jit = off
as $$
begin
  return coalesce((select array_agg(w.id) from worker w
    where w.id <> a_worker and (grace or (w.heartbeat_until > now and w.heartbeat_until <= now + 60000))), '{}');
end
$$;

-- True when the time is not what the caller expects. Null: the caller does not know what to expect.
create function has_jumped(now bigint, expected bigint) returns boolean language sql immutable as $$
  select coalesce(abs(now - expected) > 2000, false)
$$;

-- Renews the heartbeat, and returns the time and those that live and dispatch.
create function beat(
  a_worker text, lasts_ms bigint, a_host text, a_pid integer, some_roles text, a_version text, a_spool text,
  out now bigint, out living text[]
) language plpgsql set enable_seqscan = off set jit = off
as $$
declare
  at constant bigint := now_ms();
begin
  -- While a standby hangs, the heartbeat before may still wait for it. Sessions that wait behind it would pile up.
  perform make_durable(2000);
  insert into worker as w (id, heartbeat_until, host, pid, roles, version, started_at, spool)
    values (a_worker, at + lasts_ms, a_host, a_pid, some_roles, a_version, at, a_spool)
    on conflict (id) do update set heartbeat_until = excluded.heartbeat_until, host = excluded.host, pid = excluded.pid,
      roles = excluded.roles, version = excluded.version, spool = excluded.spool;
  select coalesce(array_agg(w.id order by w.id), '{}') into living from worker w
    where w.heartbeat_until > at and w.heartbeat_until <= at + 60000
      and (w.roles is null or ',' || w.roles || ',' like '%,dispatch,%');
  now := at;
end
$$;

-- Lanes that have something to do and whose owner is nobody, this worker, or one that lives no more, separated by commas.
-- Of all there are, when `only` is null: then it jumps from lane to lane, so that a million messages of one cost no more
-- than one.
--
-- Lanes are looked for between a connection and itself, and in the order of both: see `write_steps`. With an equation, the
-- planner might take the index of all sequences for a way to find the first one of a lane.
create function free_lanes(a_worker text, only_these text[], expected bigint, grace boolean) returns text language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  now constant bigint := now_ms();
  spared constant text[] := workers_to_spare(a_worker, now, grace or has_jumped(now, expected));
  is_held constant boolean := exists (select from hold where "only" = 1);
  candidates text[] := only_these;
  lanes text;
begin
  if candidates is null then
    with recursive busy (id) as (
      (select q.connection_id from queued q order by q.connection_id limit 1)
      union all
      select (select q.connection_id from queued q where q.connection_id > busy.id order by q.connection_id limit 1)
        from busy where busy.id is not null
    )
    select array_agg(c.id) into candidates from (
      select busy.id from busy where busy.id is not null union select o.connection_id from open_attempt o
    ) c;
  end if;
  select string_agg(s.id, ',' order by s.i) into lanes
    from unnest(candidates) with ordinality s (id, i)
    cross join lateral (select c.state from connection c where c.id = s.id offset 0) c
    left join lateral (select l.owner from lane l where l.connection_id = s.id offset 0) l on true
    where not coalesce(l.owner = any (spared), false)
      and ((c.state = 'active' and not is_held
          and (select true from queued q where q.connection_id >= s.id and q.connection_id <= s.id limit 1))
        or (select true from open_attempt o where o.connection_id = s.id));
  return coalesce(lanes, '');
end
$$;

create function describe_media(m media) returns json language plpgsql stable as $$
begin
  return json_build_object('state', m.state, 'tries', m.tries, 'nextTryAt', m.next_try_at, 'words', m.words, 'spool', m.spool,
    'path', m.path, 'sizeBytes', m.size_bytes, 'sha256', m.sha256, 'mime', m.mime);
end
$$;

-- A claimed lane as it is now, and what is open in it.
create type claimed_lane as (
  connection_id text, account_id text, number text, channel text, channel_settings text, policy text, epoch bigint, may_open boolean,
  head text, trouble text, wait_reason text, wait_words text, wait_until bigint, last_attempt_at bigint,
  open_number integer, open_started_at bigint, open_crashes integer, open_evidence_until bigint,
  open_doubted boolean,
  sequence bigint, id text, recipient text, type text, body text, body_crc bigint, attempts integer, accepted_at bigint, media json
);

create function describe_lanes(a_connections text[], an_epochs bigint[]) returns setof claimed_lane language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return query
  select c.id, c.account_id, c.number, c.channel, c.channel_settings, c.policy, l.epoch,
      c.state = 'active' and not exists (select from hold where "only" = 1),
      l.head, l.trouble, l.wait_reason, l.wait_words, l.wait_until, l.last_attempt_at,
      o.number, o.started_at, o.crashes, o.evidence_until,
      o.doubted_sequence is not distinct from o.message_sequence,
      q.sequence, q.id, q.recipient, q.type, q.body, q.body_crc, q.attempts, q.accepted_at,
      case when q.type <> 'message' then (select describe_media(m) from media m where m.account_id = q.account_id and m.message_sequence = q.sequence) end
    from unnest(a_connections, an_epochs) s (connection_id, epoch)
    cross join lateral (select * from lane where lane.connection_id = s.connection_id and lane.epoch = s.epoch offset 0) l
    cross join lateral (select * from connection where connection.id = s.connection_id offset 0) c
    left join lateral (select * from open_attempt where open_attempt.connection_id = s.connection_id offset 0) o on true
    left join lateral (
      select * from queued where queued.account_id = o.account_id and queued.sequence = o.message_sequence offset 0
    ) q on true;
end
$$;

-- Takes these lanes, those of them that may be taken and have something to do. A worker that let go of an attempt while
-- its call was running counts as a crash of that attempt; one that was only waiting for evidence does not.
--
-- The rows are locked first, in one order, and judged by a later statement: so whoever came second sees what the first
-- one did. A row that somebody is writing just now is left for the next look.
create function claim_lanes(a_worker text, ids text[], expected bigint, grace boolean) returns setof claimed_lane language plpgsql
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
  -- A database that went back has forgotten claims, and who holds such a one must not find its epoch given to another.
  past_lost_epochs constant bigint := (select r.holds from remembrance r) * 1000000000::bigint;
begin
  perform make_durable(2000);
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
  now := now_ms();
  spared := workers_to_spare(a_worker, now, grace or has_jumped(now, expected));
  is_held := exists (select from hold where "only" = 1);
  with t as (
    update lane l set owner = a_worker, epoch = greatest(l.epoch, past_lost_epochs) + 1
      from unnest(locked) s (id)
      where l.connection_id >= s.id and l.connection_id <= s.id and not coalesce(l.owner = any (spared), false)
        and ((not is_held and (select c.state from connection c where c.id = s.id) = 'active'
            and (select true from queued q where q.connection_id >= s.id and q.connection_id <= s.id limit 1))
          or (select true from open_attempt o where o.connection_id = s.id))
      returning l.connection_id, l.epoch
  )
  select array_agg(t.connection_id), array_agg(t.epoch) into taken, at_epochs from t;
  -- Again a later statement: it sees what was opened while the lane's row was waited for.
  update open_attempt o set epoch = s.epoch, crashes = o.crashes + case when o.evidence_until is null then 1 else 0 end
    from unnest(taken, at_epochs) s (id, epoch) where o.connection_id >= s.id and o.connection_id <= s.id;
  return query select * from describe_lanes(taken, at_epochs);
end
$$;

create function release_lanes(connections text[], epochs bigint[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  perform make_durable(2000);
  -- In the order in which others lock them, too.
  perform from (select u.id, u.epoch from unnest(connections, epochs) u (id, epoch) order by u.id) s
    cross join lateral (select from lane l where l.connection_id = s.id and l.epoch = s.epoch for no key update) l;
  update lane l set owner = null from unnest(connections, epochs) s (id, epoch)
    where l.connection_id >= s.id and l.connection_id <= s.id and l.epoch = s.epoch;
end
$$;

-- The lowest unfinished messages of these lanes, in order of acceptance, up to so many of each.
create function load_runs(connections text[], limits integer[]) returns table (
  lane integer, sequence bigint, id text, account_id text, recipient text, type text, body text, body_crc bigint,
  attempts integer, accepted_at bigint, media json
) language plpgsql
  -- Without sorting there is but one way to the first ones of a lane, however many there are: its own index.
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return query
  select s.i::integer, q.sequence, q.id, q.account_id, q.recipient, q.type, q.body, q.body_crc, q.attempts, q.accepted_at,
      case when q.type <> 'message' then (select describe_media(m) from media m where m.account_id = q.account_id and m.message_sequence = q.sequence) end
    from unnest(connections, limits) with ordinality s (id, most, i)
    cross join lateral (
      select * from queued where queued.connection_id >= s.id and queued.connection_id <= s.id
        order by queued.connection_id, queued.sequence limit s.most
    ) q;
end
$$;
