-- Decides on a batch of requests and stores those that are accepted, in one transaction and one round trip.
--
--   locks (tokens shared, lanes exclusive) ──▶ decided by what is committed now ──▶ keys claimed ──▶ rows
--
-- Each of these is a statement of its own, so it sees what committed while the locks were awaited (G7).
--
-- Each token comes once, and so does each target: a lane and the type of message it is to carry. The requests name them by position,
-- from 1. Where the caller already knows that nothing speaks against any of them, it gives the version of `rights` by which that was
-- decided, the time when the first of the tokens expires, and the connection of each target. If the version is still the same, none of
-- it is looked up again.
--
-- The first row returned is about the whole batch:
-- - `first_sequence`: the sequence of the first request; those of the others follow by position, whatever became of those between;
-- - `connections`: the connection of each target, or nothing where there is none; null if what the caller knew was used;
-- - `mark`: the version of `rights`;
-- - `token_ends`: when each token expires. Nothing for a token that does not exist, and for one that is bound to connections, because
--   then the target decides as well.
-- Each further row is about a request that was not accepted: its position in `at`, and in `outcome`
-- - `repeat`, with the id and state of the message that its key names. No id: that message was just deleted, and its key with it;
-- - `token_locked` or `lane_locked`: another transaction holds the lock, and the caller does not wait for locks;
-- - otherwise the code of a refusal.
create or replace function accept_requests(
  a_worker text, a_connection_index integer, a_count bigint, lock_ms integer,
  -- Whether the whole batch waits for each lock and fails as a whole.
  waits_for_locks boolean,
  tokens text[], token_accounts text[], target_accounts text[], target_numbers text[], target_types text[],
  known_mark text, known_until bigint, known_connections text[],
  -- One value for each request.
  token_at integer[], target_at integer[], ids text[], recipients text[], bodies text[], crcs bigint[], request_ids text[],
  addresses text[], agents text[], took bigint[],
  -- One value for each request that has a key, and for each that has media.
  key_at integer[], keys text[], fingerprints text[], url_at integer[], urls text[],
  sendable text[], key_lasts_ms bigint
) returns table (
  first_sequence bigint, connections text, mark text, token_ends text,
  at integer, outcome text, repeated_id text, repeated_state text
) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  first bigint;
  now bigint;
  locked_tokens boolean[];
  locked_lanes boolean[];
  -- Why a token or a target is refused, and to which connections a token is bound.
  token_faults text[];
  token_bounds text[];
  target_faults text[];
  target_connections text[];
  key_accounts text[];
  -- By request. Null as long as all requests are accepted.
  outcomes text[];
  repeated_sequences bigint[];
  repeated_ids text[];
  repeated_states text[];
begin
  perform begin_durable_write(lock_ms);
  perform advance_fence(a_worker, a_connection_index, a_count);
  if waits_for_locks then
    perform pg_advisory_xact_lock_shared(1, b)
      from (select distinct token_bucket(t) as b from unnest(tokens) t order by b) buckets;
    perform pg_advisory_xact_lock(2, b)
      from (select distinct lane_bucket(a, n) as b from unnest(target_accounts, target_numbers) s (a, n) order by b) buckets;
  else
    locked_tokens := try_lock_buckets(1, array(select token_bucket(t) from unnest(tokens) with ordinality s (t, i) order by i),
      true, lock_ms);
    locked_lanes := try_lock_buckets(2, array(select lane_bucket(a, n)
      from unnest(target_accounts, target_numbers) with ordinality s (a, n, i) order by i), false, lock_ms);
    perform set_config('lock_timeout', lock_ms::text, true);
  end if;

  now := now_ms();
  first := next_block();
  mark := (select r.mark from rights r where r."only" = 1);
  if mark = known_mark and now < known_until then
    target_connections := known_connections;
  else
    select array_agg(case
          when t.id is null or t.deleted_at is not null or t.expires_at <= now then 'unauthorized'
          when strpos(t.events, '"messaging.send_message"') = 0 then 'event_missing'
        end order by s.i),
        array_agg(t.connection_ids order by s.i),
        string_agg(case when t.id is not null and t.connection_ids is null then t.expires_at::text else '' end, ',' order by s.i)
      into token_faults, token_bounds, token_ends
      from unnest(tokens, token_accounts) with ordinality s (token_id, account_id, i)
      left join token t on t.id = s.token_id and t.account_id = s.account_id;
    select array_agg(case
          when c.id is null then 'connection_not_found'
          when (c.channel || '/' || s.type) <> all (sendable) then 'type_unsupported_by_channel'
        end order by s.i),
        array_agg(c.id order by s.i)
      into target_faults, target_connections
      from unnest(target_accounts, target_numbers, target_types) with ordinality s (account_id, number, type, i)
      left join connection c on c.account_id = s.account_id and c.number = s.number and c.state <> 'removed';
    connections := array_to_string(target_connections, ',', '');
  end if;

  if true = any (locked_tokens) or true = any (locked_lanes) or array_remove(token_faults, null) <> '{}'
    or array_remove(token_bounds, null) <> '{}' or array_remove(target_faults, null) <> '{}'
  then
    select array_agg(case
          when locked_tokens[s.t] then 'token_locked'
          when locked_lanes[s.g] then 'lane_locked'
          when token_faults[s.t] is not null then token_faults[s.t]
          when token_bounds[s.t] is not null
            and (target_connections[s.g] is null or strpos(token_bounds[s.t], '"' || target_connections[s.g] || '"') = 0)
            then 'connection_not_allowed'
          else target_faults[s.g]
        end order by s.i)
      into outcomes
      from unnest(token_at, target_at) with ordinality s (t, g, i);
  end if;
  if key_at is not null then
    key_accounts := array(select token_accounts[token_at[s.at]] from unnest(key_at) with ordinality s (at, i) order by s.i);
    select c.outcomes, c.sequences into outcomes, repeated_sequences
      from claim_idempotency_keys(first, now, key_lasts_ms, cardinality(ids), key_accounts, key_at, keys, fingerprints, outcomes) c;
  end if;

  insert into queued (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type,
      accepted_at, remote_address, user_agent, took_us)
    select first + s.i - 1, s.id, target_accounts[s.g], target_connections[s.g], tokens[s.t], s.request_id, s.body, s.crc,
        s.recipient, target_types[s.g], now, s.address, s.agent, s.took
      -- Unnested side by side in the select list. In `from` each array would first be copied to memory of its own, which took a fifth
      -- of the whole time.
      from (
        select generate_series(1, cardinality(ids)) as i, unnest(ids) as id, unnest(target_at) as g, unnest(token_at) as t,
            unnest(request_ids) as request_id, unnest(bodies) as body, unnest(crcs) as crc, unnest(recipients) as recipient,
            unnest(addresses) as address, unnest(agents) as agent, unnest(took) as took
      ) s
      where outcomes[s.i] is null;
  if url_at is not null then
    insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at)
      select first + s.i - 1, target_accounts[g.g], target_connections[g.g], s.url, target_types[g.g], 'pending', now
        from unnest(url_at, urls) s (i, url), lateral (select target_at[s.i] as g) g
        where outcomes[s.i] is null;
  end if;
  if repeated_sequences is not null then
    select l.ids, l.states into repeated_ids, repeated_states
      from log_repeats(now, repeated_sequences, key_at, key_accounts,
        array(select tokens[token_at[s.at]] from unnest(key_at) with ordinality s (at, i) order by s.i),
        request_ids, bodies, addresses, agents, took) l;
  end if;

  first_sequence := first;
  return next;
  if outcomes is not null then
    return query select null::bigint, null::text, null::text, null::text, s.i::integer, s.outcome,
        repeated_ids[s.i], repeated_states[s.i]
      from unnest(outcomes) with ordinality s (outcome, i) where s.outcome is not null;
  end if;
end
$$;

-- Claims the keys of requests that are accepted so far, and finds the messages that the other keys name: `outcomes` says `repeat` or
-- refuses them, and `sequences` names the messages, both by request. Mostly all keys are new, so claiming comes first. Both stay null
-- where no request has an outcome.
create or replace function claim_idempotency_keys(first bigint, now bigint, lasts_ms bigint, request_count integer,
    accounts text[], key_at integer[], keys text[], fingerprints text[], inout outcomes text[], out sequences bigint[]) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  claimed integer[];
  found_outcomes text[];
  found_sequences bigint[];
begin
  with c as (
    -- Sorted: two batches with the same keys in opposite orders would deadlock.
    insert into idempotency (account_id, key, fingerprint, message_sequence, accepted_at)
      select distinct on (s.account_id, s.key) s.account_id, s.key, s.fingerprint, first + s.i - 1, now
        from unnest(accounts, key_at, keys, fingerprints) s (account_id, i, key, fingerprint)
        where outcomes[s.i] is null
        order by s.account_id, s.key, s.i
      on conflict (account_id, key) do update set fingerprint = excluded.fingerprint,
          message_sequence = excluded.message_sequence, accepted_at = excluded.accepted_at
        where idempotency.accepted_at <= now - lasts_ms
      returning message_sequence
  )
  select array_agg((c.message_sequence - first)::integer + 1) into claimed from c;
  if cardinality(claimed) = cardinality(key_at) then
    return;
  end if;
  -- A later statement, which sees the keys that other transactions have committed.
  select array_agg(case when k.fingerprint = s.fingerprint then 'repeat'
        when k.fingerprint is not null then 'idempotency_key_reused' end order by s.n),
      array_agg(case when k.fingerprint = s.fingerprint then k.message_sequence end order by s.n)
    into found_outcomes, found_sequences
    from unnest(accounts, key_at, keys, fingerprints) with ordinality s (account_id, i, key, fingerprint, n)
    -- One lookup for each key: a join might read all keys of an account, by their age.
    left join lateral (
      select i.fingerprint, i.message_sequence, i.accepted_at from idempotency i where i.account_id = s.account_id and i.key = s.key offset 0
    ) k on k.accepted_at > now - lasts_ms
      -- Not a key that this request has claimed itself, or a later one of the same block.
      and (k.message_sequence < first + s.i - 1 or k.message_sequence >= first + 1024);
  if array_remove(found_outcomes, null) = '{}' then
    return;
  end if;
  outcomes := coalesce(outcomes, array_fill(null::text, array[request_count]));
  sequences := array_fill(null::bigint, array[request_count]);
  for n in 1 .. cardinality(key_at) loop
    -- The message that a key names is reported even for a number that is gone, but never to a caller whose token is refused.
    if found_outcomes[n] is not null and (outcomes[key_at[n]] is null
      or outcomes[key_at[n]] not in ('unauthorized', 'event_missing', 'token_locked', 'lane_locked'))
    then
      outcomes[key_at[n]] := found_outcomes[n];
      sequences[key_at[n]] := found_sequences[n];
    end if;
  end loop;
end
$$;

-- Logs the requests whose key names a message, in the commit that decides on them, and returns the id and the present state of each of
-- these messages, by request.
create or replace function log_repeats(now bigint, sequences bigint[], key_at integer[], accounts text[], token_ids text[],
    request_ids text[], bodies text[], addresses text[], agents text[], took bigint[], out ids text[], out states text[]) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  a_repeat record;
begin
  ids := array_fill(null::text, array[cardinality(sequences)]);
  states := ids;
  for a_repeat in
    select s.i, s.token_id, s.account_id, coalesce(e.id, q.id) as id, coalesce(e.state, 'QUEUED') as state
      from unnest(key_at, accounts, token_ids) s (i, account_id, token_id)
      cross join lateral (select sequences[s.i] as sequence where sequences[s.i] is not null) r
      left join lateral (
        -- The messages lie in many partitions, and only an equation finds the right one.
        select id, state from settled where account_id = s.account_id and sequence = r.sequence offset 0
      ) e on true
      -- `queued` has several indexes that contain the sequence, and the planner may prefer any of them. Only the right one can
      -- compare rows, and servers before version 18 do not see from the comparison where to end: so the first match is checked.
      left join lateral (
        select id, sequence from queued
          where e.id is null and (account_id, sequence) >= (s.account_id, r.sequence) and account_id <= s.account_id
          order by account_id, sequence limit 1
      ) q on q.sequence = r.sequence
      where coalesce(e.id, q.id) is not null
  loop
    insert into request (account_id, token_id, request_id, received_at, took_us, status, code, body, message_id,
        message_state, remote_address, user_agent)
      values (a_repeat.account_id, a_repeat.token_id, request_ids[a_repeat.i], now - took[a_repeat.i] / 1000, took[a_repeat.i],
        200, 'HC-1', bodies[a_repeat.i], a_repeat.id, a_repeat.state, addresses[a_repeat.i], agents[a_repeat.i]);
    ids[a_repeat.i] := a_repeat.id;
    states[a_repeat.i] := a_repeat.state;
  end loop;
end
$$;

-- Takes these locks in the order of their numbers, and returns for each whether it is still locked by another transaction. It waits
-- a little for a lock that is taken, because a lock in constant use is never free at the first try; in total at most `lock_ms`.
create or replace function try_lock_buckets(kind integer, buckets integer[], is_shared boolean, lock_ms integer) returns boolean[]
  language plpgsql as $$
declare
  gives_up_at constant timestamptz := clock_timestamp() + make_interval(secs => lock_ms / 1000.0);
  taken integer[] := '{}';
  bucket integer;
  got boolean;
  wait_ms integer;
begin
  for bucket in select distinct b from unnest(buckets) b order by b loop
    got := case when is_shared then pg_try_advisory_xact_lock_shared(kind, bucket) else pg_try_advisory_xact_lock(kind, bucket) end;
    -- Half of the rest, because there may be more locks to wait for. Never 0, which would mean for ever.
    wait_ms := extract(epoch from gives_up_at - clock_timestamp()) * 1000 / 2;
    if not got and wait_ms > 0 then
      begin
        perform set_config('lock_timeout', wait_ms::text, true);
        if is_shared then
          perform pg_advisory_xact_lock_shared(kind, bucket);
        else
          perform pg_advisory_xact_lock(kind, bucket);
        end if;
        got := true;
      exception when lock_not_available or deadlock_detected then
        null;
      end;
    end if;
    if not got then
      taken := taken || bucket;
    end if;
  end loop;
  return array(select b = any (taken) from unnest(buckets) with ordinality u (b, i) order by i);
end
$$;
