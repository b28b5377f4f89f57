-- An attachment that is still to be fetched, as a worker wants it.
create type wanted_media as (
  sequence bigint, message_id text, account_id text, connection_id text, url text, type text, tries integer, next_try_at bigint,
  is_lane_held boolean
);
