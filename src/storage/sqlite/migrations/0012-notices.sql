-- Why: an account is told what becomes of its messages, connections and tokens, through webhooks of its own.
-- Locks: the database, for a moment.
-- breaking: no

-- An address of an account to which notices are posted.
create table webhook (
  id text not null,
  account_id text not null,
  url text not null,
  description text not null,
  -- A JSON list of notice kinds.
  kinds text not null,
  -- `enabled`, `disabled` by a person, `failing`: disabled by itself, `removed`: its rows are swept.
  state text not null,
  state_reason text,
  -- Sealed. The older one signs too until its time ends.
  secret text not null,
  old_secret text,
  old_secret_until integer,
  created_at integer not null,
  created_by text not null,
  -- Since when every try has failed; null after one that did not.
  failing_since integer,
  last_delivered_at integer,
  -- How many deliveries were given up because too many waited, since it was made.
  dropped integer not null default 0,
  -- When one of its deliveries was last taken up: who has waited longest goes first.
  served_at integer not null default 0,
  primary key (account_id, id)
) strict;

-- The kinds that any enabled webhook of an account wants. Whoever changes the state of a message looks here.
create table notice_want (
  account_id text not null,
  kind text not null,
  primary key (account_id, kind)
) strict, without rowid;

-- What happened, in the order in which it was noted. A notice of a message is written by what changes the message.
create table notice (
  position integer primary key autoincrement,
  -- What a receiver knows it by.
  id text not null,
  account_id text not null,
  kind text not null,
  at integer not null,
  -- The same is announced once. Null for those of messages, which come from one change each.
  key text,
  message_sequence integer,
  data text not null,
  -- 1 until it has become deliveries.
  is_new integer not null default 1
) strict;
create unique index notice_key on notice (account_id, key) where key is not null;
create index notice_new on notice (position) where is_new = 1;
create index notice_of_message on notice (message_sequence) where message_sequence is not null;

-- One notice on its way to one webhook.
create table delivery (
  account_id text not null,
  webhook_id text not null,
  notice_position integer not null,
  kind text not null,
  -- `waiting`, `delivered`, `failed`: no tries are left, `dropped`: too many waited.
  state text not null,
  tries integer not null default 0,
  -- Those before it was replayed: its schedule began anew after them.
  tries_before integer not null default 0,
  created_at integer not null,
  -- When it is due. While it is being tried: when it may be taken by another.
  next_try_at integer,
  -- Of the try that is running, so that one who comes late writes nothing.
  claim text,
  ended_at integer,
  -- How the last try went, or why there was none.
  last_status integer,
  last_code text,
  -- What is posted, byte for byte: the same at each try.
  payload text not null,
  primary key (account_id, webhook_id, notice_position)
) strict, without rowid;
create index delivery_due on delivery (account_id, webhook_id, next_try_at) where state = 'waiting';
create index delivery_waiting on delivery (account_id, webhook_id, notice_position) where state = 'waiting';
create index delivery_claimed on delivery (account_id, webhook_id) where claim is not null;
create index delivery_of_notice on delivery (notice_position);

create table delivery_try (
  account_id text not null,
  webhook_id text not null,
  notice_position integer not null,
  number integer not null,
  at integer not null,
  took_ms integer not null,
  status integer,
  code text not null,
  words text,
  -- The beginning of what was answered.
  excerpt text,
  primary key (account_id, webhook_id, notice_position, number)
) strict, without rowid;
