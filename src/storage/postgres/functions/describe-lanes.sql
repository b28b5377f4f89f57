-- The state of lanes that a worker has claimed, with their open attempts.
create or replace function describe_lanes(a_connections text[], an_epochs bigint[]) returns setof claimed_lane language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return query
  select c.id, c.account_id, c.number, c.channel, c.channel_settings, c.policy, l.epoch,
      c.state, exists (select from hold where "only" = 1),
      (select r.id from session_request r where r.connection_id = s.connection_id and r.ended_at is null),
      l.failure_streak, l.wait_reason, l.wait_words, l.wait_until, l.last_attempt_at,
      o.number, o.started_at, o.crashes, o.evidence_until,
      o.possibly_superseded_sequence is not distinct from o.message_sequence,
      q.sequence, q.id, q.recipient, q.type, q.body, q.body_crc, q.attempts, q.accepted_at, q.retry,
      case when q.type <> 'message' then (select describe_media(m) from media m where m.account_id = q.account_id and m.message_sequence = q.sequence) end
    from unnest(a_connections, an_epochs) s (connection_id, epoch)
    cross join lateral (select * from lane where lane.connection_id = s.connection_id and lane.epoch = s.epoch offset 0) l
    cross join lateral (select * from connection where connection.id = s.connection_id offset 0) c
    left join lateral (select * from open_attempt where open_attempt.connection_id = s.connection_id offset 0) o on true
    left join lateral (
      -- By every indexed column: see `write_steps`.
      select * from queued where queued.account_id = o.account_id and queued.sequence = o.message_sequence
        and queued.connection_id = o.connection_id offset 0
    ) q on true;
end
$$;
