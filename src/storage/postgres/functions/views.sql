-- One name for what administration reads, whether or not it has ended.
create view message as
  select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, 'QUEUED'::text as state,
      null::text as reason, null::text as words, attempts, accepted_at, null::bigint as published_at, null::bigint as settled_at,
      null::text as network_id, remote_address, user_agent, took_us, resend_of, null::bigint as resent_as, null::bigint as resolved_at
    from queued
  union all
  select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, published_at, settled_at,
      network_id, remote_address, user_agent, took_us, resend_of, resent_as, resolved_at
    from settled;

create view attempt as
  select message_sequence, number, started_at, ended_at, outcome, code, words from ended_attempt
  union all
  select sequence, attempts, attempt_started_at, settled_at, 'accepted'::text, null::text, null::text
    from settled where attempt_started_at is not null;

create view waiting as
  select connection_id, sequence, id, account_id, type, recipient, attempts, accepted_at from queued;

-- Here every message has its entry in its lane at once, so all of them lie up to the mark.
create view lane_entry as select connection_id, sequence from queued;
create rule lane_entry_goes_with_its_message as on delete to lane_entry do instead nothing;
create view lane_mark as select 1 as only, 9007199254740991::bigint as entered_through;

-- A change of a lane is told, not kept.
create view lane_change as select null::bigint as position, null::text as connection_id where false;
create function tell_lane_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('nuncio_change', new.connection_id);
  return new;
end
$$;
create trigger tell instead of insert on lane_change for each row execute function tell_lane_change();

-- A copy of a message goes to the end of its line.
create function insert_message() returns trigger language plpgsql as $$
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
create trigger insert_message instead of insert on message for each row execute function insert_message();
