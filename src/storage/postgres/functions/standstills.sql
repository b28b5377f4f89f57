-- Whether the next wait of a lane for the same reason is the same wait. Otherwise messages went in between.
create or replace function wait_goes_on(since bigint, until bigint, at bigint) returns boolean language sql immutable as $$
  select since is not null and (until is null or until >= at - 120000)
$$;

-- Stores what a lane has waited for, before its wait is replaced by one for `new_reason`. The words of networks are left out,
-- because they may name a person. A lane with a pace waits after each message: that is one row.
create or replace function note_wait(a_connection text, new_reason text, at bigint) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  l record;
  ended_at bigint;
begin
  select wait_reason as reason, wait_since as since, wait_until as until into l
    from lane where connection_id = a_connection;
  if l.reason is null or l.since is null or l.reason = 'all_deferred' then
    return;
  end if;
  if l.reason = new_reason and wait_goes_on(l.since, l.until, at) then
    return;
  end if;
  ended_at := least(at, coalesce(l.until, at));
  update standstill s set until = ended_at
    where s.connection_id = a_connection and s.reason = l.reason and s.until between l.since - 120000 and at
      and s.since = (select max(o.since) from standstill o where o.connection_id = a_connection);
  if not found and ended_at - l.since >= 1000 then
    insert into standstill (connection_id, reason, since, until)
      values (a_connection, l.reason, l.since, ended_at) on conflict do nothing;
  end if;
end
$$;

-- Called before the heartbeat of a process that dispatches. While no process had a valid lease, nothing was sent: all were
-- stopped or killed. If this one has a row already, it stood still itself or could not write.
create or replace function note_start(a_worker text, at bigint, lasts_ms bigint) returns void language plpgsql
  set enable_seqscan = off set jit = off
as $$
declare
  last_sign bigint;
begin
  select max(w.heartbeat_until) into last_sign from worker w
    where ',' || w.roles || ',' like '%,dispatch,%' and w.heartbeat_until <= at + 60000;
  if last_sign > at then
    return;
  end if;
  update standstill set until = at where connection_id = '' and reason = 'service_stopped' and until is null;
  if not found and last_sign is not null then
    insert into standstill (connection_id, reason, since, until, words)
      values ('', 'service_stopped', last_sign - lasts_ms, at,
        case when exists (select from worker w where w.id = a_worker) then 'frozen' else 'killed' end) on conflict do nothing;
  end if;
end
$$;

-- Ends the lease of a process that stops as it should.
create or replace function end_lease(a_worker text) returns void language plpgsql
  set enable_seqscan = off set jit = off
as $$
declare
  at constant bigint := now_ms();
  roles constant text := (select w.roles from worker w where w.id = a_worker);
begin
  delete from worker w where w.id = a_worker;
  if ',' || roles || ',' like '%,dispatch,%' and not exists (
    select from worker w where has_valid_lease(w.heartbeat_until, at) and ',' || w.roles || ',' like '%,dispatch,%'
  ) then
    insert into standstill (connection_id, reason, since, words) values ('', 'service_stopped', at, 'stopped') on conflict do nothing;
  end if;
end
$$;
