-- Why: the console shows the API log of one account, and what went wrong in it, page by page.
-- Locks: what has ended and what was refused, while the indexes are built: some seconds for each million rows.
-- breaking: no

-- The rows of an account are found by the primary keys. What went wrong is looked for among millions that did not, which
-- pay nothing for this.
create index settled_unsent_of_account on settled (account_id, sequence)
  where state in ('FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED');

-- No acceptance writes to this table.
create index request_repeats on request (account_id, sequence) where message_id is not null;
create index request_id on request (account_id, request_id);
