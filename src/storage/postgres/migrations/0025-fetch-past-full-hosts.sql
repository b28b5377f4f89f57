-- Why: an account whose oldest attachments all lie at one slow host had nothing fetched ahead from any other: only these were
-- looked at. What lies at hosts without room is left out now, and where the rest is little, looks go on further back.
-- Locks: nothing. Machines that have not been upgraded yet go on as they did.
-- breaking: no

-- include functions/media.sql

-- For machines that have not been upgraded yet.
create or replace function due_media(a_worker text, an_account text, now bigint, longest_wait_ms bigint, busy bigint[], most integer)
  returns setof wanted_media language sql
as $$
  select * from find_due_media(a_worker, an_account, now, longest_wait_ms, busy, most, '{}')
$$;
