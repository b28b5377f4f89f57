-- Why: who asked to stop is not written to, so each account keeps a list of those numbers.
-- Locks: the database, for a moment.
-- breaking: no

-- One row for each account that has ever blocked anybody.
create table block_list (
  account_id text primary key references account (id),
  -- Grows with every change of any list, so that whoever has read them up to one need read no more than came after.
  version integer not null unique,
  -- How often entries were taken out: who has read the list before such a time must read all of it anew.
  removals integer not null default 0,
  entries integer not null default 0,
  -- Sealed. What makes the hash of a number that was erased; null until one was.
  hash_key text
) strict, without rowid;

create table blocked_recipient (
  account_id text not null references account (id),
  -- The number; of a person who was erased, `h:` and a keyed hash of it.
  recipient text not null,
  -- As whoever blocked it wrote it.
  reason text,
  since integer not null,
  blocked_by text not null,
  -- Of the list, when it was blocked.
  version integer not null,
  primary key (account_id, recipient)
) strict, without rowid;
create index blocked_recipient_version on blocked_recipient (account_id, version);
