-- Printed from the migrations by `npm run generate`. Do not edit.

CREATE INDEX alarm_cleared on alarm (cleared_at) where cleared_at is not null;

CREATE INDEX alarm_of_account on alarm (account_id, id);

CREATE UNIQUE INDEX alarm_open on alarm (kind, object) where cleared_at is null;

CREATE INDEX alarm_untold on alarm (id) where is_told = 0;

CREATE INDEX audit_of_account on audit (account_id, sequence);

CREATE INDEX audit_of_person on audit (person_id, sequence) where account_id is null;

CREATE INDEX blocked_recipient_version on blocked_recipient (account_id, version);

CREATE INDEX channel_memory_inbox on channel_memory (connection_id, position) where kind = 'sandbox.inbox';

CREATE INDEX channel_memory_reminders on channel_memory (kind, remind_at) where remind_at is not null;

CREATE INDEX connection_callback_app on connection (callback_app) where callback_app is not null;

CREATE UNIQUE INDEX connection_network_key on connection (channel, network_key)
  where state <> 'removed' and network_key is not null;

CREATE UNIQUE INDEX connection_number on connection (account_id, number) where state <> 'removed';

CREATE INDEX delivery_claimed on delivery (account_id, webhook_id) where claim is not null;

CREATE INDEX delivery_due on delivery (account_id, webhook_id, next_try_at) where state = 'waiting';

CREATE INDEX delivery_of_notice on delivery (notice_position);

CREATE INDEX delivery_waiting on delivery (account_id, webhook_id, notice_position) where state = 'waiting';

CREATE INDEX idempotency_age on idempotency (accepted_at);

CREATE INDEX media_pending on media (account_id, message_sequence) where state = 'pending';

CREATE INDEX media_spool on media (message_sequence) where state = 'ready';

CREATE INDEX membership_of_person on membership (person_id);

CREATE INDEX message_network_id on message (network_id) where network_id >= 'wamid.' and network_id < 'wamid/';

CREATE INDEX message_of_account on message (account_id);

CREATE INDEX message_unresolved on message (sequence) where state = 'UNCONFIRMED' and resolved_at is null;

CREATE INDEX message_with_reason on message (account_id) where reason is not null;

CREATE UNIQUE INDEX notice_key on notice (account_id, key) where key is not null;

CREATE INDEX notice_new on notice (account_id, position) where is_new = 1;

CREATE INDEX notice_of_message on notice (message_sequence) where message_sequence is not null;

CREATE INDEX passkey_of_person on passkey (person_id);

CREATE INDEX person_link_of_account on person_link (account_id) where used_at is null;

CREATE INDEX request_id on request (account_id, request_id);

CREATE INDEX request_message on request (message_id) where message_id is not null;

CREATE INDEX request_of_account on request (account_id);

CREATE INDEX request_repeats on request (account_id) where message_id is not null;

CREATE INDEX session_end on session (ends_at);

CREATE INDEX session_of_person on session (person_id);

CREATE INDEX sign_in_throttle_age on sign_in_throttle (last_at);

CREATE INDEX sign_in_ticket_end on sign_in_ticket (expires_at);

CREATE INDEX tally_of_hour on tally (hour);

CREATE INDEX tally_reason_of_hour on tally_reason (hour);

CREATE INDEX tally_waiting on tally (hour) where state = 'waiting' and connection_id = '';

CREATE INDEX token_end on token (expires_at) where deleted_at is null;

CREATE INDEX token_listed on token (account_id, created_at, id);

CREATE UNIQUE INDEX token_name on token (account_id, name) where deleted_at is null;

CREATE UNIQUE INDEX token_successor on token (successor_id) where successor_id is not null;

CREATE TABLE accept_commit (
  last_sequence integer primary key,
  first_sequence integer not null,
  took_us integer not null
) strict;

CREATE TABLE account (
  id text primary key,
  name text not null unique,
  created_at integer not null
, requires_second_factor integer not null default 0) strict, without rowid;

CREATE TABLE account_retention (
  account_id text primary key references account (id),
  bodies_days integer,
  messages_days integer
) strict, without rowid;

CREATE TABLE alarm (
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
, person_id text, remote_address text, user_agent text) strict;

CREATE TABLE block_list (
  account_id text primary key references account (id),
  -- Grows with every change of any list, so that whoever has read them up to one need read no more than came after.
  version integer not null unique,
  -- How often entries were taken out: who has read the list before such a time must read all of it anew.
  removals integer not null default 0,
  entries integer not null default 0,
  -- Sealed. What makes the hash of a number that was erased; null until one was.
  hash_key text
) strict, without rowid;

CREATE TABLE blocked_recipient (
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
, network_key text, callback_app text) strict, without rowid;

CREATE TABLE delivery (
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

CREATE TABLE delivery_try (
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

CREATE TABLE key_ring (
  only integer primary key check (only = 1),
  -- The key that all was sealed with when it was last sealed anew as a whole.
  key_id text not null,
  -- A known text, sealed with that key.
  canary text not null
) strict;

CREATE TABLE known_device (
  person_id text not null references person (id),
  sha256 blob not null,
  used_at integer not null,
  primary key (person_id, sha256)
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

CREATE TABLE membership (
  account_id text not null references account (id),
  person_id text not null references person (id),
  role text not null check (role in ('viewer', 'developer', 'owner')),
  joined_at integer not null,
  primary key (account_id, person_id)
) strict, without rowid;

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
, body_deleted_at integer) strict;

CREATE TABLE migration (number integer primary key, name text not null, breaking integer not null) strict;

CREATE TABLE notice (
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

CREATE TABLE notice_want (
  account_id text not null,
  kind text not null,
  primary key (account_id, kind)
) strict, without rowid;

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

CREATE TABLE passkey (
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

CREATE TABLE person (
  id text primary key,
  email text not null,
  -- The e-mail in lower case: what is looked up.
  email_key text not null unique,
  name text not null,
  -- Argon2id, as a PHC string. Null: this person has no password and signs in otherwise.
  password_hash text,
  created_at integer not null,
  last_sign_in_at integer
) strict, without rowid;

CREATE TABLE person_link (
  id text primary key,
  sha256 blob not null unique,
  kind text not null check (kind in ('set-up', 'invitation', 'reset-password')),
  -- Whose password it resets.
  person_id text references person (id),
  -- Whom it invites, and into what.
  account_id text references account (id),
  role text,
  email text,
  created_at integer not null,
  created_by text not null,
  expires_at integer not null,
  -- When it was used, or withdrawn.
  used_at integer
) strict, without rowid;

CREATE TABLE recovery_code (
  person_id text not null references person (id),
  sha256 blob not null,
  used_at integer,
  primary key (person_id, sha256)
) strict, without rowid;

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
, body_deleted_at integer, summed_requests integer, summed_since integer, message_state text) strict;

CREATE TABLE retention_kept (
  account_id text not null,
  message_sequence integer not null,
  what text not null,
  primary key (account_id, message_sequence, what)
) strict, without rowid;

CREATE TABLE retention_mark (
  account_id text not null,
  what text not null,
  position integer not null,
  primary key (account_id, what)
) strict, without rowid;

CREATE TABLE retention_state (
  only integer primary key check (only = 1),
  -- Nothing is deleted before, and why not.
  begins_at integer not null,
  waits_for text,
  -- Who sweeps, and until when nobody else does.
  swept_by text,
  swept_until integer not null default 0,
  -- Of the last sweep that came to its end. `counts` is JSON.
  begun_at integer,
  ended_at integer,
  took_ms integer,
  counts text
) strict;

CREATE TABLE session (
  id text primary key,
  -- Of the 256 random bits in the cookie, which are stored nowhere.
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

CREATE TABLE sign_in_throttle (
  key text primary key,
  tries integer not null,
  counted_from integer not null,
  last_at integer not null
) strict, without rowid;

CREATE TABLE sign_in_ticket (
  sha256 blob primary key,
  kind text not null,
  person_id text references person (id),
  content text not null,
  expires_at integer not null
) strict, without rowid;

CREATE TABLE tally (
  account_id text not null,
  connection_id text not null,
  hour integer not null,
  state text not null,
  count integer not null,
  primary key (account_id, connection_id, hour, state)
) strict, without rowid;

CREATE TABLE tally_hour (
  hour integer primary key,
  counted_at integer not null
) strict;

CREATE TABLE tally_reason (
  account_id text not null,
  hour integer not null,
  state text not null,
  reason text not null,
  count integer not null,
  latest_at integer not null,
  primary key (account_id, hour, state, reason)
) strict, without rowid;

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
, created_by text, successor_id text) strict, without rowid;

CREATE TABLE totp (
  person_id text primary key references person (id),
  -- Null until it was confirmed once.
  secret blob,
  confirmed_at integer,
  -- The 30 seconds that the last code belonged to: codes of this step and of earlier ones are used up.
  last_step integer,
  -- What is to replace it, as soon as it is confirmed.
  begun_secret blob
) strict, without rowid;

CREATE TABLE webhook (
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
