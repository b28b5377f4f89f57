-- How often all lanes have been held; null when the lane is at another epoch, or all lanes are held now. `lock`: no worker claims
-- the lane until the end of the transaction.
create or replace function session_holds(a_connection text, an_epoch bigint, lock boolean) returns integer language plpgsql as $$
begin
  if lock then
    perform begin_durable_write(2000);
    perform from lane l where l.connection_id = a_connection for share;
  end if;
  return (select c.holds from checkpoint c
    where exists (select from lane l where l.connection_id = a_connection and l.epoch = an_epoch)
      and not exists (select from hold));
end
$$;

-- Writes all of a change to a session, or nothing: false when its right has ended. A null value removes the key.
create or replace function write_session(
  a_connection text, an_epoch bigint, a_holds integer, a_data_key text, new_credentials bytea, reset_kinds text[],
  kinds text[], ids text[], recipients text[], contents bytea[]
) returns boolean language plpgsql set enable_seqscan = off
as $$
begin
  if session_holds(a_connection, an_epoch, true) is distinct from a_holds then
    return false;
  end if;
  if a_data_key is not null then
    insert into channel_session (connection_id, data_key, credentials, holds)
      values (a_connection, a_data_key, new_credentials, a_holds) on conflict do nothing;
  else
    update channel_session s set credentials = coalesce(new_credentials, s.credentials),
        holds = case when reset_kinds is null then s.holds else a_holds end
      where s.connection_id = a_connection;
  end if;
  if not found then
    return false;
  end if;
  delete from channel_session_key k where k.connection_id = a_connection and k.kind = any (reset_kinds);
  delete from channel_session_key k using unnest(kinds, ids, contents) s (kind, id, content)
    where k.connection_id = a_connection and k.kind = s.kind and k.id = s.id and s.content is null;
  insert into channel_session_key as k (connection_id, kind, id, recipient, value)
    select a_connection, s.kind, s.id, s.recipient, s.content
      from unnest(kinds, ids, recipients, contents) s (kind, id, recipient, content) where s.content is not null
    on conflict (connection_id, kind, id) do update set recipient = excluded.recipient, value = excluded.value;
  -- A server that was never verified may lack what was sent (G12).
  perform require_known_server();
  return true;
end
$$;

create or replace function remove_session(a_connection text, an_epoch bigint, a_holds integer) returns boolean language plpgsql
  set enable_seqscan = off
as $$
declare
  was_there boolean;
begin
  if session_holds(a_connection, an_epoch, true) is distinct from a_holds then
    return false;
  end if;
  -- The session before its keys, as `write_session` locks them.
  delete from channel_session s where s.connection_id = a_connection;
  was_there := found;
  delete from channel_session_key k where k.connection_id = a_connection;
  return was_there;
end
$$;

-- How far a request about a session is. False when it has ended, or the lane is at another epoch. Waits of the lane for these
-- reasons end with it.
create or replace function report_session_request(
  a_connection text, an_epoch bigint, an_id text, a_progress text, a_code text, an_end bigint, at bigint, reasons text[]
) returns boolean language plpgsql set enable_seqscan = off
as $$
begin
  perform begin_durable_write(2000);
  perform from lane l where l.connection_id = a_connection and l.epoch = an_epoch for share;
  if not found then
    return false;
  end if;
  update session_request r set progress = a_progress, code = a_code, ended_at = an_end
    where r.connection_id = a_connection and r.id = an_id and r.ended_at is null;
  if not found then
    return false;
  end if;
  update lane l set wait_until = at
    where l.connection_id = a_connection and l.wait_until > at and l.wait_reason = any (reasons);
  if found then
    insert into lane_change (connection_id) values (a_connection);
  end if;
  return true;
end
$$;

create or replace function write_session_status(
  a_connection text, an_epoch bigint, a_status text, since bigint, a_code integer, refused_until bigint,
  ready_at bigint, a_device text, a_version text
) returns void language plpgsql set enable_seqscan = off
as $$
begin
  perform begin_durable_write(2000);
  perform from lane l where l.connection_id = a_connection and l.epoch = an_epoch for share;
  if not found then
    return;
  end if;
  insert into session_status as s (connection_id, status, since, code, refused_until, ready_at, device, version)
    select a_connection, a_status, write_session_status.since, a_code, write_session_status.refused_until,
        write_session_status.ready_at, a_device, a_version
      from connection c where c.id = a_connection and c.state <> 'removed'
    on conflict (connection_id) do update set status = excluded.status, since = excluded.since, code = excluded.code,
      refused_until = excluded.refused_until, ready_at = coalesce(excluded.ready_at, s.ready_at),
      device = coalesce(excluded.device, s.device), version = coalesce(excluded.version, s.version);
end
$$;
