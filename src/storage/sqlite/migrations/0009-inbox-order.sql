-- Why: people look at what one sandbox connection delivered, from the newest on, however much others deliver.
-- Locks: the database, while the index is made: about a second for a million deliveries.
-- breaking: no

create index channel_memory_inbox on channel_memory (connection_id, position) where kind = 'sandbox.inbox';
