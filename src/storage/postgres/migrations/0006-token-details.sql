-- Why: the console tells who made a token, replaces one by a successor while both work, and lists them by the page.
-- Locks: the table of tokens, for a moment.
-- breaking: no

-- Null: from before this was kept, and no longer in the audit log.
alter table token add column created_by text;
update token set created_by = made.actor
  from (select object, min(actor) as actor from audit where action = 'token.create' group by object) made
  where made.object = token.id;
-- The token that replaced this one.
alter table token add column successor_id text collate "C";

-- Nothing of it changes while a token is used, so whoever accepts pays nothing for it.
create index token_listed on token (account_id, created_at, id);
create unique index token_successor on token (successor_id) where successor_id is not null;
