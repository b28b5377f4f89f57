-- A change of a lane is notified and not stored.
create or replace function notify_lane_change() returns trigger language plpgsql as $$
begin
  perform pg_notify('nuncio_change', new.connection_id);
  return new;
end
$$;
