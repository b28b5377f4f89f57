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
begin
  if session_holds(a_connection, an_epoch, true) is distinct from a_holds then
    return false;
  end if;
  delete from channel_session_key k where k.connection_id = a_connection;
  delete from channel_session s where s.connection_id = a_connection;
  return found;
end
$$;
