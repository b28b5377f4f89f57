-- A pooler in transaction mode keeps connections to us open while it leads them to another server, and then nobody who had looked at the
-- old one looks at the new one: a standby that was promoted, and perhaps lacks what was sent (G12). So the database itself knows by which
-- server it was last looked at, and what a message could be sent by is refused on any other until somebody has looked.

-- The number of the timeline is the beginning of the name of the log's file. A standby writes none, and must not ask.
create or replace function this_timeline() returns integer language sql volatile as $$
  select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
$$;

create or replace function this_server(out id text, out timeline integer) language sql volatile as $$
  select system_identifier::text, this_timeline() from pg_control_system()
$$;

-- To be called after something was written: on a standby that fails, and says more clearly what is wrong. Without settings of its own,
-- which take longer than the look: one row is found quickly however it is looked for.
create or replace function require_known_server() returns void language plpgsql as $$
begin
  if (select s.timeline from known_server s where s."only" = 1) <> this_timeline() then
    raise exception 'the server is another one than before, and nobody has looked at it yet' using errcode = 'NU001';
  end if;
end
$$;

-- Does nothing on any other server than the one that was looked at.
create or replace function verify_server(an_id text, a_timeline integer) returns void language plpgsql as $$
begin
  perform begin_durable_write(5000);
  insert into known_server ("only", id, timeline)
    select 1, s.id, s.timeline from this_server() s where s.id = an_id and s.timeline = a_timeline
    on conflict ("only") do update set id = excluded.id, timeline = excluded.timeline, is_synchronous = false;
end
$$;
