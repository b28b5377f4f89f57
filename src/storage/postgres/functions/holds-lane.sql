-- Whether a lane is held under this epoch. Called when no attempt could be opened on it.
create or replace function holds_lane(a_connection text, an_epoch bigint) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  return exists (select from lane where connection_id = a_connection and epoch = an_epoch);
end
$$;
