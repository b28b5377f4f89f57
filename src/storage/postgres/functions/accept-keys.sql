-- Binds the keys of those requests that may become messages, and finds what the others name. Binding is all there is to
-- do for most, so it comes first, and tells who was late. The verdicts stay null if nothing speaks against any request.
create or replace function bind_keys(first bigint, now bigint, lasts_ms bigint, request_count integer,
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
    -- Each by itself: joined, all of them might be read for one, by their age.
    left join lateral (
      select i.fingerprint, i.message_sequence, i.accepted_at from idempotency i where i.account_id = s.account_id and i.key = s.key offset 0
    ) k on k.accepted_at > now - lasts_ms
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
create or replace function note_repeats(now bigint, inout verdicts text[], key_at integer[], accounts text[], token_ids text[],
    request_ids text[], bodies text[], addresses text[], agents text[], took bigint[]) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  a_repeat record;
begin
  for a_repeat in
    select s.i, s.token_id, s.account_id, coalesce(e.id, q.id) as id, coalesce(e.state, 'QUEUED') as state
      from unnest(key_at, accounts, token_ids) s (i, account_id, token_id)
      cross join lateral (select substr(verdicts[s.i], 3)::bigint as sequence where verdicts[s.i] like 'r %') r
      left join lateral (
        -- It lies in many tables, of which only an equation tells the right one.
        select id, state from settled where account_id = s.account_id and sequence = r.sequence offset 0
      ) e on true
      -- What waits has several indexes with the sequence in them, any of which may seem the shortest. Only the right one can
      -- compare rows, and servers before version 18 do not see from rows where to end: so the first that comes is looked at.
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
    verdicts[a_repeat.i] := 'r ' || a_repeat.id || ' ' || a_repeat.state;
  end loop;
end
$$;
