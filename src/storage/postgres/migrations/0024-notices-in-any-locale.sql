-- Why: in a database of Turkish or Azerbaijani words nobody was told what became of messages: the names of the notices were made by
-- the rules of its locale, and were names of nothing.
-- Locks: nothing. The parameters and what they mean stay, so machines that have not been upgraded yet use it too.
-- breaking: no

-- include functions/announce-messages.sql
