-- Drops a period with all of its rows. Refuses the current period, one with unfinished or kept messages or with files in a
-- spool, and one that ended less than an hour ago, because a transaction that took a number of it may not have committed.
--
-- Readers and writers of these tables wait while partitions are dropped. So row-by-row deletes come first, and the function
-- gives up when it does not get the locks soon: then nothing was dropped, and the caller may retry.
create or replace function drop_period(dropped integer) returns boolean language plpgsql security definer set search_path from current
  set enable_seqscan = off
as $$
declare
  lock_wait constant interval := '300 ms';
  grace_ms constant bigint := 3600000;
  first constant bigint := dropped::bigint << 40;
  past constant bigint := (dropped + 1)::bigint << 40;
  gives_up_at timestamptz;
  parent text;
begin
  perform set_config('lock_timeout', '500', true);
  perform pg_advisory_xact_lock(4, 0);
  if not exists (select from period where number = dropped)
    or not exists (select from period where number > dropped having min(starts_at) <= now_ms() - grace_ms)
    or exists (select from queued where sequence >= first and sequence < past)
    or exists (select from open_attempt where message_sequence >= first and message_sequence < past)
    or exists (select from settled where state = 'UNCONFIRMED' and resolved_at is null and sequence >= first and sequence < past)
    or exists (select from retention_kept where message_sequence >= first and message_sequence < past)
    or exists (select from media where state = 'ready' and message_sequence >= first and message_sequence < past)
  then
    return false;
  end if;
  delete from media where message_sequence >= first and message_sequence < past;
  delete from leftover_file where message_sequence >= first and message_sequence < past;
  -- By age: there may be millions of younger keys, and almost always none as old.
  delete from idempotency where message_sequence >= first and message_sequence < past
    and accepted_at <= (select min(starts_at) from period where number > dropped) + grace_ms;
  delete from period where number = dropped;
  gives_up_at := clock_timestamp() + lock_wait;
  foreach parent in array array['settled', 'ended_attempt', 'accept_commit', 'request', 'timeline'] loop
    -- Never 0, which would mean no limit.
    perform set_config('lock_timeout', greatest(1, extract(epoch from gives_up_at - clock_timestamp()) * 1000)::integer::text, true);
    execute format('lock table only %I, only %I in access exclusive mode', parent, parent || '_p' || dropped);
  end loop;
  foreach parent in array array['settled', 'ended_attempt', 'accept_commit', 'request', 'timeline'] loop
    execute format('drop table %I', parent || '_p' || dropped);
  end loop;
  return true;
end
$$;
