-- Stores new notices of kinds that a webhook wants. Takes one JSON list, because notices are rare and few.
create or replace function announce_notices(notices text) returns void language plpgsql as $$
begin
  perform begin_durable_write(2000);
  insert into notice (id, account_id, kind, at, key, data)
    select new_notice_id(), n.account_id, n.kind, n.at, n.key, n.data
      from json_to_recordset(notices::json) n (account_id text, kind text, at bigint, key text, data text)
      where exists (select from notice_want w where w.account_id = n.account_id and w.kind = n.kind)
    on conflict (account_id, key) where key is not null do nothing;
end
$$;

create or replace function new_notice_id() returns text language sql volatile as $$
  select 'ntc_' || replace(gen_random_uuid()::text, '-', '')
$$;

-- Whether any of these accounts wants notices. The table is empty in installations without webhooks.
create or replace function wants_notices(accounts text[]) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan set jit = off
as $$
begin
  return exists (select from notice_want where account_id = any (accounts));
end
$$;
