create or replace function next_request_sequence() returns bigint language sql volatile as $$
  select (number::bigint << 40) + nextval('request_number') - request_base from period order by number desc limit 1
$$;

-- The first of a block of 1,024 sequences. To be called while the lane's lock is held.
create or replace function next_block() returns bigint language sql volatile as $$
  select (number::bigint << 40) + (nextval('message_block') - block_base) * 1024 from period order by number desc limit 1
$$;
