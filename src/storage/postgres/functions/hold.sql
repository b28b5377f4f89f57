-- The database has gone back, so nothing may be sent until a person has looked (G12). Does nothing when somebody has held the
-- lanes since the caller looked. Returns how often they have been held.
--
-- What processes still know from before must mean nothing now: numbers that were given to lost messages are given to no
-- others, and neither are epochs (see `claim_lanes`).
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
  -- In the order in which others lock them.
  perform from open_attempt order by connection_id for update;
  update open_attempt set possibly_superseded_sequence = message_sequence;
  update checkpoint set holds = greatest(n, holds_remembered) + 1 returning holds into n;
  -- In the same commit: whoever comes next would otherwise find it unknown, and hold them once more.
  perform verify_server(s.id, s.timeline) from this_server() s;
  return n;
end
$$;

-- Moves the mark on, and waits for whoever is at it only a moment, as `renew_lease` does.
create or replace function advance_checkpoint() returns table (installation text, mark bigint, holds integer) language plpgsql as $$
declare
  is_synchronous_now constant boolean := current_setting('synchronous_standby_names') <> '';
begin
  perform begin_durable_write(2000);
  -- Of this commit standbys have all that was committed before.
  update known_server s set is_synchronous = is_synchronous_now where s.is_synchronous <> is_synchronous_now;
  return query update checkpoint r set mark = r.mark + 1 returning r.installation, r.mark, r.holds;
  perform require_known_server();
end
$$;
