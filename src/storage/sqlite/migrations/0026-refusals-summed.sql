-- Why: refused requests were kept one by one without an end, so one caller in a loop could fill the disk for all accounts.
-- Locks: the database, for a moment: no row is rewritten.
-- breaking: no

-- How many refused requests the row stands for, and when the first of them came. Null: it is one request.
alter table request add column summed_requests integer;
alter table request add column summed_since integer;
