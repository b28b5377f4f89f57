-- Adds notices about the new states of these messages. Must be called once, in the transaction that changed the states, and only
-- if `wants_notices` is true. Lowercases with the collation "C", because with Turkish collations the lowercase of `I` differs.
create or replace function announce_messages(sequences bigint[]) returns void language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off
  set jit = off
as $$
begin
  insert into notice (id, account_id, kind, at, message_sequence, data)
    select new_notice_id(), m.account_id, k.kind, now_ms(), m.sequence,
        json_build_object('messageId', m.id, 'connectionId', m.connection_id, 'to', m.recipient, 'type', m.type, 'state', m.state,
          'reason', m.reason, 'words', m.words, 'attempts', m.attempts, 'acceptedAt', m.accepted_at,
          'resendOf', (
            select o.id from settled o where o.sequence >= m.resend_of and o.sequence <= m.resend_of order by o.sequence limit 1
          ))::text
      from unnest(sequences) s (sequence) cross join lateral (
          -- Ordered: otherwise the planner might scan a whole index that only ends with the sequence.
          select * from settled where settled.sequence >= s.sequence and settled.sequence <= s.sequence
            order by settled.sequence offset 0
        ) m
        cross join lateral (select 'message.' || lower(m.state collate "C") as kind) k
      where exists (select from notice_want w where w.account_id = m.account_id and w.kind = k.kind);
end
$$;
