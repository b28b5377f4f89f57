create or replace function next_request_sequence() returns bigint language sql volatile as $$
  select (number::bigint << 40) + nextval('request_number') - request_base from period order by number desc limit 1
$$;

-- The first sequence of a block of 1,024. The caller must hold the lane's lock.
create or replace function next_block() returns bigint language sql volatile as $$
  select (number::bigint << 40) + (nextval('message_block') - block_base) * 1024 from period order by number desc limit 1
$$;
