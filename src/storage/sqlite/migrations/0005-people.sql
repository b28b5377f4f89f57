-- Why: people sign in to the console, with sessions, second factors and roles in accounts; and the audit log tells who a
-- change came from, and where from.
-- Locks: the tables of accounts and of the audit log, for a moment.
-- breaking: no

-- 1: nobody without a second factor may look at this account.
alter table account add column requires_second_factor integer not null default 0;

-- Null: it was no person of the console.
alter table audit add column person_id text;
alter table audit add column remote_address text;
alter table audit add column user_agent text;
create index audit_of_account on audit (account_id, sequence);
create index audit_of_person on audit (person_id, sequence) where account_id is null;

create table person (
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

create table membership (
  account_id text not null references account (id),
  person_id text not null references person (id),
  role text not null check (role in ('viewer', 'developer', 'owner')),
  joined_at integer not null,
  primary key (account_id, person_id)
) strict, without rowid;
create index membership_of_person on membership (person_id);

-- A session that has ended has no row.
create table session (
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
create index session_of_person on session (person_id);
create index session_end on session (ends_at);

-- Links by which people come in. Each works once; its 256 random bits are stored nowhere, only their hash.
create table person_link (
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
create index person_link_of_account on person_link (account_id) where used_at is null;

-- Codes of six digits from an app.
create table totp (
  person_id text primary key references person (id),
  -- Null until it was confirmed once.
  secret blob,
  confirmed_at integer,
  -- The 30 seconds that the last code belonged to: codes of this step and of earlier ones are used up.
  last_step integer,
  -- What is to replace it, as soon as it is confirmed.
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

-- Browsers that a person has signed in with, by the hash of a cookie: others' guesses do not slow them down.
create table known_device (
  person_id text not null references person (id),
  sha256 blob not null,
  used_at integer not null,
  primary key (person_id, sha256)
) strict, without rowid;

-- Questions put to a browser: the second step of signing in, and those for passkeys.
create table sign_in_ticket (
  sha256 blob primary key,
  kind text not null,
  person_id text references person (id),
  content text not null,
  expires_at integer not null
) strict, without rowid;
create index sign_in_ticket_end on sign_in_ticket (expires_at);
