-- Why: people look at what one sandbox connection delivered, from the newest on, however much others deliver.
-- Locks: channel_memory for the moment that the index takes, about a second for a million deliveries.
-- breaking: no

create index channel_memory_inbox on channel_memory (connection_id, position) where kind = 'sandbox.inbox';
