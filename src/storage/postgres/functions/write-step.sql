-- `write_steps` for one step that settles a message which needs nothing beside, opens the next one, or both. Most steps are
-- of this kind, and where a single lane is busy they come one by one: then this is what its speed depends on. So
-- `begin_durable_write` and `advance_fence` are written out here, notices are asked for with the last write, and nothing is made ready that
-- is not needed: of the 240 µs that the server needed beside the flush, that saves 50.
create or replace function write_step(
  a_worker text, a_connection_index integer, a_count bigint, lock_ms integer,
  a_connection text, an_account text, an_epoch bigint, an_at bigint,
  -- Null when nothing ends.
  close_sequence bigint, close_number integer, begun_at bigint, an_end bigint, a_network_id text, a_state text, a_reason text, some_words text,
  -- Null when nothing opens.
  open_sequence bigint, open_number integer, alone boolean
) returns text language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
declare
  may_open boolean := false;
  is_noticed boolean;
  noted bigint;
  is_elsewhere boolean;
  ignored text;
  gone queued%rowtype;
  now constant bigint := now_ms();
begin
  -- See `begin_durable_write`.
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the isolation of transactions must be read committed' using errcode = 'invalid_transaction_state';
  end if;
  ignored := set_config('lock_timeout', lock_ms::text, true);
  if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
    ignored := set_config('synchronous_commit', 'on', true);
  end if;
  -- See `advance_fence`, and `require_known_server`, which says what is wrong.
  update fence set count = greatest(count, a_count), at = now where worker = a_worker and connection_index = a_connection_index
    returning count, (select s.timeline from known_server s where s."only" = 1) <> this_timeline() into noted, is_elsewhere;
  if noted is null then
    insert into fence (worker, connection_index, count, at) values (a_worker, a_connection_index, a_count, now);
  elsif noted > a_count then
    raise exception 'the batch after this one has been written already' using errcode = 'object_not_in_prerequisite_state';
  end if;
  -- Null where nothing was noted yet.
  if is_elsewhere is distinct from false then
    perform require_known_server();
  end if;
  if open_sequence is not null then
    perform from queued where account_id = an_account and sequence = open_sequence and connection_id = a_connection and attempts = open_number - 1
      for no key update;
    if found then
      may_open := (select c.state = 'active' from connection c where c.id = a_connection) and not exists (select from hold where "only" = 1);
      if may_open and alone then
        may_open := not exists (
          select from (
            select * from queued where (connection_id, sequence) >= (a_connection, 0) and connection_id <= a_connection
              order by connection_id, sequence limit 2
          ) b where b.sequence < open_sequence and b.sequence is distinct from close_sequence
        );
      end if;
    end if;
  end if;
  if close_sequence is null then
    if may_open then
      update lane_attempt set message_sequence = open_sequence, number = open_number, started_at = an_at
        where connection_id = a_connection and epoch = an_epoch
          and (message_sequence is null or (message_sequence = open_sequence and number = open_number));
      if found then
        return 'o';
      end if;
    end if;
    return case when holds_lane(a_connection, an_epoch) then 'n' else 'f' end;
  end if;
  if may_open then
    update lane_attempt set message_sequence = open_sequence, number = open_number, started_at = an_at, crashes = 0, evidence_until = null, words = null
      where connection_id = a_connection and epoch = an_epoch and message_sequence = close_sequence and number = close_number;
  else
    update lane_attempt set message_sequence = null, number = null, started_at = null, crashes = 0, evidence_until = null, words = null, possibly_superseded_sequence = null
      where connection_id = a_connection and epoch = an_epoch and message_sequence = close_sequence and number = close_number;
  end if;
  if not found then
    return 'f';
  end if;
  delete from queued where account_id = an_account and sequence = close_sequence and connection_id = a_connection returning * into gone;
  if found then
    insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
        reason, words, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us,
        resend_of, attempt_started_at)
      values (gone.sequence, gone.id, gone.account_id, gone.connection_id, gone.token_id, gone.request_id, gone.body, gone.body_crc, gone.recipient, gone.type, a_state,
          a_reason, some_words, close_number, gone.accepted_at, case when a_state = 'PUBLISHED' then least(an_end, now) end, least(an_end, now),
          a_network_id, gone.remote_address, gone.user_agent, gone.took_us, gone.resend_of, least(begun_at, now))
      returning exists (select from notice_want where account_id = an_account) into is_noticed;
  end if;
  if is_noticed then
    perform announce_messages(array[close_sequence]);
  end if;
  return case when may_open then 'o' else 'n' end;
end
$$;
