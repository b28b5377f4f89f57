-- A pooler in transaction mode keeps our connections open while it routes them to another server, such as a promoted standby that
-- may lack messages that were sent (G12). No process would notice. So the database stores which server was last verified, and
-- refuses statements by which a message could be sent on any other server until a process has verified that one.

-- The timeline is the first part of the name of the current WAL file. A standby writes no WAL, and must not call this.
create or replace function this_timeline() returns integer language sql volatile as $$
  select ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
$$;

create or replace function this_server(out id text, out timeline integer) language sql volatile as $$
  select system_identifier::text, this_timeline() from pg_control_system()
$$;

-- Must be called after a write: on a standby the write fails first, with a clearer error. Has no planner settings, because
-- applying them takes longer than reading one row with any plan.
create or replace function require_known_server() returns void language plpgsql as $$
begin
  if (select s.timeline from known_server s where s."only" = 1) <> this_timeline() then
    raise exception 'the server is another one than before, and no process has verified it yet' using errcode = 'NU001';
  end if;
end
$$;

-- Does nothing on any server other than the one that was checked.
create or replace function verify_server(an_id text, a_timeline integer) returns void language plpgsql as $$
begin
  perform begin_durable_write(5000);
  insert into known_server ("only", id, timeline)
    select 1, s.id, s.timeline from this_server() s where s.id = an_id and s.timeline = a_timeline
    on conflict ("only") do update set id = excluded.id, timeline = excluded.timeline, is_synchronous = false;
end
$$;
