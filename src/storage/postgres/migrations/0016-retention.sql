-- Why: what is old is deleted by itself, and what was deleted says so.
-- Locks: what has ended and what was refused, for a moment: no row is rewritten.
-- breaking: no

-- When its text, caption, URL and file name went. What is left of the body is an empty text.
alter table settled add column body_deleted_at bigint;
alter table request add column body_deleted_at bigint;

-- Days after which an account wants its own to go, where that is sooner than the installation says.
create table account_retention (
  account_id text collate "C" primary key references account (id),
  bodies_days integer,
  messages_days integer
);

-- How far each walk has come in the order of acceptance: of one account, or of all under the account ''.
create table retention_mark (
  account_id text collate "C" not null,
  what text collate "C" not null,
  position bigint not null,
  primary key (account_id, what)
);

-- Messages that a walk has passed and left as they were, because they were not finished. They are looked at again.
create table retention_kept (
  account_id text collate "C" not null,
  message_sequence bigint not null,
  what text collate "C" not null,
  primary key (account_id, message_sequence, what)
);
create index retention_kept_sequence on retention_kept (message_sequence);

create table retention_state (
  "only" integer primary key check ("only" = 1),
  -- Nothing is deleted before, and why not.
  begins_at bigint not null,
  waits_for text,
  -- Who sweeps, and until when nobody else does.
  swept_by text,
  swept_until bigint not null default 0,
  -- Of the last sweep that came to its end. `counts` is JSON.
  begun_at bigint,
  ended_at bigint,
  took_ms bigint,
  counts text
);

-- An installation that is in use is told a day before anything of it goes.
insert into retention_state ("only", begins_at, waits_for)
  select 1, case when found then now_ms() + 86400000 else 0 end, case when found then 'upgrade' end
    from (select exists (select from account) as found) f;

-- include functions/message-view.sql
drop function if exists drop_period(integer);
-- include functions/drop-period.sql
