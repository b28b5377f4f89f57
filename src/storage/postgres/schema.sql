-- The tables of a new database on PostgreSQL: the baseline, to which migrations/ adds. Until the first release a change of
-- the schema is made here. CONTRIBUTING.md ("Change the schema") has the rules.
--
-- Times are milliseconds since 1970, unless the name ends with another unit. Ids have the collation "C", so that they are
-- compared byte by byte whatever the locale of the database.

-- What was applied to this database. Row 1 is this file, and its name carries a fingerprint of it.
create table migration (
  number integer primary key,
  name text not null,
  breaking boolean not null
);

-- The functions/*.sql that were applied last: by which version of Nuncio, and a hash of them.
create table applied_functions (
  "only" integer primary key check ("only" = 1),
  version text not null,
  hash text not null
);


-- Accounts, connections, tokens

create table account (
  id text collate "C" primary key,
  name text not null,
  created_at bigint not null,
  -- 1: members without a second factor may not see this account.
  requires_second_factor integer not null default 0,
  -- When a person first saw one of its messages in the log of the console.
  message_seen_at bigint,
  -- JSON: what needs attention and was seen, by its key: up to when, and when and by which person.
  attention_seen text
);

create table connection (
  id text collate "C" primary key,
  account_id text collate "C" not null references account (id),
  number text collate "C" not null,
  channel text not null,
  state text not null check (state in ('active', 'paused', 'removed')),
  -- JSON: the LanePolicy, and the channel's own settings.
  policy text not null,
  channel_settings text not null,
  created_at bigint not null,
  removed_at bigint,
  -- The network's own id of the number, and the last part of the address for its callbacks.
  network_key text collate "C",
  callback_app text collate "C",
  -- JSON: what its network said when it was last asked, and when. Null: it was never asked, or there is none.
  network_check text,
  -- What people call it. Null: it has no name.
  name text
);

-- A removed number may be added again, which makes a new connection.
create unique index connection_number on connection (account_id, number) where state <> 'removed';
create unique index connection_network_key on connection (channel, network_key)
  where state <> 'removed' and network_key is not null;
-- Includes removed connections, because reports about their messages still arrive.
create index connection_callback_app on connection (callback_app) where callback_app is not null;

create table token (
  id text collate "C" primary key,
  account_id text collate "C" not null references account (id),
  name text not null,
  -- SHA-256 of the whole token. The token itself is shown once and never stored.
  sha256 bytea not null unique,
  prefix text not null,
  -- JSON lists. Connections and sources are null when the token is not bound to any.
  events text not null,
  connection_ids text,
  source_ranges text,
  created_at bigint not null,
  expires_at bigint not null,
  last_used_at bigint,
  deleted_at bigint,
  created_by text,
  -- The token that replaced this one.
  successor_id text collate "C"
);

create unique index token_name on token (account_id, name) where deleted_at is null;
create unique index token_successor on token (successor_id) where successor_id is not null;
-- No column of it changes when a token is used, so accepting a message does not write to it.
create index token_listed on token (account_id, created_at, id);
-- For the watchdog, which checks every 15 seconds for tokens that expire soon.
create index token_end on token (expires_at) where deleted_at is null;

-- One row. Permissions that were checked under another mark must be checked again.
create table rights (
  "only" integer primary key check ("only" = 1),
  mark text collate "C" not null
) with (fillfactor = 20);
insert into rights ("only", mark) values (1, gen_random_uuid()::text);


-- Messages and the API log

-- Ranges of sequence numbers, one a day: a sequence is its period's number times 2^40, plus a count in that period. So a
-- sequence determines its partition. Period 0 holds what was copied from another database. The newest row is the period of new
-- messages.
create table period (
  number integer primary key,
  starts_at bigint not null,
  -- The values of `message_block` and `request_number` when it began.
  block_base bigint not null,
  request_base bigint not null
);

-- Each batch of acceptances takes one block of 1,024 sequence numbers.
create sequence message_block;
create sequence request_number;

-- Unfinished messages. It has no partitions, so dropping a period never drops any of them.
create table queued (
  sequence bigint not null,
  id text collate "C" not null,
  account_id text collate "C" not null,
  connection_id text collate "C" not null,
  token_id text collate "C",
  request_id text,
  -- The caller's text, byte for byte, and a CRC-32 of it that is checked before the channel is called.
  body text not null,
  body_crc bigint not null,
  recipient text not null,
  type text not null,
  attempts integer not null default 0,
  accepted_at bigint not null,
  remote_address text,
  user_agent text,
  -- Microseconds from the arrival of the request until its batch was sent to the database. The rest is in accept_commit.
  took_us bigint,
  resend_of bigint,
  -- JSON of RetryState.
  retry text,
  primary key (account_id, sequence)
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
  autovacuum_vacuum_insert_scale_factor = 0.2, autovacuum_vacuum_cost_delay = 0);

-- The server analyses this table up to once a minute under load. With the usual sample that was 30,000 rows of as many
-- pages, a third of a second of a core, during which acceptances waited. The first columns are in no condition of a query.
-- For the others a fifth of the usual sample is enough, because rows are found by index.
alter table queued
  alter column body set statistics 0,
  alter column body_crc set statistics 0,
  alter column remote_address set statistics 0,
  alter column user_agent set statistics 0,
  alter column took_us set statistics 0,
  alter column retry set statistics 0,
  alter column sequence set statistics 20,
  alter column id set statistics 20,
  alter column account_id set statistics 20,
  alter column connection_id set statistics 20,
  alter column token_id set statistics 20,
  alter column request_id set statistics 20,
  alter column recipient set statistics 20,
  alter column type set statistics 20,
  alter column attempts set statistics 20,
  alter column accepted_at set statistics 20,
  alter column resend_of set statistics 20;

-- The lane, in order of acceptance.
create index queued_lane on queued (connection_id, sequence);
create index queued_newest on queued (sequence);
create index queued_id on queued (id);

-- Finished messages.
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
  -- By the check the planner knows that queries for queued messages need not read this table.
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
  -- When an UNCONFIRMED message was resolved by hand.
  resolved_at bigint,
  -- When its last attempt began, if the network took the message and there is nothing more to say. Then that attempt has no
  -- row of its own.
  attempt_started_at bigint,
  -- When its text, caption, URL and file name were deleted. The body is an empty text from then on.
  body_deleted_at bigint,
  primary key (account_id, sequence)
) partition by range (sequence);

create index settled_newest on settled (sequence);
create index settled_id on settled (id);
create index settled_unresolved on settled (sequence) where state = 'UNCONFIRMED' and resolved_at is null;
-- Messages that went wrong, among millions that did not, which pay nothing for these.
create index settled_unsent on settled (sequence) where state in ('FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED');
create index settled_unsent_of_account on settled (account_id, sequence)
  where state in ('FAILED', 'EXPIRED', 'CANCELLED', 'UNCONFIRMED');
-- Only ids of networks whose reports name no id of ours, so that other messages pay nothing.
create index settled_network_id on settled (network_id) where network_id like 'wamid.%';
-- What networks that call back have taken and not yet said to be delivered: for the watchdog, which finds reports that are
-- missing. Only messages with such ids.
create index settled_undelivered on settled (connection_id, published_at)
  where state = 'PUBLISHED' and (network_id like 'bridge:%' or network_id like 'wamid.%');

-- Attempts that ended, except those of which `settled` has all there is to say.
create table ended_attempt (
  message_sequence bigint not null,
  number integer not null,
  started_at bigint not null,
  ended_at bigint not null,
  outcome text not null,
  code text,
  words text,
  -- JSON of AttemptFacts. Null: there are none.
  facts text,
  primary key (message_sequence, number)
) partition by range (message_sequence);

-- How long shared commits took, so that the log can show the whole duration of accepted requests. Written shortly after
-- the commit, so the rows of the last commits before a crash may be missing.
create table accept_commit (
  last_sequence bigint not null,
  first_sequence bigint not null,
  took_us bigint not null,
  primary key (last_sequence)
) partition by range (last_sequence);

-- Requests with a known token that made no message: refusals, and repeats under an idempotency key.
create table request (
  sequence bigint not null,
  account_id text collate "C" not null,
  token_id text collate "C" not null,
  request_id text not null,
  received_at bigint not null,
  took_us bigint not null,
  status integer not null,
  code text not null,
  -- JSON: the errors by field. Null for a repeat.
  errors text,
  body text,
  message_id text collate "C",
  remote_address text,
  user_agent text,
  body_deleted_at bigint,
  -- How many refused requests the row stands for, and when the first of them arrived. Null: the row is one request.
  summed_requests integer,
  summed_since bigint,
  -- Of a repeat: the state in which it found its message. The answer follows from it.
  message_state text collate "C",
  primary key (account_id, sequence)
) partition by range (sequence);

create index request_newest on request (sequence);
create index request_message on request (message_id) where message_id is not null;
-- Accepting a message writes to none of these.
create index request_repeats on request (account_id, sequence) where message_id is not null;
create index request_id on request (account_id, request_id);

create table idempotency (
  account_id text collate "C" not null,
  key text collate "C" not null,
  fingerprint text not null,
  message_sequence bigint not null,
  accepted_at bigint not null,
  primary key (account_id, key)
);

create index idempotency_age on idempotency (accepted_at);

-- Events of a message that have no row of their own: waits, receipts, recoveries, actions of people.
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
  -- The worker that fetches it now, and the spool in which its file lies.
  fetcher text collate "C",
  spool text collate "C",
  primary key (account_id, message_sequence)
);

create unique index media_message on media (message_sequence);
create index media_pending on media (account_id, message_sequence) where state = 'pending';
create index media_of_lane on media (account_id, connection_id, message_sequence) where state = 'pending';
-- Begins with the spool. Without it a page of its files was searched among those of all spools.
create index media_spool on media (spool, message_sequence) where state = 'ready';
create index media_in_spool on media (spool, account_id) include (size_bytes) where state = 'ready';

-- Files in a spool whose workers no longer hold the lane. They are removed when their message is settled.
create table leftover_file (
  spool text collate "C" not null,
  message_sequence bigint not null,
  account_id text collate "C" not null,
  path text not null,
  size_bytes bigint,
  sha256 text,
  mime text,
  primary key (spool, message_sequence)
);


-- Lanes and workers

create table worker (
  id text collate "C" primary key,
  heartbeat_until bigint not null,
  host text,
  pid integer,
  -- Separated by commas, such as `api,dispatch`.
  roles text,
  version text,
  started_at bigint,
  -- The spool of the files that this process fetched.
  spool text
);

-- How many batches of a worker's connection to the database have committed. If a worker finds fewer after an interruption
-- than were confirmed to it, the database has gone back (G12).
create table fence (
  worker text collate "C" not null,
  connection_index integer not null,
  count bigint not null,
  at bigint not null,
  primary key (worker, connection_index)
) with (fillfactor = 20);

-- The state of a lane. A connection without a row has never had a lane.
create table lane (
  connection_id text collate "C" primary key,
  account_id text collate "C" not null,
  owner text collate "C",
  epoch bigint not null default 0,
  -- JSON of FailureStreak.
  failure_streak text,
  wait_reason text,
  wait_words text,
  wait_until bigint,
  -- Since when it has waited for this reason.
  wait_since bigint,
  last_attempt_at bigint,
  -- When the network last called back about the connection, to within a minute. Null: never, or it does not call back.
  last_report_at bigint
) with (fillfactor = 70);

-- A lane that is held has a row here. In it at most one attempt is open: the primary key enforces it (G2). Without an
-- open attempt the columns of the message are null.
create table lane_attempt (
  connection_id text collate "C" primary key,
  account_id text collate "C" not null,
  message_sequence bigint,
  number integer,
  epoch bigint not null,
  started_at bigint,
  crashes integer not null default 0,
  evidence_until bigint,
  words text,
  -- The message whose attempt was open when all lanes were last held. The database may have gone back since, and later
  -- attempts of that message may be missing from it. So proof that this attempt did not arrive proves nothing (G12).
  possibly_superseded_sequence bigint
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.1, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create view open_attempt as
  select connection_id, account_id, message_sequence, number, epoch, started_at, crashes, evidence_until, words, possibly_superseded_sequence
    from lane_attempt where message_sequence is not null;

-- Times in which a lane, or all lanes, could send nothing: the waits in timelines are derived from them. The wait of a lane is
-- written when it ends, if it was long enough to be shown.
create table standstill (
  -- '' for all lanes.
  connection_id text collate "C" not null,
  -- A code of core/reasons.ts.
  reason text not null,
  since bigint not null,
  -- Null: it is not over.
  until bigint,
  words text,
  -- As in the audit log. Null: it began or ended by itself.
  begun_by text,
  ended_by text,
  primary key (connection_id, since, reason)
);

-- For retention.
create index standstill_ended on standstill (until);

-- While there is a row here no attempt is opened, until a person releases the lanes (G12).
create table hold (
  "only" integer primary key check ("only" = 1),
  since bigint not null,
  reason text not null
);

-- A counter that only grows. A database whose counter is below the one that a process has stored has gone back (G12).
create table checkpoint (
  "only" integer primary key check ("only" = 1),
  installation text not null,
  mark bigint not null,
  -- How often all lanes have been held.
  holds integer not null default 0
);
insert into checkpoint ("only", installation, mark) values (1, gen_random_uuid()::text, 1);

-- The server that was last checked. Behind a pooler connections outlive the server, so the database itself must know when
-- a standby was promoted.
create table known_server (
  "only" integer primary key check ("only" = 1),
  -- Made with its data folder. Its standbys have the same.
  id text not null,
  -- Counts the promotions of standbys.
  timeline integer not null,
  -- Whether standbys confirmed the last heartbeat. A standby with this row has everything before it.
  is_synchronous boolean not null default false
);


-- Channels and recipients

-- What channels store, by channel and kind.
create table channel_memory (
  position bigint generated by default as identity primary key,
  kind text collate "C" not null,
  connection_id text collate "C" not null,
  key text collate "C" not null,
  value text not null,
  at bigint not null,
  -- When a worker hands the entry back to its channel. Null: never.
  remind_at bigint,
  unique (kind, connection_id, key)
);

create index channel_memory_order on channel_memory (kind, position);
create index channel_memory_reminders on channel_memory (kind, remind_at) where remind_at is not null;
-- What one sandbox connection delivered, newest first, whatever others deliver.
create index channel_memory_inbox on channel_memory (connection_id, position) where kind = 'sandbox.inbox';

-- The session of a connection whose channel has sessions: its lane is claimed even with nothing to send.
create table channel_session (
  connection_id text collate "C" primary key,
  -- Sealed. It encrypts the credentials, and the values of the session's keys.
  data_key text not null,
  credentials bytea not null,
  -- How often all lanes had been held when the session was last reset. Another number in `checkpoint` means that the
  -- database may have gone back, and that its keys may have been used already (G12).
  holds integer not null
);

create table channel_session_key (
  connection_id text collate "C" not null,
  kind text collate "C" not null,
  id text collate "C" not null,
  -- The number that it is about; null when it is about none.
  recipient text collate "C",
  value bytea not null,
  primary key (connection_id, kind, id)
);

-- The status of a connection’s session, as the worker of its lane wrote it last.
create table session_status (
  connection_id text collate "C" primary key,
  -- `ready`, or what keeps it from that.
  status text not null,
  since bigint not null,
  -- The code with which the network ended the last line; null when it ended without one.
  code integer,
  -- Until when the network refuses the number; null when it did not say.
  refused_until bigint,
  -- When it was ready last.
  ready_at bigint,
  -- The device as the network numbers it, and the version of the client, at the last login.
  device text,
  version text
);

-- What a person wants of a session. The process that asks and the worker that holds the lane may differ.
create table session_request (
  connection_id text collate "C" primary key,
  id text not null,
  kind text not null check (kind in ('qr', 'code', 'use-here', 'unlink')),
  requested_by text not null,
  person_id text,
  -- It ends when it has not been watched since then.
  watched_until bigint not null,
  -- As the worker wrote it last, in JSON.
  progress text not null,
  -- Sealed: the code that the phone must be shown; null while there is none.
  code text,
  ended_at bigint,
  -- When devices were linked in the last hour, in JSON: each try is a login at the network.
  begun text not null
);

-- One row for each account that has ever blocked a recipient.
create table block_list (
  account_id text collate "C" primary key references account (id),
  entries bigint not null default 0,
  -- Sealed. The key for hashes of erased numbers. Null until one was erased.
  hash_key text
);

create table blocked_recipient (
  account_id text collate "C" not null references account (id),
  -- The number. For an erased person, `h:` and a keyed hash of the number.
  recipient text collate "C" not null,
  -- As it was given.
  reason text,
  since bigint not null,
  blocked_by text not null,
  primary key (account_id, recipient)
);


-- Webhooks

create table webhook (
  id text collate "C" not null,
  account_id text collate "C" not null,
  url text collate "C" not null,
  description text collate "C" not null,
  -- A JSON list of notice kinds.
  kinds text collate "C" not null,
  -- `enabled`, `disabled` by a person, `failing`: disabled automatically, `removed`: its rows are being deleted.
  state text collate "C" not null,
  state_reason text collate "C",
  -- Sealed. The old secret also signs until its time ends.
  secret text collate "C" not null,
  old_secret text collate "C",
  old_secret_until bigint,
  created_at bigint not null,
  created_by text collate "C" not null,
  -- Since when every try has failed. Null after a try that succeeded.
  failing_since bigint,
  -- How many tries have failed since then.
  failed_tries bigint not null default 0,
  last_delivered_at bigint,
  -- How many deliveries were dropped because too many waited, since the webhook was made.
  dropped bigint not null default 0,
  -- When one of its deliveries was last taken. The webhook that has waited longest goes first.
  served_at bigint not null default 0,
  primary key (account_id, id)
);

-- The notice kinds that the enabled webhooks of an account want. Read by everything that changes the state of a message.
create table notice_want (
  account_id text collate "C" not null,
  kind text collate "C" not null,
  primary key (account_id, kind)
);

-- Events to announce, in the order in which they were recorded. The notice of a message is written in the transaction
-- that changes the message.
create table notice (
  position bigint generated by default as identity primary key,
  -- The id that receivers see.
  id text collate "C" not null,
  account_id text collate "C" not null,
  kind text collate "C" not null,
  at bigint not null,
  -- Prevents a second notice of the same event. Null for notices of messages, of which each comes from one change.
  key text collate "C",
  message_sequence bigint,
  data text collate "C" not null,
  -- 1 until deliveries have been made of it.
  is_new bigint not null default 1
);

create unique index notice_key on notice (account_id, key) where key is not null;
-- By account, so that an account with very many notices does not delay those of others.
create index notice_new on notice (account_id, position) where is_new = 1;
create index notice_of_message on notice (message_sequence) where message_sequence is not null;

-- One notice on its way to one webhook.
create table delivery (
  account_id text collate "C" not null,
  webhook_id text collate "C" not null,
  notice_position bigint not null,
  kind text collate "C" not null,
  -- `waiting`, `delivered`, `failed`: no tries are left, `dropped`: too many waited.
  state text collate "C" not null,
  tries bigint not null default 0,
  -- Tries before it was replayed. Its schedule began again after them.
  tries_before bigint not null default 0,
  created_at bigint not null,
  -- When it is due. During a try: when another worker may take it.
  next_try_at bigint,
  -- Id of the running try, so that a late worker writes nothing.
  claim text collate "C",
  ended_at bigint,
  -- Result of the last try, or why there was none.
  last_status bigint,
  last_code text collate "C",
  -- The posted text, byte for byte the same at each try.
  payload text collate "C" not null,
  primary key (account_id, webhook_id, notice_position)
);

create index delivery_due on delivery (account_id, webhook_id, next_try_at) where state = 'waiting';
create index delivery_waiting on delivery (account_id, webhook_id, notice_position) where state = 'waiting';
create index delivery_claimed on delivery (account_id, webhook_id) where claim is not null;
create index delivery_of_notice on delivery (notice_position);

create table delivery_try (
  account_id text collate "C" not null,
  webhook_id text collate "C" not null,
  notice_position bigint not null,
  number bigint not null,
  at bigint not null,
  took_ms bigint not null,
  status bigint,
  code text collate "C" not null,
  words text collate "C",
  -- The beginning of the response.
  excerpt text collate "C",
  primary key (account_id, webhook_id, notice_position, number)
);


-- People and the audit log

create table person (
  id text collate "C" primary key,
  email text not null,
  -- The e-mail address in lower case, by which people are found.
  email_key text collate "C" not null unique,
  name text not null,
  -- Argon2id, as a PHC string. Null: this person has no password and signs in by other means.
  password_hash text,
  created_at bigint not null,
  last_sign_in_at bigint
);

create table membership (
  account_id text collate "C" not null references account (id),
  person_id text collate "C" not null references person (id),
  role text not null check (role in ('viewer', 'developer', 'owner')),
  joined_at bigint not null,
  primary key (account_id, person_id)
);

create index membership_of_person on membership (person_id);

-- Sessions that have ended are deleted.
create table session (
  id text collate "C" primary key,
  -- Of the 256 random bits in the cookie, which are not stored.
  sha256 bytea not null unique,
  person_id text collate "C" not null references person (id),
  proof text not null,
  is_kept integer not null,
  started_at bigint not null,
  last_used_at bigint not null,
  ends_at bigint not null,
  proven_at bigint not null,
  remote_address text,
  user_agent text
);

create index session_of_person on session (person_id);
create index session_end on session (ends_at);

-- One-time links for first setup, invitations and new passwords. Only the hash of their 256 random bits is stored.
create table person_link (
  id text collate "C" primary key,
  sha256 bytea not null unique,
  kind text not null check (kind in ('set-up', 'invitation', 'reset-password')),
  -- For `reset-password`: the person.
  person_id text collate "C" references person (id),
  -- For `invitation`: the account, and the role and e-mail address in it.
  account_id text collate "C" references account (id),
  role text,
  email text,
  created_at bigint not null,
  created_by text not null,
  -- The person who made it: it works while they are an owner of the account. Null: made by the operator.
  maker_id text collate "C" references person (id),
  expires_at bigint not null,
  -- When it was used or withdrawn.
  used_at bigint
);

create index person_link_of_account on person_link (account_id) where used_at is null;

-- Codes of six digits from an authenticator app.
create table totp (
  person_id text collate "C" primary key references person (id),
  -- Sealed. Null until it was confirmed once.
  secret bytea,
  confirmed_at bigint,
  -- The period of 30 seconds of the last code. Codes of this period and of earlier ones are used up.
  last_step bigint,
  -- Sealed. Replaces the secret as soon as it is confirmed.
  begun_secret bytea
);

create table passkey (
  id text collate "C" primary key,
  person_id text collate "C" not null references person (id),
  -- As browsers name it, base64url.
  credential_id text collate "C" not null unique,
  public_key bytea not null,
  sign_count bigint not null,
  -- A JSON list.
  transports text not null,
  name text not null,
  created_at bigint not null,
  last_used_at bigint
);

create index passkey_of_person on passkey (person_id);

create table recovery_code (
  person_id text collate "C" not null references person (id),
  sha256 bytea not null,
  used_at bigint,
  primary key (person_id, sha256)
);

-- Tries to sign in, counted by account, device and network address.
create table sign_in_throttle (
  key text collate "C" primary key,
  tries integer not null,
  counted_from bigint not null,
  last_at bigint not null
);

create index sign_in_throttle_age on sign_in_throttle (last_at);

-- Browsers that a person has signed in with, by the hash of a cookie. Wrong passwords from elsewhere do not slow them down.
create table known_device (
  person_id text collate "C" not null references person (id),
  sha256 bytea not null,
  used_at bigint not null,
  primary key (person_id, sha256)
);

-- Challenges sent to a browser: for the second step of signing in, and for passkeys.
create table sign_in_ticket (
  sha256 bytea primary key,
  kind text not null,
  person_id text collate "C" references person (id),
  content text not null,
  expires_at bigint not null
);

create index sign_in_ticket_end on sign_in_ticket (expires_at);

create table audit (
  sequence bigint generated by default as identity primary key,
  at bigint not null,
  actor text not null,
  account_id text collate "C",
  action text not null,
  object text not null,
  detail text,
  -- Null: not done by a person in the console.
  person_id text collate "C",
  remote_address text,
  user_agent text
);

create index audit_of_account on audit (account_id, sequence);
create index audit_of_person on audit (person_id, sequence) where account_id is null;

-- The key ring with which the secrets in this database are sealed. Checked at every start.
create table key_ring (
  "only" integer primary key check ("only" = 1),
  -- The current key when everything was last sealed again.
  key_id text collate "C" not null,
  -- A known text, sealed with that key.
  canary text collate "C" not null
);


-- Overview and alarms

-- How many messages of an hour of acceptance came to which end, when that hour was last counted. The sum of an account
-- has the connection ''. `state` is one of contract/console/overview.ts (TALLIED).
create table tally (
  account_id text collate "C" not null,
  connection_id text collate "C" not null,
  hour bigint not null,
  state text collate "C" not null,
  count bigint not null,
  primary key (account_id, connection_id, hour, state)
);

create index tally_of_hour on tally (hour);
-- Hours in which a message still waits are counted again, however old they are.
create index tally_waiting on tally (hour) where state = 'waiting' and connection_id = '';

-- Messages that failed and are not resolved: by reason, and when the latest of them was accepted.
create table tally_reason (
  account_id text collate "C" not null,
  hour bigint not null,
  state text collate "C" not null,
  reason text collate "C" not null,
  count bigint not null,
  latest_at bigint not null,
  primary key (account_id, hour, state, reason)
);

create index tally_reason_of_hour on tally_reason (hour);

-- Hours that have been counted, by the millisecond in which they began.
create table tally_hour (
  hour bigint primary key,
  counted_at bigint not null
);

create table alarm (
  id bigint generated by default as identity primary key,
  -- Null: it concerns the whole installation.
  account_id text collate "C",
  kind text collate "C" not null,
  -- The id of the thing it concerns.
  object text collate "C" not null,
  severity text not null,
  -- JSON: the values in its sentence.
  facts text not null,
  since bigint not null,
  raised_at bigint not null,
  changed_at bigint not null,
  cleared_at bigint,
  -- Whether its current state has been announced.
  is_announced integer not null
);

create unique index alarm_open on alarm (kind, object) where cleared_at is null;
create index alarm_of_account on alarm (account_id, id);
create index alarm_unannounced on alarm (id) where is_announced = 0;
create index alarm_cleared on alarm (cleared_at) where cleared_at is not null;

-- The process that runs the watchdog, and until when.
create table watch (
  "only" integer primary key check ("only" = 1),
  watcher text collate "C" not null,
  until bigint not null
);
insert into watch ("only", watcher, until) values (1, '', 0);


-- Retention

-- Days after which data of an account are deleted, where that is sooner than the installation says.
create table account_retention (
  account_id text collate "C" primary key references account (id),
  bodies_days integer,
  messages_days integer
);

-- How far each scan has come in the order of acceptance: of one account, or of all under the account ''.
create table retention_mark (
  account_id text collate "C" not null,
  what text collate "C" not null,
  position bigint not null,
  primary key (account_id, what)
);

-- Messages that a scan has passed and left, because they were not finished. They are checked again.
create table retention_kept (
  account_id text collate "C" not null,
  message_sequence bigint not null,
  what text collate "C" not null,
  primary key (account_id, message_sequence, what)
);

create index retention_kept_sequence on retention_kept (message_sequence);

create table retention_state (
  "only" integer primary key check ("only" = 1),
  -- Nothing is deleted before this time, and why not.
  begins_at bigint not null,
  waits_for text,
  -- The process that sweeps, and until when no other process does.
  swept_by text,
  swept_until bigint not null default 0,
  -- Of the last sweep that finished. `counts` is JSON.
  begun_at bigint,
  ended_at bigint,
  took_ms bigint,
  counts text
);
insert into retention_state ("only", begins_at) values (1, 0);


-- Views under which both engines have the same names

create view message as
  select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, 'QUEUED'::text as state,
      null::text as reason, null::text as words, attempts, accepted_at, null::bigint as published_at, null::bigint as settled_at,
      null::text as network_id, remote_address, user_agent, took_us, resend_of, null::bigint as resent_as, null::bigint as resolved_at,
      -- The body of an unfinished message is never deleted.
      null::bigint as body_deleted_at, retry
    from queued
  union all
  select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, published_at, settled_at,
      network_id, remote_address, user_agent, took_us, resend_of, resent_as, resolved_at, body_deleted_at, null::text as retry
    from settled;

create view attempt as
  select message_sequence, number, started_at, ended_at, outcome, code, words, facts from ended_attempt
  union all
  select sequence, attempts, attempt_started_at, settled_at, 'accepted'::text, null::text, null::text, null::text
    from settled where attempt_started_at is not null;

create view waiting as
  select connection_id, sequence, id, account_id, type, recipient, attempts, accepted_at from queued;

-- A message has its lane entry at once here, so every entry lies below the mark.
create view lane_entry as select connection_id, sequence from queued;
create rule lane_entry_goes_with_its_message as on delete to lane_entry do instead nothing;
create view indexed_through as select 1 as only, 9007199254740991::bigint as sequence;

-- A change of a lane is notified and not stored: see the trigger below.
create view lane_change as select null::bigint as position, null::text as connection_id where false;


-- Types of parameters and results of functions

-- A claimed lane and its open attempt.
create type claimed_lane as (
  connection_id text, account_id text, number text, channel text, channel_settings text, policy text, epoch bigint, state text, all_held boolean,
  session_request text, failure_streak text, wait_reason text, wait_words text, wait_until bigint, last_attempt_at bigint,
  open_number integer, open_started_at bigint, open_crashes integer, open_evidence_until bigint,
  open_possibly_superseded boolean,
  sequence bigint, id text, recipient text, type text, body text, body_crc bigint, attempts integer, accepted_at bigint, retry text,
  media json
);

-- An attachment that is still to be fetched.
create type wanted_media as (
  sequence bigint, message_id text, account_id text, connection_id text, url text, type text, tries integer, next_try_at bigint,
  is_lane_held boolean
);

-- A message that a report is about.
create type receipt_target as (
  id text, account_id text, connection_id text, sequence bigint, state text, attempts integer, network_id text, is_open boolean
);


-- All functions come here: the next line stands for functions/*.sql. What follows needs them.
-- functions

alter table request alter column sequence set default next_request_sequence();

create trigger guard before delete or update of deleted_at, expires_at, events, connection_ids, source_ranges, account_id on token
  for each row execute function guard_token();
create trigger guard before delete or update of state, number, account_id, channel on connection
  for each row execute function guard_connection();

-- At the end of the transaction, when it has all its locks: two transactions that change several rows could otherwise wait
-- for each other. The same columns as those of the triggers that lock. Inserts too: a database that has gone back to before
-- an insert would otherwise have the mark by which the lost row was checked.
create constraint trigger mark
  after insert or delete or update of deleted_at, expires_at, events, connection_ids, source_ranges, account_id
  on token deferrable initially deferred for each row execute function mark_rights();
create constraint trigger mark after insert or delete or update of state, number, account_id, channel
  on connection deferrable initially deferred for each row execute function mark_rights();
-- Also in sessions in which other triggers do not fire, because rows written by replication count too.
alter table token enable always trigger mark;
alter table connection enable always trigger mark;

create trigger notify instead of insert on lane_change for each row execute function notify_lane_change();
create trigger insert_message instead of insert on message for each row execute function insert_message();
create trigger update_message instead of update on message for each row execute function update_message();

select open_period();
