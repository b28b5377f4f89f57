-- Why: the console shows the API log of one account, and what went wrong in it, page by page.
-- Locks: the whole database while the indexes are built: some seconds for each million messages.
-- breaking: no

-- Each ends with the sequence, as every index here does. An account's own rows lie behind one another in it, so a page
-- of a small account costs nothing for what large ones have sent.
create index message_of_account on message (account_id);
-- What went wrong is looked for among millions that did not. By the reason, which each of them has and hardly any other:
-- to look whether there is one costs an acceptance nothing that could be measured, unlike a list of states.
create index message_with_reason on message (account_id) where reason is not null;

-- No acceptance writes to this table.
create index request_of_account on request (account_id);
create index request_repeats on request (account_id) where message_id is not null;
create index request_id on request (account_id, request_id);
