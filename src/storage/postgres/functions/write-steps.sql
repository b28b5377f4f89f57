-- Writes what the lanes of one worker did in one turn: what ends and what begins, in one commit (G4). Set by set, not
-- lane by lane: that is several times as fast.
--
-- A step writes nothing when its claim is gone (G6): what ends or opens an attempt must find its epoch in the row that a
-- held lane has for its attempts (`lane_attempt`, where whoever takes the lane puts another), and what it writes beside must
-- find it in the lane. Returns one letter for each step: `o` opened, `n` not opened, `f` fenced, `b` somebody else has locked a
-- message of it, and nothing was written.
--
-- Locks are taken in this order by all: lane, message, attempt. Who opens locks the message first; who cancels locks
-- it too, and looks for the open attempt after. So one of the two sees the other. And who removes a connection locks all
-- that waits on it: so either it sees that an attempt has ended, or whoever ends it sees the removal.
--
-- Each statement sees what was committed until it began. That is why rows are locked by one and judged by the next.
--
-- It is planned once, perhaps while nothing is there yet, and must then serve millions. So the planner is left no choice
-- but the index of each key: what is looked for stands in a subselect of its own, or, where rows are changed, between the
-- key and itself. As an equation it would be joined, and a table that seemed empty was read from end to end for that. Where
-- a key has two columns, the first stands in an array alone: servers before version 18 read on until it changes, unless they
-- know what it equals, and those before 17 may leave out an array of the second. What waits has several indexes with the
-- sequence in them, and once a backlog has gone, any of them may seem the shortest, also one that must be read from end to
-- end: so it is looked for by all that it may be found by. And arrays are looked into by position: each that is unnested
-- costs ten times as much.
create or replace function write_steps(
  a_worker text, a_connection_index integer, a_count bigint, lock_ms integer,
  -- True: what others have locked is left out instead of waited for.
  wary boolean,
  connections text[], accounts text[], epochs bigint[], ats bigint[],
  -- 0 nothing ends, 1 it is settled, 2 it stays queued, 3 evidence is waited for. Null: nothing ends in any of them.
  ends integer[],
  close_sequences bigint[], close_numbers integer[], begun_ats bigint[], ended_ats bigint[], outcomes text[],
  codes text[], attempt_words text[], network_ids text[],
  states text[], reasons text[], settle_words text[], untils bigint[],
  -- Null where nothing opens.
  open_sequences bigint[], open_numbers integer[],
  -- True where nobody has looked what waits before it: it is opened only if nothing does (G3). Null: in none of them.
  alones boolean[],
  -- True where the accepted attempt needs no row of its own.
  plains boolean[],
  -- What some lanes write beside: which steps (by position), and then one value for each of them.
  extras integer[],
  drop_sequences bigint[], drop_states text[], drop_reasons text[], drop_words text[],
  remembers boolean[], heads text[], troubles text[], wait_reasons text[], words_of_waits text[], wait_untils bigint[],
  paced boolean[]
) returns text language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  n constant integer := cardinality(connections);
  result text[] := array_fill(null::text, array[n]);
  busy integer[];
  holds boolean[];
  lockable boolean[];
  moved integer[];
  at integer;
  -- Nothing has ended later than now, by the clock that all share: so what another worker begins on a lane after it has
  -- taken it never seems to have begun before that.
  now constant bigint := now_ms();
begin
  perform begin_durable_write(lock_ms);
  perform advance_fence(a_worker, a_connection_index, a_count);
  if wary then
    busy := busy_steps(accounts, connections, close_sequences, open_sequences, extras, drop_sequences);
    foreach at in array busy loop
      -- No end that there is, and nothing to open.
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
    -- A statement that was lost on its way and comes late finds another count of attempts.
    select array_agg(q.yes is true order by i) into lockable from generate_series(1, n) i
      left join lateral (
        select true as yes from queued
          where queued.account_id = accounts[i] and queued.sequence = open_sequences[i] and queued.connection_id = connections[i]
            and queued.attempts = open_numbers[i] - case when close_sequences[i] = open_sequences[i] then 2 else 1 end
            -- Sequences of a lane commit in their order: whoever sees this message sees all that come before it.
            and (alones[i] is not true or case when close_sequences[i] is null
              -- Mostly nothing ends, and then the first one tells.
              then (
                select b.sequence from queued b where (b.connection_id, b.sequence) >= (connections[i], 0) and b.connection_id <= connections[i]
                  order by b.connection_id, b.sequence limit 1
              ) >= open_sequences[i]
              else (
                select b.sequence from (
                  select * from queued where (connection_id, sequence) >= (connections[i], 0) and connection_id <= connections[i]
                    order by connection_id, sequence limit 2
                ) b where b.sequence < open_sequences[i] and b.sequence is distinct from close_sequences[i]
                  limit 1
              ) is null
            end)
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
          reasons[i], settle_words[i], close_numbers[i], accepted_at, case when states[i] = 'PUBLISHED' then least(ended_ats[i], now) end,
          least(ended_ats[i], now), network_ids[i], remote_address, user_agent, took_us, resend_of,
          case when plains[i] then least(begun_ats[i], now) end
        from gone;
    if wants_notices(accounts) then
      perform announce_messages(array(
        select close_sequences[i] from generate_series(1, n) i where ends[i] = 1 and result[i] is not null
      ));
    end if;
  end if;

  if 2 = any (ends) then
    update queued q set attempts = close_numbers[i] from generate_series(1, n) i
      where ends[i] = 2 and result[i] is not null
        and q.account_id = any (array[accounts[i]]) and q.connection_id = any (array[connections[i]])
        and q.sequence >= close_sequences[i] and q.sequence <= close_sequences[i];
    perform settle_orphan(accounts[i], connections[i], close_sequences[i], outcomes[i] = 'unknown', least(ended_ats[i], now)) from generate_series(1, n) i
      where ends[i] = 2 and result[i] is not null and (select c.state from connection c where c.id = connections[i]) = 'removed';
  end if;

  if false = any (plains) then
    insert into ended_attempt (message_sequence, number, started_at, ended_at, outcome, code, words)
      select close_sequences[i], close_numbers[i], least(begun_ats[i], now), least(ended_ats[i], now), outcomes[i], codes[i], attempt_words[i]
        from generate_series(1, n) i where ends[i] in (1, 2) and not plains[i] and result[i] is not null;
  end if;

  if 3 = any (ends) then
    with waiting as (
      update lane_attempt o set evidence_until = untils[i], words = settle_words[i] from generate_series(1, n) i
        where ends[i] = 3 and o.connection_id >= connections[i] and o.connection_id <= connections[i] and o.epoch = epochs[i]
          and o.message_sequence = close_sequences[i] and o.number = close_numbers[i]
        returning i
    )
    select array_agg(w.i) into moved from waiting w;
    foreach at in array coalesce(moved, '{}') loop
      result[at] := 'n';
    end loop;
    -- Once, also where the step is repeated because the result of its commit was unknown.
    insert into timeline (message_sequence, position, at, kind, words, facts)
      select close_sequences[i], 1 + coalesce(told.position, 0), least(ended_ats[i], now), 'attempt-unknown', settle_words[i],
          '{"attempt":' || close_numbers[i] || '}'
        from unnest(moved) i cross join lateral (
          select max(t.position) as position,
              bool_or(t.kind = 'attempt-unknown' and t.facts = '{"attempt":' || close_numbers[i] || '}') as is_there
            from timeline t where t.message_sequence = close_sequences[i]
        ) told
        where told.is_there is not true;
  end if;

  if ends is null or 0 = any (ends) then
    if lockable is not null then
      -- Repeated when nobody knew whether the first time was committed: what this claim has opened already is open.
      with opening as (
        update lane_attempt o set message_sequence = open_sequences[i], number = open_numbers[i], started_at = ats[i]
          from generate_series(1, n) i
          where coalesce(ends[i], 0) = 0 and lockable[i] and holds[i] is not false
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
      continue when coalesce(ends[at], 0) <> 0 or result[at] is not null;
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
    if remembers[e] then
      update lane set head = heads[e], failure_streak = troubles[e], wait_reason = wait_reasons[e], wait_words = words_of_waits[e],
          wait_until = wait_untils[e]
        where connection_id = connections[at] and epoch = epochs[at];
    end if;
    if paced[e] and result[at] = 'o' then
      update lane set last_attempt_at = ats[at] where connection_id = connections[at] and epoch = epochs[at];
    end if;
  end loop;
  foreach at in array coalesce(busy, '{}') loop
    result[at] := 'b';
  end loop;
  return array_to_string(result, '', 'f');
end
$$;
