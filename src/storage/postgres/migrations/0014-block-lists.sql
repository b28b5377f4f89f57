-- Why: who asked to stop is not written to, so each account keeps a list of those numbers.
-- Locks: nothing that is used.
-- breaking: no

-- One row for each account that has ever blocked anybody.
create table block_list (
  account_id text collate "C" primary key references account (id),
  -- Grows with every change of any list, so that whoever has read them up to one need read no more than came after.
  version bigint not null unique,
  -- How often entries were taken out: who has read the list before such a time must read all of it anew.
  removals bigint not null default 0,
  entries bigint not null default 0,
  -- Sealed. What makes the hash of a number that was erased; null until one was.
  hash_key text
);

create table blocked_recipient (
  account_id text collate "C" not null references account (id),
  -- The number; of a person who was erased, `h:` and a keyed hash of it.
  recipient text collate "C" not null,
  -- As whoever blocked it wrote it.
  reason text,
  since bigint not null,
  blocked_by text not null,
  -- Of the list, when it was blocked.
  version bigint not null,
  primary key (account_id, recipient)
);
create index blocked_recipient_version on blocked_recipient (account_id, version);
