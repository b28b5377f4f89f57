-- Why: a channel is reminded of what it remembers when its time has come, by whichever worker lives then.
-- Locks: what channels remember, while the receipts that are to come are marked: at most a second for a million rows.
-- breaking: no

-- Null: nobody is to be reminded of it.
alter table channel_memory add column remind_at integer;
create index channel_memory_reminders on channel_memory (kind, remind_at) where remind_at is not null;

update channel_memory set remind_at = json_extract(value, '$.dueAt') where kind = 'sandbox.receipt';
