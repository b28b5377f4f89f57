-- Why: a lane is handed what was accepted in its own process, and opens it without a look, if nothing waits before it (G3).
-- Locks: nothing. `record_step` and `record_steps` stay, for machines that have not been upgraded yet.
-- breaking: no

-- include functions/write-steps.sql
