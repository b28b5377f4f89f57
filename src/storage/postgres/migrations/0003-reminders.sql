-- Why: a channel is reminded of what it remembers when its time has come, by whichever worker lives then.
-- Locks: what channels remember, for a moment.
-- breaking: no

-- Null: nobody is to be reminded of it.
alter table channel_memory add column remind_at bigint;
create index channel_memory_reminders on channel_memory (kind, remind_at) where remind_at is not null;

-- include functions/channel-memory.sql
