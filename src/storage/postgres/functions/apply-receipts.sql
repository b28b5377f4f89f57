-- Applies reports, at most one for each message, all of one period and in the order of their sequences. Each was judged by
-- a state that the message had a moment ago: what has moved on since is left alone. Returns one letter for each: `a`
-- applied, or told before; `m` it has moved on.
--
-- A bad end that the network tells is for a person to look at, though the message may have been resolved before: all but
-- what was sent again.
create or replace function apply_receipts(
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
  perform begin_durable_write(2000);
  -- Whoever brings the same at the same time waits here, and then sees that it was told. Where its recipient was erased
  -- meanwhile, the message has moved on too: nothing that may name the person is written (see `withoutPerson`).
  execute format('select array_agg(coalesce(ended.yes, waiting.yes, false) order by s.i)
    from unnest($1, $2, $3, $4, $5) with ordinality s (account_id, sequence, state, words, network_id, i)
    left join lateral (
      select true as yes from settled
        where settled.account_id = s.account_id and settled.sequence = s.sequence and settled.state = s.state
          and (settled.network_id is distinct from ''erased'' or s.words is null and s.network_id is null)
          and settled.sequence >= %s and settled.sequence < %s
        for no key update
    ) ended on true
    left join lateral (
      select true as yes from queued
        where s.state = ''QUEUED'' and queued.account_id = s.account_id and queued.sequence = s.sequence
        for no key update
    ) waiting on true', lower, upper) into locked using accounts, sequences, judged_states, new_words, network_ids;
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
      update settled m set state = n.state, words = n.state_words,
          reason = coalesce(n.reason, case when m.reason = ''possible_duplicate'' then m.reason end),
          -- The report says no more than its second, by another clock: the message did not leave before the first attempt
          -- that may have sent it.
          published_at = coalesce(m.published_at, case when n.published_at is not null then greatest(n.published_at, m.accepted_at, (
            select min(e.started_at) from ended_attempt e
              where e.message_sequence = m.sequence and e.message_sequence >= %1$s and e.message_sequence < %2$s and e.outcome <> ''rejected''
          )) end), network_id = coalesce(m.network_id, n.network_id),
          resolved_at = case when n.state not in (''FAILED'', ''UNCONFIRMED'') then coalesce(m.resolved_at, n.at)
            when m.resent_as is not null then m.resolved_at end
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
