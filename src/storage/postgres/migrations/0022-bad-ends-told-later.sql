-- Why: what the network reported to have failed, or to be unknown once more, counted as dealt with, and nobody was told of it. The
-- first receipt of delivery took away that a message may have arrived twice, and one that met an erasure wrote words of the network
-- back. What waited in a restored database expired before a person could look. A clock that had been ahead kept old days from going.
-- Locks: of `settled` the rows that are mended alone, until the end of this: they are found by the index of what was not sent. Only
-- reports about just those messages wait meanwhile.
-- breaking: no

-- include functions/apply-receipts.sql
-- include functions/expire.sql
-- include functions/open-period.sql

-- What a person has resolved is PUBLISHED, or was sent again. By the index, although statistics may say otherwise.
set local enable_seqscan = off;
update settled set resolved_at = null
  where state in ('FAILED', 'UNCONFIRMED') and resolved_at is not null and resent_as is null;
