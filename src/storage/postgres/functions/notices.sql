-- Keeps notices that are wanted and were not kept before. A list as JSON text: they are rare and few.
create function announce_notices(notices text) returns void language plpgsql as $$
begin
  perform make_durable(2000);
  insert into notice (id, account_id, kind, at, key, data)
    select new_notice_id(), n.account_id, n.kind, n.at, n.key, n.data
      from json_to_recordset(notices::json) n (account_id text, kind text, at bigint, key text, data text)
      where exists (select from notice_want w where w.account_id = n.account_id and w.kind = n.kind)
    on conflict (account_id, key) where key is not null do nothing;
end
$$;

create function new_notice_id() returns text language sql volatile as $$
  select 'ntc_' || replace(gen_random_uuid()::text, '-', '')
$$;

-- Notes for accounts that want it what has just become of these messages. To be called once in the transaction that
-- changed the state of each of them, and only where somebody wants it: `wants_notices`.
create function announce_messages(sequences bigint[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
begin
  insert into notice (id, account_id, kind, at, message_sequence, data)
    select new_notice_id(), m.account_id, 'message.' || lower(m.state), now_ms(), m.sequence,
        json_build_object('messageId', m.id, 'connectionId', m.connection_id, 'to', m.recipient, 'type', m.type, 'state', m.state,
          'reason', m.reason, 'words', m.words, 'attempts', m.attempts, 'acceptedAt', m.accepted_at)::text
      from unnest(sequences) s (sequence) cross join lateral (
          select * from settled where settled.sequence >= s.sequence and settled.sequence <= s.sequence offset 0
        ) m
      where exists (select from notice_want w where w.account_id = m.account_id and w.kind = 'message.' || lower(m.state));
end
$$;

-- Whether any of these accounts wants notices. One look at a table that is empty where nobody has a webhook.
create function wants_notices(accounts text[]) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return exists (select from notice_want where account_id = any (accounts));
end
$$;
