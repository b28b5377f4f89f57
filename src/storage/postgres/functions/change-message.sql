-- A queued message is changed only while no attempt of it is open. Locks the row first and reads the open attempt afterwards, in
-- the same order as opening an attempt (G4). Zero rows mean that the caller came too late.
create or replace function update_message() returns trigger language plpgsql as $$
declare
  is_changed boolean;
begin
  if old.state <> 'QUEUED' then
    -- Must not overwrite the result of a receipt that came since the message was read.
    update settled set state = new.state, reason = new.reason, words = new.words, published_at = new.published_at,
        resent_as = new.resent_as, resolved_at = new.resolved_at
      where account_id = old.account_id and sequence = old.sequence and state = old.state
        and resent_as is not distinct from old.resent_as and resolved_at is not distinct from old.resolved_at;
    is_changed := found;
    if is_changed and new.state <> old.state and exists (select from notice_want where account_id = old.account_id) then
      perform announce_messages(array[old.sequence]);
    end if;
    return case when is_changed then new end;
  end if;
  -- By every indexed column: see `write_steps`.
  perform from queued where account_id = old.account_id and sequence = old.sequence and connection_id = old.connection_id for update;
  if not found then
    return null;
  end if;
  perform from open_attempt where connection_id = old.connection_id and message_sequence = old.sequence;
  if found then
    return null;
  end if;
  if new.state = 'QUEUED' then
    -- Not over what its worker has written since the message was read.
    update queued set attempts = new.attempts, retry = new.retry
      where account_id = old.account_id and sequence = old.sequence and connection_id = old.connection_id
        and attempts = old.attempts and retry is not distinct from old.retry;
    return case when found then new end;
  end if;
  delete from queued where account_id = old.account_id and sequence = old.sequence and connection_id = old.connection_id;
  insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us,
      resend_of, resent_as, resolved_at)
    values (old.sequence, old.id, old.account_id, old.connection_id, old.token_id, old.request_id, old.body, old.body_crc,
      old.recipient, old.type, new.state, new.reason, new.words, old.attempts, old.accepted_at, new.published_at,
      coalesce(new.settled_at, now_ms()), new.network_id, old.remote_address, old.user_agent, old.took_us, old.resend_of,
      new.resent_as, new.resolved_at);
  if exists (select from notice_want where account_id = old.account_id) then
    perform announce_messages(array[old.sequence]);
  end if;
  return new;
end
$$;
