-- The database has gone back, so nothing may be sent until a person has checked it (G12). Does nothing when the lanes were
-- held since the caller read `holds`. Returns how often they have been held.
--
-- Sequence numbers and epochs of lost rows must never be assigned again, because processes may still hold them in memory. So this
-- skips sequence numbers, and `claim_lanes` skips epochs.
create or replace function hold_lanes(a_reason text, holds_seen integer, holds_remembered integer) returns integer
  language plpgsql security definer set search_path from current
as $$
declare
  past_lost_blocks constant integer := 1 << 20;
  n integer;
begin
  perform begin_durable_write(5000);
  select holds into n from checkpoint for update;
  if n > holds_seen then
    return n;
  end if;
  insert into hold ("only", since, reason) values (1, now_ms(), a_reason) on conflict do nothing;
  perform setval('message_block', nextval('message_block') + past_lost_blocks);
  -- In the order in which every other function locks them.
  perform from open_attempt order by connection_id for update;
  update open_attempt set possibly_superseded_sequence = message_sequence;
  update checkpoint set holds = greatest(n, holds_remembered) + 1 returning holds into n;
  -- In the same commit: the next process would otherwise find an unknown server, and hold the lanes again.
  perform verify_server(s.id, s.timeline) from this_server() s;
  return n;
end
$$;

-- Advances the checkpoint. Waits at most 2 s for the row lock, as `renew_lease` does.
create or replace function advance_checkpoint() returns table (installation text, mark bigint, holds integer) language plpgsql as $$
declare
  is_synchronous_now constant boolean := current_setting('synchronous_standby_names') <> '';
begin
  perform begin_durable_write(2000);
  -- Before the server, as in `hold_lanes`.
  return query update checkpoint r set mark = r.mark + 1 returning r.installation, r.mark, r.holds;
  -- A standby that has this commit has all earlier ones.
  update known_server s set is_synchronous = is_synchronous_now where s.is_synchronous <> is_synchronous_now;
  perform require_known_server();
end
$$;
