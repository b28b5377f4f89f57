-- Why: the first schema.
-- Locks: nothing exists yet.
-- breaking: no

-- Ids are compared byte by byte, whatever the locale of the database.

create table account (
  id text collate "C" primary key,
  name text not null unique,
  created_at bigint not null
);

create table connection (
  id text collate "C" primary key,
  account_id text collate "C" not null references account (id),
  number text collate "C" not null,
  channel text not null,
  state text not null check (state in ('active', 'paused', 'removed')),
  -- JSON of LanePolicy and of the channel's own settings.
  policy text not null,
  channel_settings text not null,
  created_at bigint not null,
  removed_at bigint
);

-- A removed number may be added again: that makes a new connection.
create unique index connection_number on connection (account_id, number) where state <> 'removed';

create table token (
  id text collate "C" primary key,
  account_id text collate "C" not null references account (id),
  name text not null,
  -- SHA-256 of the whole token: the token itself is shown once and never stored.
  sha256 bytea not null unique,
  prefix text not null,
  -- JSON lists; connections and sources are null when the token is not bound.
  events text not null,
  connection_ids text,
  source_ranges text,
  created_at bigint not null,
  expires_at bigint not null,
  last_used_at bigint,
  deleted_at bigint
);

create unique index token_name on token (account_id, name) where deleted_at is null;

-- The stretches of sequence numbers, one a day: a sequence is its period's number times 2^40, and a count in that period.
-- So whoever knows a sequence knows its partition. Period 0 is for what was copied from another database. The newest
-- row is the period that new messages fall into.
create table period (
  number integer primary key,
  starts_at bigint not null,
  -- What `message_block` and `request_number` stood at when it began.
  block_base bigint not null,
  request_base bigint not null
);

-- Each batch that accepts takes one block of 1,024 sequence numbers.
create sequence message_block;
create sequence request_number;

-- What is unfinished. No partition of it is ever dropped, because it has none.
create table queued (
  sequence bigint not null,
  id text collate "C" not null,
  account_id text collate "C" not null,
  connection_id text collate "C" not null,
  token_id text collate "C",
  request_id text,
  -- What the caller sent, byte for byte, and a CRC-32 of it that is checked before the channel is called.
  body text not null,
  body_crc bigint not null,
  recipient text not null,
  type text not null,
  attempts integer not null default 0,
  accepted_at bigint not null,
  remote_address text,
  user_agent text,
  -- Microseconds from the arrival of the request until its batch was handed over; the rest is in accept_commit.
  took_us bigint,
  resend_of bigint,
  primary key (account_id, sequence)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);

-- The lane, in order of acceptance.
create index queued_lane on queued (connection_id, sequence);
create index queued_newest on queued (sequence);
create index queued_id on queued (id);

-- What has come to its end.
create table settled (
  sequence bigint not null,
  id text collate "C" not null,
  account_id text collate "C" not null,
  connection_id text collate "C" not null,
  token_id text collate "C",
  request_id text,
  body text not null,
  body_crc bigint not null,
  recipient text not null,
  type text not null,
  -- The check lets the planner see that whoever asks for what is queued need not look here.
  state text not null check (state <> 'QUEUED'),
  reason text,
  words text,
  attempts integer not null,
  accepted_at bigint not null,
  published_at bigint,
  settled_at bigint not null,
  network_id text,
  remote_address text,
  user_agent text,
  took_us bigint,
  resend_of bigint,
  resent_as bigint,
  resolved_at bigint,
  -- When its last attempt began, if the network took it and there is nothing more to say: then that attempt has no row
  -- of its own.
  attempt_started_at bigint,
  primary key (account_id, sequence)
) partition by range (sequence);

create index settled_newest on settled (sequence);
create index settled_id on settled (id);
create index settled_unresolved on settled (sequence) where state = 'UNCONFIRMED' and resolved_at is null;
-- What went wrong is looked for among millions that did not, which pay nothing for this.
create index settled_unsent on settled (sequence) where state in ('FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED');

-- Attempts that ended in any other way.
create table ended_attempt (
  message_sequence bigint not null,
  number integer not null,
  started_at bigint not null,
  ended_at bigint not null,
  outcome text not null,
  code text,
  words text,
  primary key (message_sequence, number)
) partition by range (message_sequence);

-- How long the shared commits took, so that the log can tell the whole duration of accepted requests. Written a moment
-- after the commit: it may be missing for the last ones before a crash.
create table accept_commit (
  last_sequence bigint not null,
  first_sequence bigint not null,
  took_us bigint not null,
  primary key (last_sequence)
) partition by range (last_sequence);

-- Requests with a known token that made no message: refusals and repeats under an idempotency key.
create table request (
  sequence bigint not null,
  account_id text collate "C" not null,
  token_id text collate "C" not null,
  request_id text not null,
  received_at bigint not null,
  took_us bigint not null,
  status integer not null,
  code text not null,
  -- JSON: what was wrong, by field. Null for a repeat.
  errors text,
  body text,
  message_id text collate "C",
  remote_address text,
  user_agent text,
  primary key (account_id, sequence)
) partition by range (sequence);

create index request_newest on request (sequence);
create index request_message on request (message_id) where message_id is not null;

-- Moments that have no row of their own: waits, receipts, recoveries, what people did.
create table timeline (
  message_sequence bigint not null,
  position integer not null,
  at bigint not null,
  kind text not null,
  code text,
  words text,
  facts text,
  primary key (message_sequence, position)
) partition by range (message_sequence);

create table idempotency (
  account_id text collate "C" not null,
  key text collate "C" not null,
  fingerprint text not null,
  message_sequence bigint not null,
  accepted_at bigint not null,
  primary key (account_id, key)
);
create index idempotency_age on idempotency (accepted_at);

create table worker (
  id text collate "C" primary key,
  heartbeat_until bigint not null
);

-- What a lane remembers. A connection without a row has never had a lane.
create table lane (
  connection_id text collate "C" primary key,
  account_id text collate "C" not null,
  owner text collate "C",
  epoch bigint not null default 0,
  -- JSON of HeadMemory and TroubleMemory.
  head text,
  trouble text,
  wait_reason text,
  wait_words text,
  wait_until bigint,
  last_attempt_at bigint
) with (fillfactor = 70);

-- At most one attempt of a connection is open: the primary key enforces it (G2).
create table open_attempt (
  connection_id text collate "C" primary key,
  account_id text collate "C" not null,
  message_sequence bigint not null,
  number integer not null,
  epoch bigint not null,
  started_at bigint not null,
  crashes integer not null default 0,
  evidence_until bigint,
  words text
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create table media (
  message_sequence bigint not null,
  account_id text collate "C" not null,
  connection_id text collate "C" not null,
  url text not null,
  type text not null,
  state text not null check (state in ('pending', 'ready', 'failed', 'forgotten')),
  tries integer not null default 0,
  next_try_at bigint not null,
  code text,
  words text,
  path text,
  size_bytes bigint,
  sha256 text,
  mime text,
  took_ms bigint,
  ended_at bigint,
  primary key (account_id, message_sequence)
);
create unique index media_message on media (message_sequence);
create index media_pending on media (account_id, message_sequence) where state = 'pending';
create index media_spool on media (message_sequence) where state = 'ready';

-- What channels remember, scoped by channel and kind.
create table channel_memory (
  position bigint generated by default as identity primary key,
  kind text collate "C" not null,
  connection_id text collate "C" not null,
  key text collate "C" not null,
  value text not null,
  at bigint not null,
  unique (kind, connection_id, key)
);
create index channel_memory_order on channel_memory (kind, position);

create table audit (
  sequence bigint generated by default as identity primary key,
  at bigint not null,
  actor text not null,
  account_id text collate "C",
  action text not null,
  object text not null,
  detail text
);

-- include functions/time.sql
-- include functions/open-period.sql
-- include functions/periods.sql
-- include functions/views.sql
-- include functions/guards.sql
-- include functions/accept.sql
-- include functions/note-in-turn.sql
-- include functions/accept-batch.sql
-- include functions/accept-keys.sql
-- include functions/intake.sql
-- include functions/record.sql
-- include functions/claim.sql
-- include functions/claim-lanes.sql
-- include functions/describe-lanes.sql
-- include functions/expire.sql
-- include functions/receipts.sql
-- include functions/apply-receipts.sql

select open_period();
