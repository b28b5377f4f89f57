-- Why: an account with very many notices must not keep those of others waiting, so they are taken account by account.
-- Locks: the database, for a moment: few of them are new.
-- breaking: no

drop index notice_new;
create index notice_new on notice (account_id, position) where is_new = 1;
