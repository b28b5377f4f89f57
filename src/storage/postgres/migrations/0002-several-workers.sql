-- Why: several processes share the lanes, people want to know who holds what, and nobody may send again what a database
-- that has gone back knows nothing of.
-- Locks: the table of workers, for a moment.
-- breaking: no

alter table worker add column host text;
alter table worker add column pid integer;
-- Separated by commas, such as `api,dispatch`.
alter table worker add column roles text;
alter table worker add column version text;
alter table worker add column started_at bigint;
-- Which spool the files lie in that this process fetched.
alter table worker add column spool text;

-- Who fetches it now, and in which spool its file lies.
alter table media add column fetcher text collate "C";
alter table media add column spool text collate "C";
create index media_of_lane on media (account_id, connection_id, message_sequence) where state = 'pending';
-- By spool now: without that a page of its files was sought among those of all.
drop index media_spool;
create index media_spool on media (spool, message_sequence) where state = 'ready';
create index media_in_spool on media (spool, account_id) include (size_bytes) where state = 'ready';

-- Files that lie in a spool whose workers no longer hold the lane: they go when their message is settled.
create table stray_file (
  spool text collate "C" not null,
  message_sequence bigint not null,
  account_id text collate "C" not null,
  path text not null,
  size_bytes bigint,
  sha256 text,
  mime text,
  primary key (spool, message_sequence)
);

-- While there is a row here no attempt is opened, until a person releases the lanes (G12).
create table hold (
  "only" integer primary key check ("only" = 1),
  since bigint not null,
  reason text not null
);

-- Counts on for as long as the database lives. What is older than what a process remembers has gone back (G12).
create table remembrance (
  "only" integer primary key check ("only" = 1),
  installation text not null,
  mark bigint not null,
  -- How often all lanes have been held.
  holds integer not null default 0
);
insert into remembrance ("only", installation, mark) values (1, gen_random_uuid()::text, 1);

-- include functions/hold.sql
-- include functions/wanted-media.sql
-- include functions/media.sql
