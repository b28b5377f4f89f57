-- Why: a connection hangs on a network by what that network knows its number by, callbacks come to an address that tells
-- whose they are, and reports may name no more than the network's own id of a message.
-- Locks: connection and the messages that have ended, while each index is made: some seconds for ten million of them. Old
-- code goes on, but its reports wait until it is replaced.
-- breaking: no

-- What the network knows the number by, and the last part of the address for its callbacks.
alter table connection add column network_key text collate "C";
alter table connection add column callback_app text collate "C";
create unique index connection_network_key on connection (channel, network_key)
  where state <> 'removed' and network_key is not null;
-- Removed ones too: reports about them still come.
create index connection_callback_app on connection (callback_app) where callback_app is not null;

-- Only of networks whose reports need it, so that all others pay nothing.
create index settled_network_id on settled (network_id) where network_id like 'wamid.%';

-- On a database that is made just now they are as new already.
drop function find_targets;
drop function if exists find_network_targets;
drop function apply_receipts;
drop type receipt_target;
-- include functions/receipts.sql
-- include functions/apply-receipts.sql
