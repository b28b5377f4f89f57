-- Why: behind a pooler connections outlive the server, so nobody looked at a standby that was promoted, and it sent again what it knew
-- nothing of. Now the database remembers which server was last looked at.
-- Locks: nothing.
-- breaking: no

create table known_server (
  "only" integer primary key check ("only" = 1),
  -- Drawn when its data folder was made. Its standbys have the same.
  id text not null,
  -- Counts the promotions of standbys.
  timeline integer not null,
  -- Whether standbys confirmed the last heartbeat, so that one which knows this has all before it.
  is_synchronous boolean not null default false
);

-- include functions/known-server.sql
-- include functions/hold.sql
-- include functions/note-in-turn.sql
-- include functions/write-step.sql
