-- Steps (by position) of which somebody else has locked a message that they end, open or drop.
create or replace function busy_steps(
  accounts text[], connections text[], close_sequences bigint[], open_sequences bigint[], extras integer[], drop_sequences bigint[]
) returns integer[] language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  busy integer[] := '{}';
begin
  for i in 1 .. cardinality(accounts) loop
    if is_locked(accounts[i], connections[i], close_sequences[i]) or is_locked(accounts[i], connections[i], open_sequences[i])
      or is_locked(accounts[i], connections[i], drop_sequences[array_position(extras, i)]) then
      busy := busy || i;
    end if;
  end loop;
  return busy;
end
$$;

create or replace function is_locked(an_account text, a_connection text, a_sequence bigint) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  if a_sequence is null then
    return false;
  end if;
  -- By all that it may be found by: see `write_steps`.
  perform from queued where account_id = an_account and sequence = a_sequence and connection_id = a_connection for update skip locked;
  -- What is not there at all is not locked: somebody has taken it out.
  return not found
    and exists (select from queued where account_id = an_account and sequence = a_sequence and connection_id = a_connection);
end
$$;

-- A message that would wait for its next attempt on a removed connection would wait for ever. It may have arrived if an
-- attempt of it has an unknown fate.
create or replace function settle_orphan(an_account text, a_connection text, a_sequence bigint, is_unknown boolean, at bigint) returns void language plpgsql
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

-- Moves one message out of its lane. False when it is there no more.
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
