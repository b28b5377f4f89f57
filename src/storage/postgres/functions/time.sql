-- The time that all processes on this database agree on, in milliseconds. Tests put another function in its place.
create or replace function now_ms() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;
