-- Why: secrets lie sealed in the database. What is in this table tells at every start whether the key ring is the one
-- that they are sealed with.
-- Locks: the database, for a moment.
-- breaking: no

create table key_ring (
  only integer primary key check (only = 1),
  -- The key that all was sealed with when it was last sealed anew as a whole.
  key_id text not null,
  -- A known text, sealed with that key.
  canary text not null
) strict;
