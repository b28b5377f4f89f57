-- Accepting takes these locks, then checks permissions, and holds the locks until its commit. Revoking takes them too. So
-- no message is accepted after the revocation has committed (G7), and sequences of a lane commit in order (G3). There are 1,024
-- buckets, because a batch with a thousand separate locks could exhaust the lock table. So a held lock also blocks the lanes that
-- share its bucket: one in 1,024.
create or replace function lane_bucket(account_id text, number text) returns integer language sql immutable as $$
  select hashtext(account_id || '/' || number) & 1023
$$;
create or replace function token_bucket(token_id text) returns integer language sql immutable as $$
  select hashtext(token_id) & 1023
$$;

create or replace function lock_lane_of(a_connection text) returns void language sql volatile as $$
  select pg_advisory_xact_lock(2, lane_bucket(account_id, number)) from connection where id = a_connection
$$;

create or replace function guard_token() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(1, token_bucket(old.id));
  -- An empty notification makes processes drop their cached tokens. It names no connection.
  perform pg_notify('nuncio_change', '');
  return case when tg_op = 'DELETE' then old else new end;
end
$$;

create or replace function guard_connection() returns trigger language plpgsql as $$
begin
  perform pg_advisory_xact_lock(2, lane_bucket(old.account_id, old.number));
  return case when tg_op = 'DELETE' then old else new end;
end
$$;
