-- The day that has begun gets its period and its partitions, in one transaction: until then messages go on falling into
-- the period before. Days follow the clock of the database, but periods never go back, whatever that clock does: within
-- a lane the order of sequences is the order of acceptance (G3).
--
-- A clock that was ahead for a while has opened periods of days to come: until those have come no other would begin, and
-- the one before them would not end, so that nothing of it is deleted. They begin now instead. By that they are told from
-- days that were right, and look ahead of a clock that is behind: days follow upon each other without a gap.
--
-- Made aside and attached, because that does not stop anybody who reads or writes meanwhile.
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
  -- The first time also the period of what is copied from elsewhere.
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
