-- `record_fence` of a batch that must come in its turn. One of a connection that was given up may come after those of the next
-- one. Nobody waits for its answer then: what it would have a lane remember is out of date, and who sent what it would accept was told
-- that nobody knows, and has perhaps sent it again. Nor is anything written on a server that nobody has looked at.
create or replace function advance_fence(a_worker text, a_connection_index integer, a_count bigint) returns void language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  perform record_fence(a_worker, a_connection_index, a_count);
  if (select p.count from fence p where p.worker = a_worker and p.connection_index = a_connection_index) > a_count then
    raise exception 'the batch after this one has been written already' using errcode = 'object_not_in_prerequisite_state';
  end if;
  perform require_known_server();
end
$$;
