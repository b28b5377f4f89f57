-- Why: the console shows what became of a month of messages, and must not count them each time it is asked.
-- Locks: nothing; new tables.
-- breaking: no

-- How many messages that were accepted in an hour came to which end, as of when that hour was counted. An account's
-- whole stands under the connection ''. `state` is one of contract/console/overview.ts (TALLIED).
create table tally (
  account_id text collate "C" not null,
  connection_id text collate "C" not null,
  hour bigint not null,
  state text collate "C" not null,
  count bigint not null,
  primary key (account_id, connection_id, hour, state)
);
create index tally_of_hour on tally (hour);
-- Hours in which something still waits are counted again, however old they are.
create index tally_waiting on tally (hour) where state = 'waiting' and connection_id = '';

-- Of those that came to a bad end which nobody has dealt with: why, and when the latest was accepted.
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

-- By the millisecond in which it began. Without a row, an hour was never counted.
create table tally_hour (
  hour bigint primary key,
  counted_at bigint not null
);
