-- Ends a message that waits to be handed over once more, because its network tells that it has it (G5). False when it is
-- being handed over, or waits no longer: then the report is judged anew. The row is locked before the open attempt is
-- looked for, as by whoever cancels it.
create or replace function settle_found(
  a_sequence bigint, a_state text, a_reason text, state_words text, told_at bigint,
  a_code text, a_kind text, some_words text, a_network_id text
) returns boolean language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  a_connection text;
  -- The report says no more than its second, by another clock: the message ends after its last attempt.
  left_at constant bigint := greatest(told_at,
    (select max(e.ended_at) from ended_attempt e where e.message_sequence = a_sequence and e.outcome <> 'rejected'));
begin
  perform begin_durable_write(2000);
  update message set state = a_state, reason = a_reason, words = state_words, published_at = greatest(left_at, accepted_at), settled_at = greatest(left_at, accepted_at),
      network_id = a_network_id, resolved_at = told_at
    where sequence = a_sequence and state = 'QUEUED' returning connection_id into a_connection;
  if a_connection is null then
    return false;
  end if;
  insert into timeline (message_sequence, position, at, kind, code, words)
    select a_sequence, 1 + coalesce(max(position), 0), told_at, a_kind, a_code, some_words
      from timeline where message_sequence = a_sequence;
  insert into lane_change (connection_id) values (a_connection);
  return true;
end
$$;
