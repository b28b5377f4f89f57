-- Why: a message that would be sent once more ends when its network tells that it has arrived after all.
-- Locks: nothing; a new function.
-- breaking: no

-- include functions/evidence.sql
