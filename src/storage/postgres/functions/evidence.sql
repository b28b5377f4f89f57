-- Finishes a message that waits for another attempt, because its network reports that it has the message (G5). False when an
-- attempt is open or the message no longer waits: then the caller evaluates the report again. Locks the row before it reads the
-- open attempt, as cancelling does.
create or replace function settle_found(
  a_sequence bigint, a_state text, a_reason text, state_words text, reported_at bigint,
  a_code text, a_kind text, some_words text, a_network_id text
) returns boolean language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
  a_connection text;
  -- Reports have times in whole seconds, by another clock. So the message ends no earlier than its last attempt.
  left_at constant bigint := greatest(reported_at,
    (select max(e.ended_at) from ended_attempt e where e.message_sequence = a_sequence and e.outcome <> 'rejected'));
begin
  perform begin_durable_write(2000);
  update message set state = a_state, reason = a_reason, words = state_words, published_at = greatest(left_at, accepted_at), settled_at = greatest(left_at, accepted_at),
      network_id = a_network_id, resolved_at = reported_at
    where sequence = a_sequence and state = 'QUEUED' returning connection_id into a_connection;
  if a_connection is null then
    return false;
  end if;
  insert into timeline (message_sequence, position, at, kind, code, words)
    select a_sequence, 1 + coalesce(max(position), 0), reported_at, a_kind, a_code, some_words
      from timeline where message_sequence = a_sequence;
  insert into lane_change (connection_id) values (a_connection);
  return true;
end
$$;
