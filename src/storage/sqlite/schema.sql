-- The tables of a new database on SQLite: the baseline, to which migrations/ adds. Until the first release a change of the
-- schema is made here. CONTRIBUTING.md ("Change the schema") has the rules.
--
-- Times are milliseconds since 1970, unless the name ends with another unit.

-- What was applied to this database. Row 1 is this file, and its name carries a fingerprint of it.
create table migration (
  number integer primary key,
  name text not null,
  breaking integer not null
) strict;


-- Accounts, connections, tokens

create table account (
  id text primary key,
  name text not null,
  created_at integer not null,
  -- 1: members without a second factor may not see this account.
  requires_second_factor integer not null default 0,
  -- When a person first saw one of its messages in the log of the console.
  message_seen_at integer,
  -- JSON: what needs attention and was seen, by its key: up to when, and when and by which person.
  attention_seen text
) strict, without rowid;

create table connection (
  id text primary key,
  account_id text not null references account (id),
  number text not null,
  channel text not null,
  state text not null check (state in ('active', 'paused', 'removed')),
  -- JSON: the LanePolicy, and the channel's own settings.
  policy text not null,
  channel_settings text not null,
  created_at integer not null,
  removed_at integer,
  -- The network's own id of the number, and the last part of the address for its callbacks.
  network_key text,
  callback_app text,
  -- JSON: what its network said when it was last asked, and when. Null: it was never asked, or there is none.
  network_check text,
  -- What people call it. Null: it has no name.
  name text
) strict, without rowid;

-- A removed number may be added again, which makes a new connection.
create unique index connection_number on connection (account_id, number) where state <> 'removed';
create unique index connection_network_key on connection (channel, network_key)
  where state <> 'removed' and network_key is not null;
-- Includes removed connections, because reports about their messages still arrive.
create index connection_callback_app on connection (callback_app) where callback_app is not null;

create table token (
  id text primary key,
  account_id text not null references account (id),
  name text not null,
  -- SHA-256 of the whole token. The token itself is shown once and never stored.
  sha256 blob not null unique,
  prefix text not null,
  -- JSON lists. Connections and sources are null when the token is not bound to any.
  events text not null,
  connection_ids text,
  source_ranges text,
  created_at integer not null,
  expires_at integer not null,
  last_used_at integer,
  deleted_at integer,
  created_by text,
  -- The token that replaced this one.
  successor_id text
) strict, without rowid;

create unique index token_name on token (account_id, name) where deleted_at is null;
create unique index token_successor on token (successor_id) where successor_id is not null;
-- No column of it changes when a token is used, so accepting a message does not write to it.
create index token_listed on token (account_id, created_at, id);
-- For the watchdog, which checks every 15 seconds for tokens that expire soon.
create index token_end on token (expires_at) where deleted_at is null;


-- Messages and the API log

-- One row for each accepted message. It is also the API log's row of the accepted request, so that accepting a message
-- writes one row only.
create table message (
  sequence integer primary key,
  id text not null unique,
  account_id text not null,
  connection_id text not null,
  token_id text,
  request_id text,
  -- The caller's text, byte for byte, and a CRC-32 of it that is checked before the channel is called.
  body text not null,
  body_crc integer not null,
  recipient text not null,
  type text not null,
  -- SENDING is not stored: a message is SENDING while a row of open_attempt points to it.
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
  -- Microseconds from the arrival of the request until its commit began. The commit itself is in accept_commit.
  took_us integer,
  resend_of integer,
  resent_as integer,
  -- When an UNCONFIRMED message was resolved by hand.
  resolved_at integer,
  -- When its text, caption, URL and file name were deleted. The body is an empty text from then on.
  body_deleted_at integer,
  -- JSON of RetryState, while it waits.
  retry text
) strict;

create index message_unresolved on message (sequence) where state = 'UNCONFIRMED' and resolved_at is null;
-- Each of these ends with the sequence, as every index of this table does. The rows of an account lie next to each other
-- in it, so a page of a small account costs nothing for what large accounts have sent.
create index message_of_account on message (account_id);
-- Messages that went wrong, among millions that did not. By the reason, which nearly no other message has: whether there
-- is one costs an acceptance nothing measurable, unlike a list of states.
create index message_with_reason on message (account_id) where reason is not null;
-- Only ids of networks whose reports name no id of ours, so that other messages pay nothing: those that begin with `wamid.`
create index message_network_id on message (network_id) where network_id >= 'wamid.' and network_id < 'wamid/';

-- What networks that call back have taken and not yet said to be delivered: for the watchdog, which finds reports that are
-- missing. Only messages with ids that begin with `wamid.` or `bridge:`, so that others pay nothing.
create index message_undelivered on message (connection_id, published_at) where state = 'PUBLISHED'
  and (network_id >= 'bridge:' and network_id < 'bridge;' or network_id >= 'wamid.' and network_id < 'wamid/');

-- How long shared commits took, so that the log can show the whole duration of accepted requests. A commit's row is
-- written with the next commit, so only the row of the last commit before a crash is missing.
create table accept_commit (
  last_sequence integer primary key,
  first_sequence integer not null,
  took_us integer not null
) strict;

-- Requests with a known token that made no message: refusals, and repeats under an idempotency key.
create table request (
  sequence integer primary key,
  account_id text not null,
  token_id text not null,
  request_id text not null,
  received_at integer not null,
  took_us integer not null,
  status integer not null,
  code text not null,
  -- JSON: the errors by field. Null for a repeat.
  errors text,
  body text,
  message_id text,
  remote_address text,
  user_agent text,
  body_deleted_at integer,
  -- How many refused requests the row stands for, and when the first of them arrived. Null: the row is one request.
  summed_requests integer,
  summed_since integer,
  -- Of a repeat: the state in which it found its message. The answer follows from it.
  message_state text
) strict;

-- Accepting a message writes to none of these.
create index request_of_account on request (account_id);
create index request_repeats on request (account_id) where message_id is not null;
create index request_id on request (account_id, request_id);
-- For the timeline of a message: the repeats that asked for it again.
create index request_message on request (message_id) where message_id is not null;

create table idempotency (
  account_id text not null,
  key text not null,
  fingerprint text not null,
  message_sequence integer not null,
  accepted_at integer not null,
  primary key (account_id, key)
) strict, without rowid;

create index idempotency_age on idempotency (accepted_at);

-- Attempts that ended.
create table attempt (
  message_sequence integer not null,
  number integer not null,
  started_at integer not null,
  ended_at integer not null,
  outcome text not null,
  code text,
  words text,
  -- JSON of AttemptFacts. Null: there are none.
  facts text,
  primary key (message_sequence, number)
) strict, without rowid;

-- Events of a message that have no row of their own: waits, receipts, recoveries, actions of people.
create table timeline (
  message_sequence integer not null,
  position integer not null,
  at integer not null,
  kind text not null,
  code text,
  words text,
  facts text,
  primary key (message_sequence, position)
) strict, without rowid;

create table media (
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

create index media_pending on media (account_id, message_sequence) where state = 'pending';
create index media_spool on media (message_sequence) where state = 'ready';


-- Lanes and workers

-- Workers that dispatch. A claim is valid until its owner's heartbeat has run out.
create table worker (
  id text primary key,
  heartbeat_until integer not null,
  host text,
  pid integer,
  -- Separated by commas, such as `api,dispatch`.
  roles text,
  version text,
  started_at integer
) strict, without rowid;

-- The state of a lane. A connection without a row has never had a lane.
create table lane (
  connection_id text primary key,
  owner text,
  epoch integer not null default 0,
  -- JSON of FailureStreak.
  failure_streak text,
  wait_reason text,
  wait_words text,
  wait_until integer,
  -- Since when it has waited for this reason.
  wait_since integer,
  last_attempt_at integer,
  -- When the network last called back about the connection, to within a minute. Null: never, or it does not call back.
  last_report_at integer
) strict, without rowid;

-- The lane in order of acceptance: every unfinished message up to the mark, and a short tail of finished ones. A thousand
-- lanes keep their entries on a thousand pages, and writing one of them for each message that is accepted or settled was
-- a third of the cost of either. So an entry is made a moment after the acceptance, together with many others and only if
-- the message still waits, and is removed when the lane has moved on by a whole run.
create table lane_entry (
  connection_id text not null,
  sequence integer not null,
  primary key (connection_id, sequence)
) strict, without rowid;

-- Messages above the mark have no entry yet.
create table indexed_through (
  only integer primary key check (only = 1),
  sequence integer not null
) strict;
insert into indexed_through (only, sequence) values (1, 0);

-- Unfinished messages. Query this and not lane_entry. The first join must begin with the lane: from the other side it
-- would read every message of the database.
create view waiting as
  select lane_entry.connection_id, lane_entry.sequence, message.id, message.account_id, message.type, message.recipient,
      message.attempts, message.accepted_at
    from lane_entry cross join message on message.sequence = lane_entry.sequence
    where message.state = 'QUEUED' and lane_entry.sequence <= (select sequence from indexed_through)
  union all
  select connection_id, sequence, id, account_id, type, recipient, attempts, accepted_at
    from message
    where sequence > (select sequence from indexed_through) and state = 'QUEUED';

-- Lanes that another process changed. The service reads these rows when it notices that another process has written.
create table lane_change (
  position integer primary key,
  connection_id text not null
) strict;

-- At most one attempt of a connection is open: the primary key enforces it (G2).
create table open_attempt (
  connection_id text primary key,
  message_sequence integer not null,
  number integer not null,
  epoch integer not null,
  started_at integer not null,
  crashes integer not null default 0,
  evidence_until integer,
  words text,
  -- The message whose attempt was open when all lanes were last held. The database may have gone back since, and later
  -- attempts of that message may be missing from it. So proof that this attempt did not arrive proves nothing (G12).
  possibly_superseded_sequence integer
) strict, without rowid;

-- Times in which a lane, or all lanes, could send nothing: the waits in timelines are derived from them. The wait of a lane is
-- written when it ends, if it was long enough to be shown.
create table standstill (
  -- '' for all lanes.
  connection_id text not null,
  -- A code of core/reasons.ts.
  reason text not null,
  since integer not null,
  -- Null: it is not over.
  until integer,
  words text,
  -- As in the audit log. Null: it began or ended by itself.
  begun_by text,
  ended_by text,
  primary key (connection_id, since, reason)
) strict, without rowid;

-- For retention.
create index standstill_ended on standstill (until);

-- While there is a row here no attempt is opened, until a person releases the lanes (G12).
create table hold (
  only integer primary key check (only = 1),
  since integer not null,
  reason text not null
) strict;

-- Counts up for as long as the database lives. A database whose count is below the one that a process remembers has gone
-- back (G12).
create table checkpoint (
  only integer primary key check (only = 1),
  installation text not null,
  mark integer not null,
  -- How often all lanes have been held.
  holds integer not null default 0
) strict;
insert into checkpoint (only, installation, mark) values (1, lower(hex(randomblob(16))), 1);


-- Channels and recipients

-- What channels store, by channel and kind. A position is never given twice: a reader that goes on after the last
-- position would miss an entry in the place of a removed one.
create table channel_memory (
  position integer primary key autoincrement,
  kind text not null,
  connection_id text not null,
  key text not null,
  value text not null,
  at integer not null,
  -- When a worker hands the entry back to its channel. Null: never.
  remind_at integer,
  unique (kind, connection_id, key)
) strict;

create index channel_memory_reminders on channel_memory (kind, remind_at) where remind_at is not null;
-- What one sandbox connection delivered, newest first, whatever others deliver.
create index channel_memory_inbox on channel_memory (connection_id, position) where kind = 'sandbox.inbox';

-- The session of a connection whose channel has sessions: its lane is claimed even with nothing to send.
create table channel_session (
  connection_id text primary key,
  -- Sealed. It encrypts the credentials, and the values of the session's keys.
  data_key text not null,
  credentials blob not null,
  -- How often all lanes had been held when the session was last reset. Another number in `checkpoint` means that the
  -- database may have gone back, and that its keys may have been used already (G12).
  holds integer not null
) strict, without rowid;

create table channel_session_key (
  connection_id text not null,
  kind text not null,
  id text not null,
  -- The number that it is about; null when it is about none.
  recipient text,
  value blob not null,
  primary key (connection_id, kind, id)
) strict, without rowid;

-- The status of a connection’s session, as the worker of its lane wrote it last.
create table session_status (
  connection_id text primary key,
  -- `ready`, or what keeps it from that.
  status text not null,
  since integer not null,
  -- The code with which the network ended the last line; null when it ended without one.
  code integer,
  -- Until when the network refuses the number; null when it did not say.
  refused_until integer,
  -- When it was ready last.
  ready_at integer,
  -- The device as the network numbers it, and the version of the client, at the last login.
  device text,
  version text
) strict, without rowid;

-- What a person wants of a session. The process that asks and the worker that holds the lane may differ.
create table session_request (
  connection_id text primary key,
  id text not null,
  kind text not null check (kind in ('qr', 'code', 'use-here', 'unlink')),
  requested_by text not null,
  person_id text,
  -- It ends when it has not been watched since then.
  watched_until integer not null,
  -- As the worker wrote it last, in JSON.
  progress text not null,
  -- Sealed: the code that the phone must be shown; null while there is none.
  code text,
  ended_at integer,
  -- When devices were linked in the last hour, in JSON: each try is a login at the network.
  begun text not null
) strict, without rowid;

-- One row for each account that has ever blocked a recipient.
create table block_list (
  account_id text primary key references account (id),
  entries integer not null default 0,
  -- Sealed. The key for hashes of erased numbers. Null until one was erased.
  hash_key text
) strict, without rowid;

create table blocked_recipient (
  account_id text not null references account (id),
  -- The number. For an erased person, `h:` and a keyed hash of the number.
  recipient text not null,
  -- As it was given.
  reason text,
  since integer not null,
  blocked_by text not null,
  primary key (account_id, recipient)
) strict, without rowid;


-- Webhooks

create table webhook (
  id text not null,
  account_id text not null,
  url text not null,
  description text not null,
  -- A JSON list of notice kinds.
  kinds text not null,
  -- `enabled`, `disabled` by a person, `failing`: disabled automatically, `removed`: its rows are being deleted.
  state text not null,
  state_reason text,
  -- Sealed. The old secret also signs until its time ends.
  secret text not null,
  old_secret text,
  old_secret_until integer,
  created_at integer not null,
  created_by text not null,
  -- Since when every try has failed. Null after a try that succeeded.
  failing_since integer,
  -- How many tries have failed since then.
  failed_tries integer not null default 0,
  last_delivered_at integer,
  -- How many deliveries were dropped because too many waited, since the webhook was made.
  dropped integer not null default 0,
  -- When one of its deliveries was last taken. The webhook that has waited longest goes first.
  served_at integer not null default 0,
  primary key (account_id, id)
) strict;

-- The notice kinds that the enabled webhooks of an account want. Read by everything that changes the state of a message.
create table notice_want (
  account_id text not null,
  kind text not null,
  primary key (account_id, kind)
) strict, without rowid;

-- Events to announce, in the order in which they were recorded. The notice of a message is written in the transaction
-- that changes the message.
create table notice (
  position integer primary key autoincrement,
  -- The id that receivers see.
  id text not null,
  account_id text not null,
  kind text not null,
  at integer not null,
  -- Prevents a second notice of the same event. Null for notices of messages, of which each comes from one change.
  key text,
  message_sequence integer,
  data text not null,
  -- 1 until deliveries have been made of it.
  is_new integer not null default 1
) strict;

create unique index notice_key on notice (account_id, key) where key is not null;
-- By account, so that an account with very many notices does not delay those of others.
create index notice_new on notice (account_id, position) where is_new = 1;
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
  -- Tries before it was replayed. Its schedule began again after them.
  tries_before integer not null default 0,
  created_at integer not null,
  -- When it is due. During a try: when another worker may take it.
  next_try_at integer,
  -- Id of the running try, so that a late worker writes nothing.
  claim text,
  ended_at integer,
  -- Result of the last try, or why there was none.
  last_status integer,
  last_code text,
  -- The posted text, byte for byte the same at each try.
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
  -- The beginning of the response.
  excerpt text,
  primary key (account_id, webhook_id, notice_position, number)
) strict, without rowid;


-- People and the audit log

create table person (
  id text primary key,
  email text not null,
  -- The e-mail address in lower case, by which people are found.
  email_key text not null unique,
  name text not null,
  -- Argon2id, as a PHC string. Null: this person has no password and signs in by other means.
  password_hash text,
  created_at integer not null,
  last_sign_in_at integer
) strict, without rowid;

create table membership (
  account_id text not null references account (id),
  person_id text not null references person (id),
  role text not null check (role in ('viewer', 'developer', 'owner')),
  joined_at integer not null,
  primary key (account_id, person_id)
) strict, without rowid;

create index membership_of_person on membership (person_id);

-- Sessions that have ended are deleted.
create table session (
  id text primary key,
  -- Of the 256 random bits in the cookie, which are not stored.
  sha256 blob not null unique,
  person_id text not null references person (id),
  proof text not null,
  is_kept integer not null,
  started_at integer not null,
  last_used_at integer not null,
  ends_at integer not null,
  proven_at integer not null,
  remote_address text,
  user_agent text
) strict, without rowid;

create index session_of_person on session (person_id);
create index session_end on session (ends_at);

-- One-time links for first setup, invitations and new passwords. Only the hash of their 256 random bits is stored.
create table person_link (
  id text primary key,
  sha256 blob not null unique,
  kind text not null check (kind in ('set-up', 'invitation', 'reset-password')),
  -- For `reset-password`: the person.
  person_id text references person (id),
  -- For `invitation`: the account, and the role and e-mail address in it.
  account_id text references account (id),
  role text,
  email text,
  created_at integer not null,
  created_by text not null,
  -- The person who made it: it works while they are an owner of the account. Null: made by the operator.
  maker_id text references person (id),
  expires_at integer not null,
  -- When it was used or withdrawn.
  used_at integer
) strict, without rowid;

create index person_link_of_account on person_link (account_id) where used_at is null;

-- Codes of six digits from an authenticator app.
create table totp (
  person_id text primary key references person (id),
  -- Sealed. Null until it was confirmed once.
  secret blob,
  confirmed_at integer,
  -- The period of 30 seconds of the last code. Codes of this period and of earlier ones are used up.
  last_step integer,
  -- Sealed. Replaces the secret as soon as it is confirmed.
  begun_secret blob
) strict, without rowid;

create table passkey (
  id text primary key,
  person_id text not null references person (id),
  -- As browsers name it, base64url.
  credential_id text not null unique,
  public_key blob not null,
  sign_count integer not null,
  -- A JSON list.
  transports text not null,
  name text not null,
  created_at integer not null,
  last_used_at integer
) strict, without rowid;

create index passkey_of_person on passkey (person_id);

create table recovery_code (
  person_id text not null references person (id),
  sha256 blob not null,
  used_at integer,
  primary key (person_id, sha256)
) strict, without rowid;

-- Tries to sign in, counted by account, device and network address.
create table sign_in_throttle (
  key text primary key,
  tries integer not null,
  counted_from integer not null,
  last_at integer not null
) strict, without rowid;

create index sign_in_throttle_age on sign_in_throttle (last_at);

-- Browsers that a person has signed in with, by the hash of a cookie. Wrong passwords from elsewhere do not slow them down.
create table known_device (
  person_id text not null references person (id),
  sha256 blob not null,
  used_at integer not null,
  primary key (person_id, sha256)
) strict, without rowid;

-- Challenges sent to a browser: for the second step of signing in, and for passkeys.
create table sign_in_ticket (
  sha256 blob primary key,
  kind text not null,
  person_id text references person (id),
  content text not null,
  expires_at integer not null
) strict, without rowid;

create index sign_in_ticket_end on sign_in_ticket (expires_at);

create table audit (
  sequence integer primary key,
  at integer not null,
  actor text not null,
  account_id text,
  action text not null,
  object text not null,
  detail text,
  -- Null: not done by a person in the console.
  person_id text,
  remote_address text,
  user_agent text
) strict;

create index audit_of_account on audit (account_id, sequence);
create index audit_of_person on audit (person_id, sequence) where account_id is null;

-- The key ring with which the secrets in this database are sealed. Checked at every start.
create table key_ring (
  only integer primary key check (only = 1),
  -- The current key when everything was last sealed again.
  key_id text not null,
  -- A known text, sealed with that key.
  canary text not null
) strict;


-- Overview and alarms

-- How many messages of an hour of acceptance came to which end, when that hour was last counted. The sum of an account
-- has the connection ''. `state` is one of contract/console/overview.ts (TALLIED).
create table tally (
  account_id text not null,
  connection_id text not null,
  hour integer not null,
  state text not null,
  count integer not null,
  primary key (account_id, connection_id, hour, state)
) strict, without rowid;

create index tally_of_hour on tally (hour);
-- Hours in which a message still waits are counted again, however old they are.
create index tally_waiting on tally (hour) where state = 'waiting' and connection_id = '';

-- Messages that failed and are not resolved: by reason, and when the latest of them was accepted.
create table tally_reason (
  account_id text not null,
  hour integer not null,
  state text not null,
  reason text not null,
  count integer not null,
  latest_at integer not null,
  primary key (account_id, hour, state, reason)
) strict, without rowid;

create index tally_reason_of_hour on tally_reason (hour);

-- Hours that have been counted, by the millisecond in which they began.
create table tally_hour (
  hour integer primary key,
  counted_at integer not null
) strict;

create table alarm (
  id integer primary key autoincrement,
  -- Null: it concerns the whole installation.
  account_id text,
  kind text not null,
  -- The id of the thing it concerns.
  object text not null,
  severity text not null,
  -- JSON: the values in its sentence.
  facts text not null,
  since integer not null,
  raised_at integer not null,
  changed_at integer not null,
  cleared_at integer,
  -- Whether its current state has been announced.
  is_announced integer not null
) strict;

create unique index alarm_open on alarm (kind, object) where cleared_at is null;
create index alarm_of_account on alarm (account_id, id);
create index alarm_unannounced on alarm (id) where is_announced = 0;
create index alarm_cleared on alarm (cleared_at) where cleared_at is not null;


-- Retention

-- Days after which data of an account are deleted, where that is sooner than the installation says.
create table account_retention (
  account_id text primary key references account (id),
  bodies_days integer,
  messages_days integer
) strict, without rowid;

-- How far each scan has come in the order of acceptance: of one account, or of all under the account ''.
create table retention_mark (
  account_id text not null,
  what text not null,
  position integer not null,
  primary key (account_id, what)
) strict, without rowid;

-- Messages that a scan has passed and left, because they were not finished. They are checked again.
create table retention_kept (
  account_id text not null,
  message_sequence integer not null,
  what text not null,
  primary key (account_id, message_sequence, what)
) strict, without rowid;

create table retention_state (
  only integer primary key check (only = 1),
  -- Nothing is deleted before this time, and why not.
  begins_at integer not null,
  waits_for text,
  -- The process that sweeps, and until when no other process does.
  swept_by text,
  swept_until integer not null default 0,
  -- Of the last sweep that finished. `counts` is JSON.
  begun_at integer,
  ended_at integer,
  took_ms integer,
  counts text
) strict;
insert into retention_state (only, begins_at) values (1, 0);
