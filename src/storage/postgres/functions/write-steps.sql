-- Records what the lanes of one worker did in one turn of its event loop: which attempts end and which begin, in one commit (G4).
-- Set by set and not lane by lane, because that is several times as fast.
--
-- A step writes nothing when its claim is gone (G6). `lane_attempt` holds one row for each claimed lane, and a new claim puts another
-- epoch there: what ends or opens an attempt must find its own epoch in that row, and everything else must find it in `lane`.
-- Returns one letter for each step: `o` opened, `n` not opened, `f` fenced, `b` another transaction has locked a message of the
-- step, and nothing was written.
--
-- All transactions take their locks in this order: lane, message, attempt. Of several messages they lock the last one first, because a
-- step that ends a message and opens the next one does so. The same holds for attachments. Opening locks the message first. Cancelling
-- locks it too, and checks for an open attempt afterwards, so one of the two sees the other. Removing a connection locks everything
-- that waits on it: either it sees that an attempt has ended, or the end of the attempt sees the removal.
--
-- Each statement sees what was committed before it began. So one statement locks the rows, and the next one reads them.
--
-- The statements are planned once, perhaps while the tables are empty, and the plans must then serve millions of rows. So the
-- planner is left no choice but the index of each key: a key is searched in a subselect of its own or, where rows change, as a range
-- from the key to itself. An equation would become a join, and a table that seemed empty would be read from end to end.
-- Where a key has two columns, the first one stands in an array alone: servers before version 18 otherwise read on until it changes, and
-- those before 17 may ignore an array of the second. `queued` has several indexes that contain the sequence. After a backlog
-- the planner may prefer any of them, also one that must be read from end to end, so a message is searched by all its keys.
-- Arrays are read by position, because each `unnest` costs ten times as much.
create or replace function write_steps(
  a_worker text, a_connection_index integer, a_count bigint, lock_ms integer,
  -- True: a step whose message another transaction has locked is left out. False: its lock is waited for.
  skip_locked boolean,
  -- One value for each step. An array that has no value at all is null.
  connections text[], accounts text[], epochs bigint[], ats bigint[],
  -- How an attempt ends: 1 finally, 2 the message stays queued, 3 evidence is awaited. Null: none ends.
  ends integer[] default null,
  close_sequences bigint[] default null, close_numbers integer[] default null, started_ats bigint[] default null,
  ended_ats bigint[] default null, outcomes text[] default null, codes text[] default null, attempt_words text[] default null,
  -- JSON of AttemptFacts.
  attempt_facts text[] default null,
  -- What a message that stays queued keeps between its attempts.
  retries text[] default null,
  network_ids text[] default null, states text[] default null, reasons text[] default null, end_words text[] default null,
  evidence_untils bigint[] default null,
  -- Which attempt opens. Null: none.
  open_sequences bigint[] default null, open_numbers integer[] default null,
  -- It opens only if nothing in its lane waits between this message and it (G3). Null: whatever waits.
  known_throughs bigint[] default null,
  -- True: the network accepted the attempt and said nothing else, so its message says everything about it.
  is_plain boolean[] default null,
  -- What few steps write besides: their positions from 1, then one value for each position.
  extras integer[] default null,
  drop_sequences bigint[] default null, drop_states text[] default null, drop_reasons text[] default null,
  drop_words text[] default null,
  changes_memory boolean[] default null, failure_streaks text[] default null,
  wait_reasons text[] default null, wait_texts text[] default null, wait_untils bigint[] default null,
  notes_attempt boolean[] default null,
  -- Messages whose own wait is new, with the position of their step.
  deferred_at integer[] default null, deferred_sequences bigint[] default null, deferred_retries text[] default null
) returns text language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  n constant integer := cardinality(connections);
  result text[] := array_fill(null::text, array[n]);
  locked integer[];
  holds boolean[];
  lockable boolean[];
  moved integer[];
  at integer;
  -- No end is later than now by the clock that all workers share, so no attempt of the next owner of a lane seems to begin before it.
  now constant bigint := now_ms();
begin
  perform begin_durable_write(lock_ms);
  perform advance_fence(a_worker, a_connection_index, a_count);
  if skip_locked then
    ends := coalesce(ends, array_fill(null::integer, array[n]));
    locked := locked_steps(accounts, connections, close_sequences, open_sequences, extras, drop_sequences, deferred_at, deferred_sequences);
    foreach at in array locked loop
      -- No end that exists, and nothing to open.
      ends[at] := 9;
      if open_sequences is not null then open_sequences[at] := null; end if;
    end loop;
  end if;

  if extras is not null then
    select array_agg(case when i = any (extras) then l.yes is true end order by i) into holds from generate_series(1, n) i
      left join lateral (
        select true as yes from lane where i = any (extras) and lane.connection_id = connections[i] and lane.epoch = epochs[i]
          for no key update
      ) l on true;
  end if;

  if open_sequences is not null then
    -- A delayed statement finds another number of attempts.
    select array_agg(q.yes is true order by i) into lockable from generate_series(1, n) i
      left join lateral (
        select true as yes from queued
          where queued.account_id = accounts[i] and queued.sequence = open_sequences[i] and queued.connection_id = connections[i]
            and queued.attempts = open_numbers[i] - case when close_sequences[i] = open_sequences[i] then 2 else 1 end
            -- Sequences of a lane commit in their order: a transaction that sees this message sees all that come before it.
            and (known_throughs[i] is null or not exists (
              select from queued b where (b.connection_id, b.sequence) > (connections[i], known_throughs[i])
                and (b.connection_id, b.sequence) < (connections[i], open_sequences[i])
                and b.sequence is distinct from close_sequences[i]
            ))
          for no key update
      ) q on true;
  end if;

  if 1 = any (ends) or 2 = any (ends) then
    if lockable is not null then
      with moving as (
        update lane_attempt o
          set message_sequence = open_sequences[i], number = open_numbers[i], started_at = ats[i], crashes = 0, evidence_until = null, words = null
          from generate_series(1, n) i
          where ends[i] in (1, 2) and lockable[i]
            and o.connection_id >= connections[i] and o.connection_id <= connections[i] and o.epoch = epochs[i]
            and o.message_sequence = close_sequences[i] and o.number = close_numbers[i]
            and (select c.state from connection c where c.id = connections[i]) = 'active'
            and not exists (select from hold where "only" = 1)
          returning i
      )
      select array_agg(m.i) into moved from moving m;
      foreach at in array coalesce(moved, '{}') loop
        result[at] := 'o';
      end loop;
    end if;
    if coalesce(cardinality(moved), 0) < n then
      with ending as (
        update lane_attempt o
          set message_sequence = null, number = null, started_at = null, crashes = 0, evidence_until = null, words = null, possibly_superseded_sequence = null
          from generate_series(1, n) i
          where ends[i] in (1, 2) and result[i] is null
            and o.connection_id >= connections[i] and o.connection_id <= connections[i] and o.epoch = epochs[i]
            and o.message_sequence = close_sequences[i] and o.number = close_numbers[i]
          returning i
      )
      select array_agg(e.i) into moved from ending e;
      foreach at in array coalesce(moved, '{}') loop
        result[at] := 'n';
      end loop;
    end if;
  end if;

  if 1 = any (ends) then
    with gone as (
      delete from queued q using generate_series(1, n) i
        where ends[i] = 1 and result[i] is not null
          and q.account_id = any (array[accounts[i]]) and q.connection_id = any (array[connections[i]])
          and q.sequence >= close_sequences[i] and q.sequence <= close_sequences[i]
        returning q.*, i
    )
    insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
        reason, words, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us,
        resend_of, attempt_started_at)
      select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, states[i],
          reasons[i], end_words[i], close_numbers[i], accepted_at, case when states[i] = 'PUBLISHED' then least(ended_ats[i], now) end,
          least(ended_ats[i], now), network_ids[i], remote_address, user_agent, took_us, resend_of,
          case when is_plain[i] then least(started_ats[i], now) end
        from gone;
    if wants_notices(accounts) then
      perform announce_messages(array(
        select close_sequences[i] from generate_series(1, n) i where ends[i] = 1 and result[i] is not null
      ));
    end if;
  end if;

  if 2 = any (ends) then
    update queued q set attempts = close_numbers[i], retry = retries[i] from generate_series(1, n) i
      where ends[i] = 2 and result[i] is not null
        and q.account_id = any (array[accounts[i]]) and q.connection_id = any (array[connections[i]])
        and q.sequence >= close_sequences[i] and q.sequence <= close_sequences[i];
    perform end_stranded(accounts[i], connections[i], close_sequences[i], outcomes[i] = 'unknown', least(ended_ats[i], now)) from generate_series(1, n) i
      where ends[i] = 2 and result[i] is not null and (select c.state from connection c where c.id = connections[i]) = 'removed';
  end if;

  if false = any (is_plain) then
    insert into ended_attempt (message_sequence, number, started_at, ended_at, outcome, code, words, facts)
      select close_sequences[i], close_numbers[i], least(started_ats[i], now), least(ended_ats[i], now), outcomes[i], codes[i], attempt_words[i],
          attempt_facts[i]
        from generate_series(1, n) i where ends[i] in (1, 2) and not is_plain[i] and result[i] is not null;
  end if;

  if 3 = any (ends) then
    with waiting as (
      update lane_attempt o set evidence_until = evidence_untils[i], words = end_words[i] from generate_series(1, n) i
        where ends[i] = 3 and o.connection_id >= connections[i] and o.connection_id <= connections[i] and o.epoch = epochs[i]
          and o.message_sequence = close_sequences[i] and o.number = close_numbers[i]
        returning i
    )
    select array_agg(w.i) into moved from waiting w;
    foreach at in array coalesce(moved, '{}') loop
      result[at] := 'n';
    end loop;
    -- Once, even if the step is repeated because the result of its commit was unknown.
    insert into timeline (message_sequence, position, at, kind, words, facts)
      select close_sequences[i], 1 + coalesce(before.position, 0), least(ended_ats[i], now), 'attempt-unknown', end_words[i],
          '{"attempt":' || close_numbers[i] || '}'
        from unnest(moved) i cross join lateral (
          select max(t.position) as position,
              bool_or(t.kind = 'attempt-unknown' and t.facts = '{"attempt":' || close_numbers[i] || '}') as is_there
            from timeline t where t.message_sequence = close_sequences[i]
        ) before
        where before.is_there is not true;
  end if;

  if ends is null or array_position(ends, null) is not null then
    if lockable is not null then
      -- A step is repeated when the result of its commit was unknown: what this claim has already opened counts as opened.
      with opening as (
        update lane_attempt o set message_sequence = open_sequences[i], number = open_numbers[i], started_at = ats[i]
          from generate_series(1, n) i
          where ends[i] is null and lockable[i] and holds[i] is not false
            and o.connection_id >= connections[i] and o.connection_id <= connections[i] and o.epoch = epochs[i]
            and (o.message_sequence is null or (o.message_sequence = open_sequences[i] and o.number = open_numbers[i]))
            and (select c.state from connection c where c.id = connections[i]) = 'active'
            and not exists (select from hold where "only" = 1)
          returning i
      )
      select array_agg(o.i) into moved from opening o;
      foreach at in array coalesce(moved, '{}') loop
        result[at] := 'o';
      end loop;
    end if;
    for at in 1 .. n loop
      continue when ends[at] is not null or result[at] is not null;
      if holds[at] is not false and holds_lane(connections[at], epochs[at]) then
        result[at] := 'n';
      end if;
    end loop;
  end if;

  for e in 1 .. coalesce(cardinality(extras), 0) loop
    at := extras[e];
    continue when result[at] is null;
    if drop_sequences[e] is not null then
      perform end_queued(accounts[at], connections[at], drop_sequences[e], drop_states[e], drop_reasons[e], drop_words[e], ats[at]);
    end if;
    if changes_memory[e] then
      perform note_wait(connections[at], wait_reasons[e], ats[at]);
      update lane set failure_streak = failure_streaks[e], wait_reason = wait_reasons[e], wait_words = wait_texts[e],
          wait_until = wait_untils[e],
          wait_since = case when wait_reasons[e] is null then null
            when wait_reason = wait_reasons[e] and wait_goes_on(wait_since, wait_until, ats[at]) then wait_since else ats[at] end
        where connection_id = connections[at] and epoch = epochs[at];
    end if;
    if notes_attempt[e] and result[at] = 'o' then
      update lane set last_attempt_at = ats[at] where connection_id = connections[at] and epoch = epochs[at];
    end if;
  end loop;
  if deferred_at is not null then
    update queued q set retry = deferred_retries[j] from generate_series(1, cardinality(deferred_at)) j
      where result[deferred_at[j]] is not null
        and q.account_id = any (array[accounts[deferred_at[j]]]) and q.connection_id = any (array[connections[deferred_at[j]]])
        and q.sequence >= deferred_sequences[j] and q.sequence <= deferred_sequences[j];
  end if;
  foreach at in array coalesce(locked, '{}') loop
    result[at] := 'b';
  end loop;
  return array_to_string(result, '', 'f');
end
$$;

-- Whether a lane is claimed under this epoch. Needed only where no attempt opened.
create or replace function holds_lane(a_connection text, an_epoch bigint) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  return exists (select from lane where connection_id = a_connection and epoch = an_epoch);
end
$$;

-- The positions of steps that end, open, discard or defer a message which another transaction has locked.
create or replace function locked_steps(
  accounts text[], connections text[], close_sequences bigint[], open_sequences bigint[], extras integer[], drop_sequences bigint[],
  deferred_at integer[], deferred_sequences bigint[]
) returns integer[] language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  locked integer[] := '{}';
begin
  for i in 1 .. cardinality(accounts) loop
    if is_locked(accounts[i], connections[i], close_sequences[i]) or is_locked(accounts[i], connections[i], open_sequences[i])
      or is_locked(accounts[i], connections[i], drop_sequences[array_position(extras, i)])
      or exists (select from generate_series(1, cardinality(deferred_at)) j
        where deferred_at[j] = i and is_locked(accounts[i], connections[i], deferred_sequences[j])) then
      locked := locked || i;
    end if;
  end loop;
  return locked;
end
$$;

create or replace function is_locked(an_account text, a_connection text, a_sequence bigint) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  if a_sequence is null then
    return false;
  end if;
  -- By all its keys: see `write_steps`.
  perform from queued where account_id = an_account and sequence = a_sequence and connection_id = a_connection for update skip locked;
  -- A message that is gone is not locked.
  return not found
    and exists (select from queued where account_id = an_account and sequence = a_sequence and connection_id = a_connection);
end
$$;

-- Ends a message that stays queued on a removed connection, where it would wait for ever. It may have arrived if the result of one of
-- its attempts is unknown.
create or replace function end_stranded(an_account text, a_connection text, a_sequence bigint, is_unknown boolean, at bigint) returns void language plpgsql
  set enable_seqscan = off set jit = off
as $$
declare
  may_have_arrived constant boolean := is_unknown
    or exists (select from ended_attempt a where a.message_sequence = a_sequence and a.outcome = 'unknown');
begin
  perform end_queued(an_account, a_connection, a_sequence,
    case when may_have_arrived then 'UNCONFIRMED' else 'CANCELLED' end,
    case when may_have_arrived then 'result_unknown' else 'connection_removed' end, null, at);
end
$$;

-- Moves one message out of its lane. False when it is no longer there.
create or replace function end_queued(
  an_account text, a_connection text, a_sequence bigint, a_state text, a_reason text, some_words text, at bigint
) returns boolean language plpgsql set enable_seqscan = off set jit = off
as $$
declare
  is_moved boolean;
begin
  with gone as (
    delete from queued where account_id = an_account and sequence = a_sequence and connection_id = a_connection returning *
  )
  insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, settled_at, remote_address, user_agent, took_us, resend_of)
    select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, a_state,
        a_reason, some_words, attempts, accepted_at, at, remote_address, user_agent, took_us, resend_of
      from gone;
  is_moved := found;
  if is_moved and exists (select from notice_want where account_id = an_account) then
    perform announce_messages(array[a_sequence]);
  end if;
  return is_moved;
end
$$;
