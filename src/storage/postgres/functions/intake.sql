-- What accepting needs besides `accept_requests`.

-- Which of these keys name a message, as one letter each.
create or replace function idempotency_keys_exist(account_ids text[], keys text[], key_lasts_ms bigint) returns text language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
  return (
    select string_agg(case when k.key is null then 'f' else 't' end, '' order by s.i)
      from unnest(account_ids, keys) with ordinality s (account_id, key, i)
      left join lateral (
        select i.key, i.accepted_at from idempotency i where i.account_id = s.account_id and i.key = s.key offset 0
      ) k on k.accepted_at > now_ms() - key_lasts_ms
  );
end
$$;

-- How many messages wait behind a sequence, in the lane with this number or (without one) in the whole account, up to a limit: `count`,
-- or `count sequence` where the time is over. The next call goes on from there, so counting a million delays no other statement on
-- the same connection for long. Searched by ranges of rows: see `write_steps`.
create or replace function count_waiting(account_ids text[], numbers text[], places bigint[], limits bigint[], within_ms integer)
  returns text language plpgsql set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
  at_once constant integer := 1000;
  ends_at constant timestamptz := clock_timestamp() + make_interval(secs => within_ms / 1000.0);
  counts text[];
  place bigint;
  counted bigint;
  wanted bigint;
  found_count bigint;
  newest bigint;
  the_connection text;
begin
  for i in 1 .. cardinality(account_ids) loop
    place := places[i];
    counted := 0;
    the_connection := null;
    if numbers[i] is not null then
      the_connection := (select id from connection where account_id = account_ids[i] and number = numbers[i] and state <> 'removed');
    end if;
    loop
      if clock_timestamp() > ends_at then
        counts[i] := counted || ' ' || place;
        exit;
      end if;
      wanted := least(at_once, limits[i] - counted);
      if numbers[i] is null then
        select count(*), max(sequence) into found_count, newest from (
          select sequence from queued where (account_id, sequence) > (account_ids[i], place) and account_id <= account_ids[i]
            order by account_id, sequence limit wanted) q;
      else
        select count(*), max(sequence) into found_count, newest from (
          select sequence from queued where (connection_id, sequence) > (the_connection, place) and connection_id <= the_connection
            order by connection_id, sequence limit wanted) q;
      end if;
      counted := counted + found_count;
      if found_count < at_once then
        counts[i] := counted;
        exit;
      end if;
      place := newest;
    end loop;
  end loop;
  return array_to_string(counts, ',');
end
$$;

-- Requests with a known token that were refused.
create or replace function log_requests(
  lock_ms integer, account_ids text[], token_ids text[], request_ids text[], received bigint[], took bigint[], statuses integer[],
  codes text[], faults text[], bodies text[], addresses text[], agents text[]
) returns void language plpgsql as $$
begin
  perform begin_durable_write(lock_ms);
  insert into request (account_id, token_id, request_id, received_at, took_us, status, code, errors, body, remote_address, user_agent)
    select * from unnest(account_ids, token_ids, request_ids, received, took, statuses, codes, faults, bodies, addresses, agents);
end
$$;

-- Figures that only people read, so they need no flush of the disk: how long commits took, and when tokens were last used, to the
-- minute. A token that another transaction is changing is skipped.
create or replace function note_acceptances(
  last_sequences bigint[], first_sequences bigint[], took bigint[], token_ids text[], used_at bigint[]
) returns void language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
  perform set_config('synchronous_commit', 'off', true), set_config('lock_timeout', '500', true);
  insert into accept_commit (last_sequence, first_sequence, took_us)
    select * from unnest(last_sequences, first_sequences, took)
    on conflict do nothing;
  with mine as (
    select t.id, s.at from unnest(token_ids, used_at) s (id, at) join token t on t.id = s.id
      where t.last_used_at is null or t.last_used_at < s.at
      order by t.id for no key update of t skip locked
  )
  update token t set last_used_at = m.at from mine m where t.id = m.id;
end
$$;

-- Counts of refused requests that are not kept one by one. A caller that got no result tries again, and a row whose id exists
-- already stays. The lock is released only once the commit is visible, so a first try that still waits for the disk or for a standby is
-- not overlooked.
create or replace function log_summed_requests(
  lock_ms integer, account_ids text[], token_ids text[], request_ids text[], since bigint[], until bigint[], statuses integer[],
  codes text[], faults text[], counts integer[]
) returns void language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
  perform begin_durable_write(lock_ms);
  perform pg_advisory_xact_lock(8, 0);
  insert into request (account_id, token_id, request_id, received_at, took_us, status, code, errors, summed_requests, summed_since)
    select s.account_id, s.token_id, s.request_id, s.until, 0, s.status, s.code, s.faults, s.requests, s.since
      from unnest(account_ids, token_ids, request_ids, since, until, statuses, codes, faults, counts)
        s (account_id, token_id, request_id, since, until, status, code, faults, requests)
      where not exists (select from request r where r.account_id = s.account_id and r.request_id = s.request_id);
end
$$;
