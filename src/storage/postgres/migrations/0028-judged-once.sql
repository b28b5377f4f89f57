-- Why: each batch of acceptances looked up its tokens and connections anew, a sixth of what accepting cost the server, although
-- hardly ever anything about them changes. And whoever opened an attempt looked twice for what comes before its message.
-- Locks: tokens and connections, for a moment. Machines that have not been upgraded yet accept as they did.
-- breaking: no

-- One row: whatever was judged before its mark was changed must be judged again.
create table rights (
  "only" integer primary key check ("only" = 1),
  mark text collate "C" not null
) with (fillfactor = 20);
insert into rights ("only", mark) values (1, gen_random_uuid()::text);

-- include functions/rights.sql
-- At the end of the transaction, when it has all the locks that it takes: two that change several things could otherwise wait
-- for each other. The same columns as those of the triggers that lock. Additions too: a database that has gone back to before
-- one would otherwise have the mark by which what it no longer has was judged.
create constraint trigger mark
  after insert or delete or update of deleted_at, expires_at, events, connection_ids, source_ranges, account_id
  on token deferrable initially deferred for each row execute function mark_rights();
create constraint trigger mark after insert or delete or update of state, number, account_id, channel
  on connection deferrable initially deferred for each row execute function mark_rights();
-- Also for a session in which others do not fire: what is written by replication counts as well.
alter table token enable always trigger mark;
alter table connection enable always trigger mark;

-- include functions/accept-requests.sql
-- include functions/accept-batch.sql
-- include functions/write-steps.sql
