-- Printed from the migrations by `npm run generate`. Do not edit.

CREATE INDEX channel_memory_reminders on channel_memory (kind, remind_at) where remind_at is not null;

CREATE UNIQUE INDEX connection_number on connection (account_id, number) where state <> 'removed';

CREATE INDEX idempotency_age on idempotency (accepted_at);

CREATE INDEX media_pending on media (account_id, message_sequence) where state = 'pending';

CREATE INDEX media_spool on media (message_sequence) where state = 'ready';

CREATE INDEX message_unresolved on message (sequence) where state = 'UNCONFIRMED' and resolved_at is null;

CREATE INDEX request_message on request (message_id) where message_id is not null;

CREATE UNIQUE INDEX token_name on token (account_id, name) where deleted_at is null;

CREATE TABLE accept_commit (
  last_sequence integer primary key,
  first_sequence integer not null,
  took_us integer not null
) strict;

CREATE TABLE account (
  id text primary key,
  name text not null unique,
  created_at integer not null
) strict, without rowid;

CREATE TABLE attempt (
  message_sequence integer not null,
  number integer not null,
  started_at integer not null,
  ended_at integer not null,
  outcome text not null,
  code text,
  words text,
  primary key (message_sequence, number)
) strict, without rowid;

CREATE TABLE audit (
  sequence integer primary key,
  at integer not null,
  actor text not null,
  account_id text,
  action text not null,
  object text not null,
  detail text
) strict;

CREATE TABLE channel_memory (
  position integer primary key autoincrement,
  kind text not null,
  connection_id text not null,
  key text not null,
  value text not null,
  at integer not null, remind_at integer,
  unique (kind, connection_id, key)
) strict;

CREATE TABLE connection (
  id text primary key,
  account_id text not null references account (id),
  number text not null,
  channel text not null,
  state text not null check (state in ('active', 'paused', 'removed')),
  -- JSON of LanePolicy and of the channel's own settings.
  policy text not null,
  channel_settings text not null,
  created_at integer not null,
  removed_at integer
) strict, without rowid;

CREATE TABLE hold (
  only integer primary key check (only = 1),
  since integer not null,
  reason text not null
) strict;

CREATE TABLE idempotency (
  account_id text not null,
  key text not null,
  fingerprint text not null,
  message_sequence integer not null,
  accepted_at integer not null,
  primary key (account_id, key)
) strict, without rowid;

CREATE TABLE lane (
  connection_id text primary key,
  owner text,
  epoch integer not null default 0,
  -- JSON of HeadMemory and TroubleMemory.
  head text,
  trouble text,
  wait_reason text,
  wait_words text,
  wait_until integer,
  last_attempt_at integer
) strict, without rowid;

CREATE TABLE lane_change (
  position integer primary key,
  connection_id text not null
) strict;

CREATE TABLE lane_entry (
  connection_id text not null,
  sequence integer not null,
  primary key (connection_id, sequence)
) strict, without rowid;

CREATE TABLE lane_mark (
  only integer primary key check (only = 1),
  entered_through integer not null
) strict;

CREATE TABLE media (
  message_sequence integer primary key,
  account_id text not null,
  connection_id text not null,
  url text not null,
  type text not null,
  state text not null check (state in ('pending', 'ready', 'failed', 'forgotten')),
  tries integer not null default 0,
  next_try_at integer not null,
  code text,
  words text,
  path text,
  size_bytes integer,
  sha256 text,
  mime text,
  took_ms integer,
  ended_at integer
) strict;

CREATE TABLE message (
  sequence integer primary key,
  id text not null unique,
  account_id text not null,
  connection_id text not null,
  token_id text,
  request_id text,
  -- What the caller sent, byte for byte, and a CRC-32 of it that is checked before the channel is called.
  body text not null,
  body_crc integer not null,
  recipient text not null,
  type text not null,
  -- SENDING is not stored: a message is SENDING while an open attempt points to it.
  state text not null,
  reason text,
  words text,
  attempts integer not null default 0,
  accepted_at integer not null,
  published_at integer,
  settled_at integer,
  network_id text,
  remote_address text,
  user_agent text,
  -- Microseconds from the arrival of the request until its commit began; the commit itself is in accept_commit.
  took_us integer,
  resend_of integer,
  resent_as integer,
  -- When a person dealt with an UNCONFIRMED message.
  resolved_at integer
) strict;

CREATE TABLE migration (number integer primary key, name text not null, breaking integer not null) strict;

CREATE TABLE open_attempt (
  connection_id text primary key,
  message_sequence integer not null,
  number integer not null,
  epoch integer not null,
  started_at integer not null,
  crashes integer not null default 0,
  evidence_until integer,
  words text
, doubted_sequence integer) strict, without rowid;

CREATE TABLE remembrance (
  only integer primary key check (only = 1),
  installation text not null,
  mark integer not null,
  -- How often all lanes have been held.
  holds integer not null default 0
) strict;

CREATE TABLE request (
  sequence integer primary key,
  account_id text not null,
  token_id text not null,
  request_id text not null,
  received_at integer not null,
  took_us integer not null,
  status integer not null,
  code text not null,
  -- JSON: what was wrong, by field. Null for a repeat.
  errors text,
  body text,
  message_id text,
  remote_address text,
  user_agent text
) strict;

CREATE TABLE timeline (
  message_sequence integer not null,
  position integer not null,
  at integer not null,
  kind text not null,
  code text,
  words text,
  facts text,
  primary key (message_sequence, position)
) strict, without rowid;

CREATE TABLE token (
  id text primary key,
  account_id text not null references account (id),
  name text not null,
  -- SHA-256 of the whole token: the token itself is shown once and never stored.
  sha256 blob not null unique,
  prefix text not null,
  -- JSON lists; connections and sources are null when the token is not bound.
  events text not null,
  connection_ids text,
  source_ranges text,
  created_at integer not null,
  expires_at integer not null,
  last_used_at integer,
  deleted_at integer
) strict, without rowid;

CREATE TABLE worker (
  id text primary key,
  heartbeat_until integer not null
, host text, pid integer, roles text, version text, started_at integer) strict, without rowid;

CREATE VIEW waiting as
  select lane_entry.connection_id, lane_entry.sequence, message.id, message.account_id, message.type, message.recipient,
      message.attempts, message.accepted_at
    from lane_entry cross join message on message.sequence = lane_entry.sequence
    where message.state = 'QUEUED' and lane_entry.sequence <= (select entered_through from lane_mark)
  union all
  select connection_id, sequence, id, account_id, type, recipient, attempts, accepted_at
    from message
    where sequence > (select entered_through from lane_mark) and state = 'QUEUED';
