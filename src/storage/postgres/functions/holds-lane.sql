-- Whether a lane is held under this epoch, asked where nothing could be opened on it. A lane that was claimed by a process of an
-- older version has no row for its attempts, or, if it was claimed while the rows were made, one with the epoch before: it gets
-- one of its own, so that the next step can open.
create or replace function holds_lane(a_connection text, an_epoch bigint) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  if not exists (select from lane_attempt where connection_id = a_connection and epoch >= an_epoch) then
    -- Whoever is taking the lane right now makes the row by itself.
    insert into lane_attempt as o (connection_id, account_id, epoch)
      select l.connection_id, l.account_id, l.epoch
        from (select * from lane where lane.connection_id = a_connection and lane.epoch = an_epoch for no key update skip locked) l
      on conflict (connection_id) do update set epoch = excluded.epoch where o.epoch < excluded.epoch;
  end if;
  return exists (select from lane where connection_id = a_connection and epoch = an_epoch);
end
$$;
