-- Why: an attempt that was open when the database went back may have been followed by others that it knows nothing of. That
-- this one did not arrive, says nothing then (G12).
-- Locks: none to speak of; one row for each connection.
-- breaking: no

-- The message whose attempt was open when all lanes were held the last time.
alter table open_attempt add column doubted_sequence bigint;
