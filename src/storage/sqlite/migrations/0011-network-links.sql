-- Why: a connection hangs on a network by what that network knows its number by, callbacks come to an address that tells
-- whose they are, and reports may name no more than the network's own id of a message.
-- Locks: the database, while the index on messages is made: some seconds for ten million of them.
-- breaking: no

-- What the network knows the number by, and the last part of the address for its callbacks.
alter table connection add column network_key text;
alter table connection add column callback_app text;
create unique index connection_network_key on connection (channel, network_key)
  where state <> 'removed' and network_key is not null;
-- Removed ones too: reports about them still come.
create index connection_callback_app on connection (callback_app) where callback_app is not null;

-- Only of networks whose reports need it, so that all others pay nothing: ids that begin with `wamid.`
create index message_network_id on message (network_id) where network_id >= 'wamid.' and network_id < 'wamid/';
