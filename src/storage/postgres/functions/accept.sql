-- What must hold for the transaction of whoever calls a function of ours, and for nobody after: a pooler may give the
-- same session to others. A safer setting than `on` stays.
create function make_durable(lock_ms integer) returns void language plpgsql as $$
begin
  -- With one snapshot for the whole transaction, what committed while a lock was waited for would stay unseen (G7).
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the isolation of transactions must be read committed' using errcode = 'invalid_transaction_state';
  end if;
  perform set_config('lock_timeout', lock_ms::text, true);
  if current_setting('synchronous_commit') <> 'remote_apply' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;

-- How many batches of a worker's connection to the database have committed. Whoever finds fewer after a break than it
-- was told of knows that the database has gone back (G12).
create table progress (
  worker text collate "C" not null,
  slot integer not null,
  count bigint not null,
  at bigint not null,
  primary key (worker, slot)
) with (fillfactor = 20);

create function note_progress(a_worker text, a_slot integer, a_count bigint) returns void language plpgsql as $$
begin
  -- Never less: a statement of a connection that was given up may come after those of the next one.
  update progress set count = greatest(count, a_count), at = now_ms() where worker = a_worker and slot = a_slot;
  if not found then
    insert into progress (worker, slot, count, at) values (a_worker, a_slot, a_count, now_ms());
  end if;
end
$$;

-- Takes these locks in order of their numbers, and tells which of them it could not get. For one that is taken it waits
-- a little, because nobody gets a lock by mere trying that others want all the time; but in total no longer than told.
create function lock_what_is_free(kind integer, buckets integer[], is_shared boolean, patience_ms integer) returns boolean[]
  language plpgsql as $$
declare
  gives_up_at constant timestamptz := clock_timestamp() + make_interval(secs => patience_ms / 1000.0);
  taken integer[] := '{}';
  bucket integer;
  got boolean;
  wait_ms integer;
begin
  for bucket in select distinct b from unnest(buckets) b order by b loop
    got := case when is_shared then pg_try_advisory_xact_lock_shared(kind, bucket) else pg_try_advisory_xact_lock(kind, bucket) end;
    -- Never all that is left: there may be more to wait for. And never 0, which would mean for ever.
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

-- Judges a batch of requests and stores those that may become messages, all in one transaction and one round trip.
--
--   locks (tokens shared, lanes exclusive) ──▶ judged by what is committed now ──▶ keys bound ──▶ rows
--
-- Each of these is a statement of its own, so it sees what committed while the locks were waited for (G7).
--
-- Tokens come once each, and so does each target: a lane, and what type of message it is to carry. The requests name
-- them by position. `key_at` and `url_at` name the requests that have a key, and media. Returned are
--
-- - the connection of each target, and nothing where there is none;
-- - what became of the requests that were not accepted, by position: `r id state` (a repeat), the code of a refusal,
--   `channel name` where the caller must first say what this channel can send, or that somebody else holds the lock of
--   its lane (`lane`) or token (`token`), which happens only to the impatient;
-- - the sequence of the first request. That of the others follows by position, whatever became of those between.
create function accept_batch(
  a_worker text, a_slot integer, a_count bigint, lock_ms integer, patient boolean,
  tokens text[], token_accounts text[], target_accounts text[], target_numbers text[], target_types text[],
  token_at integer[], target_at integer[],
  ids text[], recipients text[], bodies text[], crcs bigint[], request_ids text[], addresses text[], agents text[], took bigint[],
  key_at integer[], keys text[], fingerprints text[], url_at integer[], urls text[],
  known_channels text[], sendable text[], key_lasts_ms bigint
) returns table (connections text, exceptions text, first_sequence bigint) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  first bigint;
  now bigint;
  held_tokens boolean[];
  held_lanes boolean[];
  -- What speaks against a token, or against a target; and to which connections a token is bound.
  token_faults text[];
  token_bounds text[];
  target_faults text[];
  target_connections text[];
  key_accounts text[];
  -- By request; null as long as nothing speaks against any.
  verdicts text[];
begin
  perform make_durable(lock_ms);
  perform note_progress(a_worker, a_slot, a_count);
  if patient then
    perform pg_advisory_xact_lock_shared(1, b)
      from (select distinct token_bucket(t) as b from unnest(tokens) t order by b) buckets;
    perform pg_advisory_xact_lock(2, b)
      from (select distinct lane_bucket(a, n) as b from unnest(target_accounts, target_numbers) s (a, n) order by b) buckets;
  else
    held_tokens := lock_what_is_free(1, array(select token_bucket(t) from unnest(tokens) with ordinality s (t, i) order by i),
      true, lock_ms);
    held_lanes := lock_what_is_free(2, array(select lane_bucket(a, n)
      from unnest(target_accounts, target_numbers) with ordinality s (a, n, i) order by i), false, lock_ms);
    perform set_config('lock_timeout', lock_ms::text, true);
  end if;

  now := now_ms();
  first := next_block();
  select array_agg(case
        when t.id is null or t.deleted_at is not null or t.expires_at <= now then 'unauthorized'
        when strpos(t.events, '"messaging.send_message"') = 0 then 'event_missing'
      end order by s.i),
      array_agg(t.connection_ids order by s.i)
    into token_faults, token_bounds
    from unnest(tokens, token_accounts) with ordinality s (token_id, account_id, i)
    left join token t on t.id = s.token_id and t.account_id = s.account_id;
  select array_agg(case
        when c.id is null then 'connection_not_found'
        when c.channel <> all (known_channels) then 'channel ' || c.channel
        when (c.channel || '/' || s.type) <> all (sendable) then 'type_unsupported_by_channel'
      end order by s.i),
      array_agg(c.id order by s.i)
    into target_faults, target_connections
    from unnest(target_accounts, target_numbers, target_types) with ordinality s (account_id, number, type, i)
    left join connection c on c.account_id = s.account_id and c.number = s.number and c.state <> 'removed';

  if true = any (held_tokens) or true = any (held_lanes) or array_remove(token_faults, null) <> '{}'
    or array_remove(token_bounds, null) <> '{}' or array_remove(target_faults, null) <> '{}'
  then
    select array_agg(case
          when held_tokens[s.t] then 'token'
          when held_lanes[s.g] then 'lane'
          when token_faults[s.t] is not null then token_faults[s.t]
          when token_bounds[s.t] is not null
            and (target_connections[s.g] is null or strpos(token_bounds[s.t], '"' || target_connections[s.g] || '"') = 0)
            then 'connection_not_allowed'
          else target_faults[s.g]
        end order by s.i)
      into verdicts
      from unnest(token_at, target_at) with ordinality s (t, g, i);
  end if;
  if key_at is not null then
    key_accounts := array(select token_accounts[token_at[s.at]] from unnest(key_at) with ordinality s (at, i) order by s.i);
    verdicts := bind_keys(first, now, key_lasts_ms, cardinality(ids), key_accounts, key_at, keys, fingerprints, verdicts);
  end if;

  insert into queued (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type,
      accepted_at, remote_address, user_agent, took_us)
    select first + s.i - 1, s.id, target_accounts[s.g], target_connections[s.g], tokens[s.t], s.request_id, s.body, s.crc,
        s.recipient, target_types[s.g], now, s.address, s.agent, s.took
      from unnest(ids, target_at, token_at, request_ids, bodies, crcs, recipients, addresses, agents, took) with ordinality
        s (id, g, t, request_id, body, crc, recipient, address, agent, took, i)
      where verdicts[s.i] is null;
  if url_at is not null then
    insert into media (message_sequence, account_id, connection_id, url, type, state, next_try_at)
      select first + s.i - 1, target_accounts[g.g], target_connections[g.g], s.url, target_types[g.g], 'pending', now
        from unnest(url_at, urls) s (i, url), lateral (select target_at[s.i] as g) g
        where verdicts[s.i] is null;
  end if;
  if key_at is not null and verdicts is not null then
    verdicts := note_repeats(now, verdicts, key_at, key_accounts,
      array(select tokens[token_at[s.at]] from unnest(key_at) with ordinality s (at, i) order by s.i),
      request_ids, bodies, addresses, agents, took);
  end if;

  connections := array_to_string(target_connections, ',', '');
  if verdicts is not null then
    select string_agg(s.i || ' ' || s.verdict, ',') into exceptions from unnest(verdicts) with ordinality s (verdict, i)
      where s.verdict is not null;
  end if;
  first_sequence := first;
  return next;
end
$$;

-- Binds the keys of those requests that may become messages, and finds what the others name. Binding is all there is to
-- do for most, so it comes first, and tells who was late. The verdicts stay null if nothing speaks against any request.
create function bind_keys(first bigint, now bigint, lasts_ms bigint, request_count integer,
    accounts text[], key_at integer[], keys text[], fingerprints text[], inout verdicts text[]) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  bound integer[];
  found_verdicts text[];
begin
  with b as (
    -- Sorted: two batches with the same keys in opposite orders would wait for each other for ever.
    insert into idempotency (account_id, key, fingerprint, message_sequence, accepted_at)
      select distinct on (s.account_id, s.key) s.account_id, s.key, s.fingerprint, first + s.i - 1, now
        from unnest(accounts, key_at, keys, fingerprints) s (account_id, i, key, fingerprint)
        where verdicts[s.i] is null
        order by s.account_id, s.key, s.i
      on conflict (account_id, key) do update set fingerprint = excluded.fingerprint,
          message_sequence = excluded.message_sequence, accepted_at = excluded.accepted_at
        where idempotency.accepted_at <= now - lasts_ms
      returning message_sequence
  )
  select array_agg((b.message_sequence - first)::integer + 1) into bound from b;
  if cardinality(bound) = cardinality(key_at) then
    return;
  end if;
  -- A later statement, which sees who won. What a key names already is said even for a number that is gone, but never to
  -- whom the token is refused.
  select array_agg(case when k.fingerprint = s.fingerprint then 'r ' || k.message_sequence
        when k.fingerprint is not null then 'idempotency_key_reused' end order by s.n)
    into found_verdicts
    from unnest(accounts, key_at, keys, fingerprints) with ordinality s (account_id, i, key, fingerprint, n)
    left join idempotency k on k.account_id = s.account_id and k.key = s.key and k.accepted_at > now - lasts_ms
      -- Not one that was bound by the request itself, or by a later one of the same block.
      and (k.message_sequence < first + s.i - 1 or k.message_sequence >= first + 1024);
  if array_remove(found_verdicts, null) = '{}' then
    return;
  end if;
  verdicts := coalesce(verdicts, array_fill(null::text, array[request_count]));
  for n in 1 .. cardinality(key_at) loop
    if found_verdicts[n] is not null and (verdicts[key_at[n]] is null
      or verdicts[key_at[n]] not in ('unauthorized', 'event_missing', 'token', 'lane'))
    then
      verdicts[key_at[n]] := found_verdicts[n];
    end if;
  end loop;
end
$$;

-- A repeat leaves a row of its own in the commit that it is judged in, and is told the message and its state of now.
create function note_repeats(now bigint, inout verdicts text[], key_at integer[], accounts text[], token_ids text[],
    request_ids text[], bodies text[], addresses text[], agents text[], took bigint[]) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  a_repeat record;
begin
  for a_repeat in
    select s.i, s.token_id, m.account_id, m.id, m.state
      from unnest(key_at, accounts, token_ids) s (i, account_id, token_id)
      cross join lateral (
        select account_id, id, state from message where account_id = s.account_id and sequence = substr(verdicts[s.i], 3)::bigint
      ) m
      where verdicts[s.i] like 'r %'
  loop
    insert into request (account_id, token_id, request_id, received_at, took_us, status, code, body, message_id, remote_address, user_agent)
      values (a_repeat.account_id, a_repeat.token_id, request_ids[a_repeat.i], now - took[a_repeat.i] / 1000, took[a_repeat.i],
        200, 'HC-1', bodies[a_repeat.i], a_repeat.id, addresses[a_repeat.i], agents[a_repeat.i]);
    verdicts[a_repeat.i] := 'r ' || a_repeat.id || ' ' || a_repeat.state;
  end loop;
end
$$;
