-- Whether a worker with this heartbeat is alive, by the same rule as `hasValidLease` in TypeScript. A heartbeat far in the
-- future was written before the clock of the database was set back.
create or replace function has_valid_lease(heartbeat_until bigint, now bigint) returns boolean language sql immutable as $$
  select heartbeat_until > now and heartbeat_until <= now + 60000
$$;

-- Workers whose lanes must not be taken. `ignore_expiry`: the clock of the database has jumped, so heartbeats may only seem
-- expired, and every worker in the table counts.
--
-- Volatile, so that it sees all commits until its call and not only those until the calling statement began: a worker that has
-- just started must not count as dead for a session that waited for its lane.
create or replace function workers_to_spare(a_worker text, now bigint, ignore_expiry boolean) returns text[] language plpgsql volatile
  set jit = off
as $$
begin
  return coalesce((select array_agg(w.id) from worker w
    where w.id <> a_worker and (ignore_expiry or has_valid_lease(w.heartbeat_until, now))), '{}');
end
$$;

-- True when the time is not what the caller expects. Null: the caller does not know what to expect.
create or replace function has_jumped(now bigint, expected bigint) returns boolean language sql immutable as $$
  select coalesce(abs(now - expected) > 2000, false)
$$;

-- Renews the heartbeat of a worker. Returns the time and the live workers that dispatch.
create or replace function renew_lease(
  a_worker text, lasts_ms bigint, a_host text, a_pid integer, some_roles text, a_version text, a_spool text,
  out now bigint, out living text[]
) language plpgsql set enable_seqscan = off set jit = off
as $$
declare
  at constant bigint := now_ms();
begin
  -- While a standby hangs, the previous heartbeat may still wait for it. The lock timeout keeps sessions from piling up behind it.
  perform begin_durable_write(2000);
  if ',' || some_roles || ',' like '%,dispatch,%' then
    perform note_start(a_worker, at, lasts_ms);
  end if;
  insert into worker as w (id, heartbeat_until, host, pid, roles, version, started_at, spool)
    values (a_worker, at + lasts_ms, a_host, a_pid, some_roles, a_version, at, a_spool)
    on conflict (id) do update set heartbeat_until = excluded.heartbeat_until, host = excluded.host, pid = excluded.pid,
      roles = excluded.roles, version = excluded.version, spool = excluded.spool;
  select coalesce(array_agg(w.id order by w.id), '{}') into living from worker w
    where has_valid_lease(w.heartbeat_until, at) and ',' || w.roles || ',' like '%,dispatch,%';
  now := at;
end
$$;

-- Lanes with work that have no owner, belong to this worker, or belong to a dead one, separated by commas. Considers all lanes
-- when `only_these` is null. Then it jumps from lane to lane, so that a million messages of one lane cost no more than one.
--
-- Each lane has a range condition on the connection and an order by both columns: see `write_steps`. With an equality, the planner
-- might scan the index of all sequences for the first message of a lane.
create or replace function free_lanes(a_worker text, only_these text[], expected bigint, ignore_expiry boolean) returns text language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  now constant bigint := now_ms();
  spared constant text[] := workers_to_spare(a_worker, now, ignore_expiry or has_jumped(now, expected));
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
        union select cs.connection_id from channel_session cs
        union select r.connection_id from session_request r where r.ended_at is null
    ) c;
  end if;
  select string_agg(s.id, ',' order by s.i) into lanes
    from unnest(candidates) with ordinality s (id, i)
    cross join lateral (select c.state from connection c where c.id = s.id offset 0) c
    left join lateral (select l.owner from lane l where l.connection_id = s.id offset 0) l on true
    where not coalesce(l.owner = any (spared), false)
      and ((c.state = 'active' and not is_held
          and (select true from queued q where q.connection_id >= s.id and q.connection_id <= s.id limit 1))
        or (select true from open_attempt o where o.connection_id = s.id)
        or (not is_held and ((select true from channel_session cs where cs.connection_id = s.id)
          or (select true from session_request r where r.connection_id = s.id and r.ended_at is null))));
  return coalesce(lanes, '');
end
$$;

create or replace function describe_media(m media) returns json language plpgsql stable as $$
begin
  return json_build_object('state', m.state, 'tries', m.tries, 'nextTryAt', m.next_try_at, 'words', m.words, 'spool', m.spool,
    'path', m.path, 'sizeBytes', m.size_bytes, 'sha256', m.sha256, 'mime', m.mime);
end
$$;

-- The oldest unfinished messages of these lanes behind a message of each, in order of acceptance, up to a limit for each.
create or replace function load_runs(connections text[], limits integer[], afters bigint[]) returns table (
  lane integer, sequence bigint, id text, account_id text, recipient text, type text, body text, body_crc bigint,
  attempts integer, accepted_at bigint, retry text, media json
) language plpgsql
  -- Without sorting, the planner can only use the index of the lane, however many messages there are.
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return query
  select s.i::integer, q.sequence, q.id, q.account_id, q.recipient, q.type, q.body, q.body_crc, q.attempts, q.accepted_at, q.retry,
      case when q.type <> 'message' then (select describe_media(m) from media m where m.account_id = q.account_id and m.message_sequence = q.sequence) end
    from unnest(connections, limits, afters) with ordinality s (id, most, after, i)
    cross join lateral (
      select * from queued where (queued.connection_id, queued.sequence) > (s.id, s.after) and queued.connection_id <= s.id
        order by queued.connection_id, queued.sequence limit s.most
    ) q;
end
$$;
