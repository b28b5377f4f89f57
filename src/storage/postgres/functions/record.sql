-- Writes what the lanes of one worker did in one turn: what ends and what begins, in one commit (G4). Set by set, not
-- lane by lane: that is several times as fast.
--
-- A step writes nothing when its claim is gone (G6): what closes must find its own open attempt with its epoch, and what
-- only opens must find its epoch in the lane. Returns one letter for each step: `o` opened, `n` not opened, `f` fenced,
-- `b` somebody else has locked a message of it, and nothing was written.
--
-- Locks are taken in this order by all: lane, message, open attempt. Who opens locks the message first; who cancels locks
-- it too, and looks for the open attempt after. So one of the two sees the other. And who removes a connection locks all
-- that waits on it: so either it sees that an attempt has ended, or whoever ends it sees the removal.
--
-- Each statement sees what was committed until it began. That is why rows are locked by one and judged by the next.
--
-- It is planned once, perhaps while nothing is there yet, and must then serve millions. So the planner is left no choice
-- but the index of each key: what is looked for stands in a subselect of its own, or, where rows are changed, between the
-- key and itself. As an equation it would be joined, and a table that seemed empty was read from end to end for that.
create function record_steps(
  a_worker text, a_slot integer, a_count bigint, lock_ms integer,
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
  opened text[];
  opened_to integer;
  i integer;
begin
  perform make_durable(lock_ms);
  perform note_progress(a_worker, a_slot, a_count);
  if wary then
    busy := busy_steps(accounts, close_sequences, open_sequences);
    foreach i in array coalesce(busy, '{}') loop
      -- No end that there is, and nothing to open.
      ends[i] := 9;
      open_sequences[i] := null;
    end loop;
  end if;

  if ends is null or 0 = any (ends) or extras is not null then
    select array_agg(l.epoch is not null order by s.i) into holds
      from unnest(connections, epochs, ends) with ordinality s (id, epoch, ending, i)
      left join lateral (
        select lane.epoch from lane
          where (coalesce(s.ending, 0) = 0 or s.i = any (extras)) and lane.connection_id = s.id and lane.epoch = s.epoch
          for no key update
      ) l on true;
  end if;

  if open_sequences is not null then
    -- A statement that was lost on its way and comes late finds another count of attempts.
    select array_agg(q.yes is true order by s.i) into lockable
      from unnest(connections, accounts, open_sequences, open_numbers, close_sequences) with ordinality
        s (connection_id, account_id, sequence, number, closed, i)
      left join lateral (
        select true as yes from queued
          where queued.account_id = s.account_id and queued.sequence = s.sequence and queued.connection_id = s.connection_id
            and queued.attempts = s.number - case when s.closed = s.sequence then 2 else 1 end
          for no key update
      ) q on true;
  end if;

  if 1 = any (ends) or 2 = any (ends) then
    if lockable is not null then
      with moving as (
        update open_attempt o
          set message_sequence = s.open_sequence, number = s.open_number, started_at = s.at, crashes = 0, evidence_until = null, words = null
          from unnest(connections, epochs, ats, ends, close_sequences, close_numbers, open_sequences, open_numbers, lockable)
            with ordinality s (id, epoch, at, ending, close_sequence, close_number, open_sequence, open_number, lockable, i)
          where s.ending in (1, 2) and s.lockable
            and o.connection_id >= s.id and o.connection_id <= s.id and o.epoch = s.epoch
            and o.message_sequence = s.close_sequence and o.number = s.close_number
            and (select c.state from connection c where c.id = s.id) = 'active'
            and not exists (select from hold where "only" = 1)
          returning s.i
      )
      select array_agg(m.i) into moved from moving m;
      foreach i in array coalesce(moved, '{}') loop
        result[i] := 'o';
      end loop;
    end if;
    if coalesce(cardinality(moved), 0) < n then
      with ending as (
        delete from open_attempt o
          using unnest(connections, epochs, ends, close_sequences, close_numbers, result)
            with ordinality s (id, epoch, ending, close_sequence, close_number, result, i)
          where s.ending in (1, 2) and s.result is null
            and o.connection_id >= s.id and o.connection_id <= s.id and o.epoch = s.epoch
            and o.message_sequence = s.close_sequence and o.number = s.close_number
          returning s.i
      )
      select array_agg(e.i) into moved from ending e;
      foreach i in array coalesce(moved, '{}') loop
        result[i] := 'n';
      end loop;
    end if;
  end if;

  if 1 = any (ends) then
    with gone as (
      delete from queued q
        using unnest(close_sequences, close_numbers, begun_ats, ended_ats, network_ids, states, reasons, settle_words, plains, ends, result)
          s (sequence, number, began, ended, network_id, state, reason, words, plain, ending, result)
        where s.ending = 1 and s.result is not null and q.sequence >= s.sequence and q.sequence <= s.sequence
        returning q.*, s.number, s.began, s.ended, s.network_id, s.state, s.reason, s.words, s.plain
    )
    insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
        reason, words, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us,
        resend_of, attempt_started_at)
      select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
          reason, words, number, accepted_at, case when state = 'PUBLISHED' then ended end, ended, network_id, remote_address,
          user_agent, took_us, resend_of, case when plain then began end
        from gone;
  end if;

  if 2 = any (ends) then
    update queued q set attempts = s.number
      from unnest(close_sequences, close_numbers, ends, result) s (sequence, number, ending, result)
      where s.ending = 2 and s.result is not null and q.sequence >= s.sequence and q.sequence <= s.sequence;
    perform settle_orphan(s.account_id, s.sequence, s.outcome = 'unknown', s.ended)
      from unnest(connections, accounts, close_sequences, outcomes, ended_ats, ends, result)
        s (connection_id, account_id, sequence, outcome, ended, ending, result)
      where s.ending = 2 and s.result is not null
        and (select c.state from connection c where c.id = s.connection_id) = 'removed';
  end if;

  if false = any (plains) then
    insert into ended_attempt (message_sequence, number, started_at, ended_at, outcome, code, words)
      select s.sequence, s.number, s.began, s.ended, s.outcome, s.code, s.words
        from unnest(close_sequences, close_numbers, begun_ats, ended_ats, outcomes, codes, attempt_words, plains, ends, result)
          s (sequence, number, began, ended, outcome, code, words, plain, ending, result)
        where s.ending in (1, 2) and not s.plain and s.result is not null;
  end if;

  if 3 = any (ends) then
    with waiting as (
      update open_attempt o set evidence_until = s.until, words = s.words
        from unnest(connections, epochs, close_sequences, untils, settle_words, ends) with ordinality
          s (id, epoch, sequence, until, words, ending, i)
        where s.ending = 3 and o.connection_id >= s.id and o.connection_id <= s.id and o.epoch = s.epoch and o.message_sequence = s.sequence
        returning s.i
    )
    select array_agg(w.i) into moved from waiting w;
    foreach i in array coalesce(moved, '{}') loop
      result[i] := 'n';
    end loop;
  end if;

  if ends is null or 0 = any (ends) then
    for i in 1 .. n loop
      if holds[i] and (ends is null or ends[i] = 0) then result[i] := 'n'; end if;
    end loop;
    if lockable is not null then
      -- Repeated when nobody knew whether the first time was committed: what this claim has opened already is open.
      with opened as (
        insert into open_attempt (connection_id, account_id, message_sequence, number, epoch, started_at)
          select s.connection_id, s.account_id, s.sequence, s.number, s.epoch, s.at
            from unnest(connections, accounts, open_sequences, open_numbers, epochs, ats, ends, lockable, result)
              s (connection_id, account_id, sequence, number, epoch, at, ending, lockable, result)
            where coalesce(s.ending, 0) = 0 and s.lockable and s.result is not null
              and (select c.state from connection c where c.id = s.connection_id) = 'active'
              and not exists (select from hold where "only" = 1)
          on conflict (connection_id) do update set started_at = excluded.started_at
            where open_attempt.epoch = excluded.epoch and open_attempt.message_sequence = excluded.message_sequence
              and open_attempt.number = excluded.number
          returning connection_id
      )
      select array_agg(o.connection_id) into opened from opened o;
      -- They come in the order in which they were asked for.
      opened_to := 1;
      for i in 1 .. n loop
        if connections[i] = opened[opened_to] then
          result[i] := 'o';
          opened_to := opened_to + 1;
        end if;
      end loop;
      if opened_to <= cardinality(opened) then
        raise exception 'attempts were opened in another order than they were asked for';
      end if;
    end if;
  end if;

  for e in 1 .. coalesce(cardinality(extras), 0) loop
    i := extras[e];
    continue when result[i] is null;
    if drop_sequences[e] is not null then
      perform end_queued(accounts[i], drop_sequences[e], drop_states[e], drop_reasons[e], drop_words[e], ats[i]);
    end if;
    if remembers[e] then
      update lane set head = heads[e], trouble = troubles[e], wait_reason = wait_reasons[e], wait_words = words_of_waits[e],
          wait_until = wait_untils[e]
        where connection_id = connections[i] and epoch = epochs[i];
    end if;
    if paced[e] and result[i] = 'o' then
      update lane set last_attempt_at = ats[i] where connection_id = connections[i] and epoch = epochs[i];
    end if;
  end loop;
  foreach i in array coalesce(busy, '{}') loop
    result[i] := 'b';
  end loop;
  return array_to_string(result, '', 'f');
end
$$;

-- The same for one step that settles a message which needs nothing beside, opens the next one, or both. Most steps are of
-- this kind, and where a single lane is busy they come one by one: then this is what its speed depends on.
create function record_step(
  a_worker text, a_slot integer, a_count bigint, lock_ms integer,
  a_connection text, an_account text, an_epoch bigint, an_at bigint,
  -- Null when nothing ends.
  close_sequence bigint, close_number integer, begun_at bigint, an_end bigint, a_network_id text, a_state text, a_reason text, some_words text,
  -- Null when nothing opens.
  open_sequence bigint, open_number integer
) returns text language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  may_open boolean := false;
begin
  perform make_durable(lock_ms);
  perform note_progress(a_worker, a_slot, a_count);
  if close_sequence is null then
    perform from lane where connection_id = a_connection and epoch = an_epoch for no key update;
    if not found then
      return 'f';
    end if;
  end if;
  if open_sequence is not null then
    perform from queued where account_id = an_account and sequence = open_sequence and connection_id = a_connection and attempts = open_number - 1
      for no key update;
    if found then
      may_open := (select c.state = 'active' from connection c where c.id = a_connection) and not exists (select from hold where "only" = 1);
    end if;
  end if;
  if close_sequence is null then
    if may_open then
      insert into open_attempt (connection_id, account_id, message_sequence, number, epoch, started_at)
        values (a_connection, an_account, open_sequence, open_number, an_epoch, an_at)
        on conflict (connection_id) do update set started_at = excluded.started_at
          where open_attempt.epoch = excluded.epoch and open_attempt.message_sequence = excluded.message_sequence
            and open_attempt.number = excluded.number;
      may_open := found;
    end if;
    return case when may_open then 'o' else 'n' end;
  end if;
  if may_open then
    update open_attempt set message_sequence = open_sequence, number = open_number, started_at = an_at, crashes = 0, evidence_until = null, words = null
      where connection_id = a_connection and epoch = an_epoch and message_sequence = close_sequence and number = close_number;
  else
    delete from open_attempt
      where connection_id = a_connection and epoch = an_epoch and message_sequence = close_sequence and number = close_number;
  end if;
  if not found then
    return 'f';
  end if;
  with gone as (delete from queued where account_id = an_account and sequence = close_sequence returning *)
  insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us,
      resend_of, attempt_started_at)
    select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, a_state,
        a_reason, some_words, close_number, accepted_at, case when a_state = 'PUBLISHED' then an_end end, an_end, a_network_id,
        remote_address, user_agent, took_us, resend_of, begun_at
      from gone;
  return case when may_open then 'o' else 'n' end;
end
$$;

-- Steps (by position) of which somebody else has locked a message that they end or open.
create function busy_steps(accounts text[], close_sequences bigint[], open_sequences bigint[]) returns integer[] language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  busy integer[] := '{}';
begin
  for i in 1 .. cardinality(accounts) loop
    if is_locked(accounts[i], close_sequences[i]) or is_locked(accounts[i], open_sequences[i]) then
      busy := busy || i;
    end if;
  end loop;
  return busy;
end
$$;

create function is_locked(an_account text, a_sequence bigint) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  if a_sequence is null then
    return false;
  end if;
  perform from queued where account_id = an_account and sequence = a_sequence for update skip locked;
  -- What is not there at all is not locked: somebody has taken it out.
  return not found and exists (select from queued where account_id = an_account and sequence = a_sequence);
end
$$;

-- A message that would wait for its next attempt on a removed connection would wait for ever. It may have arrived if an
-- attempt of it has an unknown fate.
create function settle_orphan(an_account text, a_sequence bigint, is_unknown boolean, at bigint) returns void language plpgsql
  set enable_seqscan = off set jit = off
as $$
declare
  may_have_arrived constant boolean := is_unknown
    or exists (select from ended_attempt a where a.message_sequence = a_sequence and a.outcome = 'unknown');
begin
  perform end_queued(an_account, a_sequence,
    case when may_have_arrived then 'UNCONFIRMED' else 'CANCELLED' end,
    case when may_have_arrived then 'fate_unknown' else 'connection_removed' end, null, at);
end
$$;

-- Moves one message out of its lane. False when it is there no more.
create function end_queued(an_account text, a_sequence bigint, a_state text, a_reason text, some_words text, at bigint) returns boolean
  language plpgsql set enable_seqscan = off set jit = off
as $$
begin
  with gone as (delete from queued where account_id = an_account and sequence = a_sequence returning *)
  insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, settled_at, remote_address, user_agent, took_us, resend_of)
    select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, a_state,
        a_reason, some_words, attempts, accepted_at, at, remote_address, user_agent, took_us, resend_of
      from gone;
  return found;
end
$$;
