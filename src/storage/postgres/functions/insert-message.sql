-- A message that is sent again goes to the end of its lane.
create or replace function insert_message() returns trigger language plpgsql as $$
begin
  perform lock_lane_of(new.connection_id);
  new.sequence := next_block();
  insert into queued (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, attempts,
      accepted_at, remote_address, user_agent, took_us, resend_of)
    values (new.sequence, new.id, new.account_id, new.connection_id, new.token_id, new.request_id, new.body, new.body_crc,
      new.recipient, new.type, coalesce(new.attempts, 0), new.accepted_at, new.remote_address, new.user_agent, new.took_us, new.resend_of);
  return new;
end
$$;
