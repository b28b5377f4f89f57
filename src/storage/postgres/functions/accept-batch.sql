-- As processes call it that still run with an older version.
create or replace function accept_batch(
  a_worker text, a_slot integer, a_count bigint, lock_ms integer, patient boolean,
  tokens text[], token_accounts text[], target_accounts text[], target_numbers text[], target_types text[],
  token_at integer[], target_at integer[],
  ids text[], recipients text[], bodies text[], crcs bigint[], request_ids text[], addresses text[], agents text[], took bigint[],
  key_at integer[], keys text[], fingerprints text[], url_at integer[], urls text[],
  known_channels text[], sendable text[], key_lasts_ms bigint
) returns table (connections text, exceptions text, first_sequence bigint) language plpgsql
  set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return query select r.connections, r.exceptions, r.first_sequence
    from accept_requests(a_worker, a_slot, a_count, lock_ms, patient, tokens, token_accounts, target_accounts, target_numbers,
      target_types, null, null, null, token_at, target_at, ids, recipients, bodies, crcs, request_ids, addresses, agents, took,
      key_at, keys, fingerprints, url_at, urls, known_channels, sendable, key_lasts_ms) r;
end
$$;
