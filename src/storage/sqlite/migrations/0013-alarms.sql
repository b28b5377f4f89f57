-- Why: the watchdog keeps what it found, so that a restart raises nothing anew and people can see what was.
-- Locks: token, while its index is made: a moment.
-- breaking: no

create table alarm (
  id integer primary key autoincrement,
  -- Null: it is the whole installation's.
  account_id text,
  kind text not null,
  -- The id of what it is about.
  object text not null,
  severity text not null,
  -- JSON: what its sentence is made of.
  facts text not null,
  since integer not null,
  raised_at integer not null,
  changed_at integer not null,
  cleared_at integer,
  -- Whether it has been announced as it stands now.
  is_told integer not null
) strict;
create unique index alarm_open on alarm (kind, object) where cleared_at is null;
create index alarm_of_account on alarm (account_id, id);
create index alarm_untold on alarm (id) where is_told = 0;
create index alarm_cleared on alarm (cleared_at) where cleared_at is not null;

-- The few that end soon are looked for every quarter of a minute.
create index token_end on token (expires_at) where deleted_at is null;
