-- `record_fence` for a batch whose order matters. Rejects a batch of an abandoned connection that arrives after a batch of its
-- successor: its callers already got `commit_unknown` and may have retried, and its lane state is stale. Also rejects writes on
-- a server that no process has verified.
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
