-- Why: what a repeat under an idempotency key was answered was worked out of the story of its message, whose times are those of the
-- network and not those of arrival. So the API log could show another answer than was given.
-- Locks: what was refused and repeats, for a moment: no row is rewritten.
-- breaking: no

-- Of a repeat: the state in which its message was found, from which the answer follows. Null in what older versions wrote.
alter table request add column message_state text collate "C";

-- include functions/accept-keys.sql
