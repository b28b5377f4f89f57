-- Stores counts of refused requests that have no row of their own. A caller with an unknown result retries, and existing ids are
-- skipped. PostgreSQL releases the lock only when the commit is visible, so a retry sees a first try that still waits for the
-- disk or for a standby.
create or replace function log_summed_requests(
  lock_ms integer, account_ids text[], token_ids text[], request_ids text[], since bigint[], until bigint[], statuses integer[],
  codes text[], faults text[], counts integer[]
) returns void language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
  perform begin_durable_write(lock_ms);
  perform pg_advisory_xact_lock(8, 0);
  insert into request (account_id, token_id, request_id, received_at, took_us, status, code, errors, summed_requests, summed_since)
    select s.account_id, s.token_id, s.request_id, s.until, 0, s.status, s.code, s.faults, s.requests, s.since
      from unnest(account_ids, token_ids, request_ids, since, until, statuses, codes, faults, counts)
        s (account_id, token_id, request_id, since, until, status, code, faults, requests)
      where not exists (select from request r where r.account_id = s.account_id and r.request_id = s.request_id);
end
$$;
