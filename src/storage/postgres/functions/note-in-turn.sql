-- `note_progress` of a batch that must come in its turn. One of a connection that was given up may come after those of the next
-- one. Nobody waits for its answer then: what it would have a lane remember is out of date, and who sent what it would accept was told
-- that nobody knows, and has perhaps sent it again. Nor is anything written on a server that nobody has looked at.
create or replace function note_in_turn(a_worker text, a_slot integer, a_count bigint) returns void language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
  perform note_progress(a_worker, a_slot, a_count);
  if (select p.count from progress p where p.worker = a_worker and p.slot = a_slot) > a_count then
    raise exception 'the batch after this one has been written already' using errcode = 'object_not_in_prerequisite_state';
  end if;
  perform require_known_server();
end
$$;
