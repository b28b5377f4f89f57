-- Why: where several processes serve one database, people want to know which of them does what. Tells it of each worker.
-- Locks: the table of workers, for a moment; it has a handful of rows.
-- breaking: no

alter table worker add column host text;
alter table worker add column pid integer;
-- Separated by commas, such as `api,dispatch`. Null: of a version that knew no roles, so that every worker dispatched.
alter table worker add column roles text;
alter table worker add column version text;
alter table worker add column started_at integer;

-- While there is a row here no attempt is opened, until a person releases the lanes (G12).
create table hold (
  only integer primary key check (only = 1),
  since integer not null,
  reason text not null
) strict;

-- Counts on for as long as the database lives. What is older than what a process remembers has gone back (G12).
create table remembrance (
  only integer primary key check (only = 1),
  installation text not null,
  mark integer not null,
  -- How often all lanes have been held.
  holds integer not null default 0
) strict;
insert into remembrance (only, installation, mark) values (1, lower(hex(randomblob(16))), 1);
