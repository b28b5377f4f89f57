-- Why: servers before version 18 do not see where a range of rows ends. For each message that was sent they read on through all
-- that its account had waiting, also through what a vacuum had still to clear away: after a minute of load hardly anything was sent.
-- Locks: nothing. The parameters and what they mean stay, so machines that have not been upgraded yet use it too.
-- breaking: no

-- include functions/write-step.sql
-- include functions/write-steps.sql
-- include functions/record.sql
-- include functions/accept-keys.sql
-- include functions/media.sql
-- include functions/expire.sql

-- They are told the connection now.
drop function if exists busy_steps(text[], bigint[], bigint[], integer[], bigint[]);
drop function if exists is_locked(text, bigint);
drop function if exists settle_orphan(text, bigint, boolean, bigint);
drop function if exists end_queued(text, bigint, text, text, text, bigint);
drop function if exists lock_queued(text, bigint);
drop function if exists fail_for_media(text, bigint, text, text, bigint);
