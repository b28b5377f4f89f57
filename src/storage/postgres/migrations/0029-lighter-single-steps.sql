-- Why: a single lane waits for each of its steps, and each made ready what most steps have no use for: a look at what comes before
-- a message that nothing can come before, a statement of its own to see that the server is the known one, and a list of the one row
-- that moves.
-- Locks: nothing. The parameters and what they mean stay, so machines that have not been upgraded yet use it too.
-- breaking: no

-- include functions/write-step.sql
