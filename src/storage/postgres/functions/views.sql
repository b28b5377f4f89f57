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

-- What waits is taken out only while it is not being handed over: the row is locked first and the open attempt looked
-- for after, as opening an attempt does it (G4). Zero rows tell the caller that it came too late.
create function update_message() returns trigger language plpgsql as $$
begin
  if old.state <> 'QUEUED' then
    -- Not over what a receipt has made of it since it was read.
    update settled set state = new.state, reason = new.reason, words = new.words, published_at = new.published_at,
        resent_as = new.resent_as, resolved_at = new.resolved_at
      where account_id = old.account_id and sequence = old.sequence and state = old.state
        and resent_as is not distinct from old.resent_as and resolved_at is not distinct from old.resolved_at;
    return case when found then new end;
  end if;
  perform from queued where account_id = old.account_id and sequence = old.sequence for update;
  if not found then
    return null;
  end if;
  perform from open_attempt where connection_id = old.connection_id and message_sequence = old.sequence;
  if found then
    return null;
  end if;
  if new.state = 'QUEUED' then
    update queued set attempts = new.attempts where account_id = old.account_id and sequence = old.sequence;
    return new;
  end if;
  delete from queued where account_id = old.account_id and sequence = old.sequence;
  insert into settled (sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, published_at, settled_at, network_id, remote_address, user_agent, took_us,
      resend_of, resent_as, resolved_at)
    values (old.sequence, old.id, old.account_id, old.connection_id, old.token_id, old.request_id, old.body, old.body_crc,
      old.recipient, old.type, new.state, new.reason, new.words, old.attempts, old.accepted_at, new.published_at,
      coalesce(new.settled_at, now_ms()), new.network_id, old.remote_address, old.user_agent, old.took_us, old.resend_of,
      new.resent_as, new.resolved_at);
  return new;
end
$$;
create trigger update_message instead of update on message for each row execute function update_message();
