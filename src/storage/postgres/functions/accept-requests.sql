-- Judges a batch of requests and stores those that may become messages, all in one transaction and one round trip.
--
--   locks (tokens shared, lanes exclusive) ──▶ judged by what is committed now ──▶ keys bound ──▶ rows
--
-- Each of these is a statement of its own, so it sees what committed while the locks were waited for (G7).
--
-- Tokens come once each, and so does each target: a lane, and what type of message it is to carry. The requests name
-- them by position. `key_at` and `url_at` name the requests that have a key, and media. Where the caller knows already
-- that nothing speaks against any of these, it says by which mark of `rights` that was judged, until when none of the
-- tokens ends, and the connection of each target: if the mark is still the same, none of it is looked up again. Returned are
--
-- - the connection of each target, and nothing where there is none; null if what the caller knew has served;
-- - what became of the requests that were not accepted, by position: `r id state` (a repeat), the code of a refusal,
--   `channel name` where the caller must first say what this channel can send, or that somebody else holds the lock of
--   its lane (`lane`) or token (`token`), which happens only to the impatient;
-- - the sequence of the first request. That of the others follows by position, whatever became of those between;
-- - the mark of `rights`, and when each token ends. Nothing stands for a token that is bound to connections, because what
--   speaks against it depends on the target, and for one that there is not.
create or replace function accept_requests(
  a_worker text, a_connection_index integer, a_count bigint, lock_ms integer, patient boolean,
  tokens text[], token_accounts text[], target_accounts text[], target_numbers text[], target_types text[],
  known_mark text, known_until bigint, known_connections text[],
  token_at integer[], target_at integer[],
  ids text[], recipients text[], bodies text[], crcs bigint[], request_ids text[], addresses text[], agents text[], took bigint[],
  key_at integer[], keys text[], fingerprints text[], url_at integer[], urls text[],
  known_channels text[], sendable text[], key_lasts_ms bigint
) returns table (connections text, exceptions text, first_sequence bigint, mark text, token_ends text) language plpgsql
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
  perform begin_durable_write(lock_ms);
  perform advance_fence(a_worker, a_connection_index, a_count);
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
          when c.channel <> all (known_channels) then 'channel ' || c.channel
          when (c.channel || '/' || s.type) <> all (sendable) then 'type_unsupported_by_channel'
        end order by s.i),
        array_agg(c.id order by s.i)
      into target_faults, target_connections
      from unnest(target_accounts, target_numbers, target_types) with ordinality s (account_id, number, type, i)
      left join connection c on c.account_id = s.account_id and c.number = s.number and c.state <> 'removed';
    connections := array_to_string(target_connections, ',', '');
  end if;

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
      -- Taken apart in step with each other, each element where it is used. In `from` each array would first be written to
      -- memory of its own, which cost a fifth of the whole.
      from (
        select generate_series(1, cardinality(ids)) as i, unnest(ids) as id, unnest(target_at) as g, unnest(token_at) as t,
            unnest(request_ids) as request_id, unnest(bodies) as body, unnest(crcs) as crc, unnest(recipients) as recipient,
            unnest(addresses) as address, unnest(agents) as agent, unnest(took) as took
      ) s
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

  if verdicts is not null then
    select string_agg(s.i || ' ' || s.verdict, ',') into exceptions from unnest(verdicts) with ordinality s (verdict, i)
      where s.verdict is not null;
  end if;
  first_sequence := first;
  return next;
end
$$;
