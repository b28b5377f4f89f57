-- Why: what is old is deleted by itself, and what was deleted says so.
-- Locks: the database, for a moment: no row is rewritten.
-- breaking: no

-- When its text, caption, URL and file name went. What is left of the body is an empty text.
alter table message add column body_deleted_at integer;
alter table request add column body_deleted_at integer;

-- Days after which an account wants its own to go, where that is sooner than the installation says.
create table account_retention (
  account_id text primary key references account (id),
  bodies_days integer,
  messages_days integer
) strict, without rowid;

-- How far each walk has come in the order of acceptance: of one account, or of all under the account ''.
create table retention_mark (
  account_id text not null,
  what text not null,
  position integer not null,
  primary key (account_id, what)
) strict, without rowid;

-- Messages that a walk has passed and left as they were, because they were not finished. They are looked at again.
create table retention_kept (
  account_id text not null,
  message_sequence integer not null,
  what text not null,
  primary key (account_id, message_sequence, what)
) strict, without rowid;

create table retention_state (
  only integer primary key check (only = 1),
  -- Nothing is deleted before, and why not.
  begins_at integer not null,
  waits_for text,
  -- Who sweeps, and until when nobody else does.
  swept_by text,
  swept_until integer not null default 0,
  -- Of the last sweep that came to its end. `counts` is JSON.
  begun_at integer,
  ended_at integer,
  took_ms integer,
  counts text
) strict;

-- An installation that is in use is told a day before anything of it goes.
insert into retention_state (only, begins_at, waits_for)
  select 1, iif(found, unixepoch() * 1000 + 86400000, 0), iif(found, 'upgrade', null)
    from (select exists (select 1 from account) as found);
