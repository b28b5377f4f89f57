-- As views.sql makes it, and when the body went: what waits always has its body.
create or replace view message as
  select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, 'QUEUED'::text as state,
      null::text as reason, null::text as words, attempts, accepted_at, null::bigint as published_at, null::bigint as settled_at,
      null::text as network_id, remote_address, user_agent, took_us, resend_of, null::bigint as resent_as, null::bigint as resolved_at,
      null::bigint as body_deleted_at
    from queued
  union all
  select sequence, id, account_id, connection_id, token_id, request_id, body, body_crc, recipient, type, state,
      reason, words, attempts, accepted_at, published_at, settled_at,
      network_id, remote_address, user_agent, took_us, resend_of, resent_as, resolved_at, body_deleted_at
    from settled;
