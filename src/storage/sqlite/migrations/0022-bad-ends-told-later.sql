-- Why: what the network reported to have failed, or to be unknown once more, counted as dealt with, and nobody was told of it.
-- Locks: the database, for as long as it takes to look at what was not sent.
-- breaking: no

-- What a person has resolved is PUBLISHED, or was sent again. What the network says of a bad end always has a reason.
update message indexed by message_with_reason set resolved_at = null
  where reason is not null and state in ('FAILED', 'UNCONFIRMED') and resolved_at is not null and resent_as is null;
