-- The time in milliseconds that all processes on this database use. Tests replace this function.
create or replace function now_ms() returns bigint language sql volatile as $$
  select floor(extract(epoch from clock_timestamp()) * 1000)::bigint
$$;
