-- Why: refused requests were kept one by one without an end, so one caller in a loop could fill the disk for all accounts.
-- Locks: what was refused, for a moment: no row is rewritten. Machines that have not been upgraded yet go on as they did, and take a row
-- that stands for many for one request.
-- breaking: no

-- How many refused requests the row stands for, and when the first of them came. Null: it is one request.
alter table request add column summed_requests integer, add column summed_since bigint;

-- include functions/summed-requests.sql
