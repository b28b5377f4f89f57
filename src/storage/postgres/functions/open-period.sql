-- Opens the period of a new day with its partitions, in one transaction. Until then messages go into the previous period. Days
-- follow the clock of the database, but period numbers only grow, because within a lane sequences are in order of acceptance (G3).
--
-- A clock that was ahead for a while may have opened periods that start in the future. Until then no new period would begin
-- and the one before them would not end, so nothing of it would be deleted. Such periods begin now instead. They are recognised
-- by a gap: a clock that is behind also makes valid periods start in the future, but those follow each other day by day.
--
-- Partitions are created first and attached afterwards, because that does not block readers and writers.
create or replace function open_period() returns void language plpgsql security definer set search_path from current as $$
declare
  a_day constant bigint := 86400000;
  last_come integer;
  latest record;
  next integer;
  parent text;
begin
  perform set_config('lock_timeout', '2000', true);
  perform pg_advisory_xact_lock(4, 0);
  select max(number) into last_come from period where starts_at <= now_ms();
  update period set starts_at = now_ms() where number > last_come
    and (select starts_at from period where number = last_come + 1) > now_ms() + 2 * a_day;
  select number, starts_at, block_base into latest from period order by number desc limit 1;
  if latest.number is not null and latest.starts_at / a_day >= now_ms() / a_day
    and (select last_value from message_block) - latest.block_base < (1::bigint << 28) then
    return;
  end if;
  -- The first call also makes period 0, for rows that are copied from another database.
  for next in coalesce(latest.number, -1) + 1 .. coalesce(latest.number + 1, 1) loop
    foreach parent in array array['settled', 'ended_attempt', 'accept_commit', 'request', 'timeline'] loop
      execute format('create table %I (like %I including all)', parent || '_p' || next, parent);
      execute format('alter table %I attach partition %I for values from (%s) to (%s)',
        parent, parent || '_p' || next, next::bigint << 40, (next + 1)::bigint << 40);
    end loop;
    insert into period (number, starts_at, block_base, request_base)
      values (next, now_ms(), (select last_value from message_block), (select last_value from request_number));
  end loop;
end
$$;
