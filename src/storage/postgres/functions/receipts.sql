create type receipt_target as (
  id text, account_id text, connection_id text, sequence bigint, state text, attempts integer, network_id text, is_open boolean
);

-- The messages that reports speak of: those that wait, and then those that have ended. Only few periods are looked
-- through at first, those of the times at which the ids say that they were made; an id that says nothing, or says it
-- wrongly, is looked for in all.
--
-- What has ended is looked for between an id and itself, and in the order of ids: see `write_steps`. With an equation, and
-- before statistics were gathered, the planner took all sequences of the period for the way to it.
create function find_targets(ids text[], earliest bigint, latest bigint) returns setof receipt_target language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
  -- By how much the clock of whoever made an id may differ from ours.
  slack_ms constant bigint := 3600000;
  search constant text := 'select array_agg(row(x.id, x.account_id, x.connection_id, x.sequence, x.state, x.attempts, x.network_id, false)::receipt_target)
    from unnest($1) s (id) cross join lateral (
      select * from settled where settled.id >= s.id and settled.id <= s.id %s order by settled.id offset 0
    ) x';
  found_here receipt_target[];
  found_so_far receipt_target[];
  missing text[] := ids;
  first bigint;
  past bigint;
begin
  select array_agg(row(q.id, q.account_id, q.connection_id, q.sequence, 'QUEUED', q.attempts, null, q.is_open)::receipt_target) into found_here
    from unnest(missing) s (id) cross join lateral (
      select queued.id, queued.account_id, queued.connection_id, queued.sequence, queued.attempts,
          (select true from open_attempt o where o.connection_id = queued.connection_id and o.message_sequence = queued.sequence) is true as is_open
        from queued where queued.id = s.id offset 0
    ) q;
  found_so_far := found_here;
  select array_agg(m.id) into missing from unnest(missing) m (id) where m.id <> all (array(select f.id from unnest(found_here) f));
  if missing is not null and earliest is not null then
    select min(p.number)::bigint << 40, (max(p.number)::bigint + 1) << 40 into first, past
      from (select number, starts_at, lead(starts_at) over (order by number) as ends_at from period) p
      where (p.starts_at <= latest + slack_ms or p.number = 0) and (p.ends_at is null or p.ends_at >= earliest - slack_ms);
    execute format(search, format('and settled.sequence >= %s and settled.sequence < %s', first, past)) into found_here using missing;
    found_so_far := found_so_far || found_here;
    select array_agg(m.id) into missing from unnest(missing) m (id) where m.id <> all (array(select f.id from unnest(found_here) f));
  end if;
  if missing is not null then
    execute format(search, '') into found_here using missing;
    found_so_far := found_so_far || found_here;
  end if;
  return query select * from unnest(found_so_far);
end
$$;

-- The messages that reports speak of by no more than the network's own ids, each within a connection. Such an id tells no
-- time, so every period is looked into, by the index on just those ids that begin like this.
create function find_network_targets(connections text[], network_ids text[]) returns setof receipt_target language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
begin
  return query select x.id, x.account_id, x.connection_id, x.sequence, x.state, x.attempts, x.network_id, false
    from unnest(connections, network_ids) s (connection_id, network_id) cross join lateral (
      select * from settled
        where settled.network_id >= s.network_id and settled.network_id <= s.network_id and settled.network_id like 'wamid.%'
          and settled.connection_id = s.connection_id
        order by settled.network_id limit 1
    ) x;
end
$$;

-- Applies reports, at most one for each message, all of one period and in the order of their sequences. Each was judged by
-- a state that the message had a moment ago: what has moved on since is left alone. Returns one letter for each: `a`
-- applied, or told before; `m` it has moved on.
create function apply_receipts(
  accounts text[], sequences bigint[], judged_states text[],
  -- Null where it stays as it is.
  new_states text[], new_reasons text[], new_words text[], published_ats bigint[],
  -- What is told of it, and how the same report would have been told in the other case: contrary or not.
  ats bigint[], codes text[], kinds text[], words text[], other_kinds text[], other_words text[],
  -- The network's own ids, for messages that have none yet.
  network_ids text[],
  -- Once so many reports were told of the message, this one is not told, and nothing done. Null: it always is.
  most_told bigint[],
  -- How many moments of a story are looked through, from its end.
  looked_through integer
) returns text language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  lower constant bigint := (sequences[1] >> 40) << 40;
  upper constant bigint := lower + (1::bigint << 40);
  locked boolean[];
  is_all_told boolean;
  moved_sequences bigint[];
begin
  perform make_durable(2000);
  -- Whoever brings the same at the same time waits here, and then sees that it was told.
  execute format('select array_agg(coalesce(ended.yes, waiting.yes, false) order by s.i)
    from unnest($1, $2, $3) with ordinality s (account_id, sequence, state, i)
    left join lateral (
      select true as yes from settled
        where settled.account_id = s.account_id and settled.sequence = s.sequence and settled.state = s.state
          and settled.sequence >= %s and settled.sequence < %s
        for no key update
    ) ended on true
    left join lateral (
      select true as yes from queued
        where s.state = ''QUEUED'' and queued.account_id = s.account_id and queued.sequence = s.sequence
        for no key update
    ) waiting on true', lower, upper) into locked using accounts, sequences, judged_states;
  execute format('with news as materialized (
      select s.* from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $17)
          s (locked, account_id, sequence, state, reason, state_words, published_at, at, code, kind, words, other_kind, other_words, network_id, most_told, judged)
        cross join lateral (
          select count(*) filter (where t.kind like ''receipt-%%'') as told,
              bool_or(t.at = s.at and t.code is not distinct from s.code
                and (t.kind = s.kind and t.words is not distinct from s.words
                  or t.kind = s.other_kind and t.words is not distinct from s.other_words)) as was_brought
            from (
              select * from timeline
                where timeline.message_sequence = s.sequence and timeline.message_sequence >= %1$s and timeline.message_sequence < %2$s
                order by timeline.position desc limit $16
            ) t
        ) story
        where s.locked and story.was_brought is not true and (s.most_told is null or story.told < s.most_told)
    ), moved as (
      update settled m set state = n.state, reason = n.reason, words = n.state_words,
          published_at = coalesce(m.published_at, n.published_at), network_id = coalesce(m.network_id, n.network_id),
          resolved_at = case when n.state = ''UNCONFIRMED'' then m.resolved_at else coalesce(m.resolved_at, n.at) end
        from news n where n.state is not null and m.sequence >= n.sequence and m.sequence <= n.sequence
          and m.sequence >= %1$s and m.sequence < %2$s
        returning m.sequence, m.state <> n.judged as is_other
    ), told as (
      insert into timeline (message_sequence, position, at, kind, code, words)
        select n.sequence, 1 + coalesce((select max(t.position) from timeline t
              where t.message_sequence = n.sequence and t.message_sequence >= %1$s and t.message_sequence < %2$s), 0),
            n.at, n.kind, n.code, n.words
          from news n
        on conflict do nothing returning true
    )
    select (select count(*) from news) = (select count(*) from told), array(select sequence from moved where is_other)', lower, upper)
    into is_all_told, moved_sequences
    using locked, accounts, sequences, new_states, new_reasons, new_words, published_ats, ats, codes, kinds, words, other_kinds, other_words, network_ids, most_told, looked_through, judged_states;
  if not is_all_told then
    raise serialization_failure using message = 'somebody else tells something of the same message';
  end if;
  if cardinality(moved_sequences) > 0 and wants_notices(accounts) then
    perform announce_messages(moved_sequences);
  end if;
  return (select string_agg(case when l.yes then 'a' else 'm' end, '' order by l.i) from unnest(locked) with ordinality l (yes, i));
end
$$;
