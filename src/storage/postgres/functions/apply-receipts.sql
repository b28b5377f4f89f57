-- Applies reports, at most one for each message, all of one period and the last message first. The caller evaluated
-- each for the state that it had read, so a message whose state has changed since is skipped. Returns one letter for each:
-- `a` applied, now or before; `m` its state has changed.
--
-- A failure that the network reports makes a resolved message unresolved again, unless the message was sent again.
create or replace function apply_receipts(
  accounts text[], sequences bigint[], read_states text[],
  -- Null: the state stays.
  new_states text[], new_reasons text[], new_words text[], published_ats bigint[],
  -- The timeline entry, and the entry that the same report would have made in the other case (contrary or not).
  ats bigint[], codes text[], kinds text[], words text[], other_kinds text[], other_words text[],
  -- The network's own ids, for messages that have none yet.
  network_ids text[],
  -- With this many reports in its timeline, the report is ignored. Null: no limit.
  most_reported bigint[],
  -- How many timeline entries are read, from the latest.
  scanned integer
) returns text language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set jit = off
as $$
declare
  lower constant bigint := (sequences[1] >> 40) << 40;
  upper constant bigint := lower + (1::bigint << 40);
  locked boolean[];
  is_complete boolean;
  moved_sequences bigint[];
begin
  perform begin_durable_write(2000);
  -- A concurrent transaction with the same report waits here, and then finds its timeline entry. A message whose recipient was
  -- erased meanwhile counts as changed, too: nothing that may name the person is written (see `withoutPerson`).
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
    ) waiting on true', lower, upper) into locked using accounts, sequences, read_states, new_words, network_ids;
  execute format('with news as materialized (
      select s.* from unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $17)
          s (locked, account_id, sequence, state, reason, state_words, published_at, at, code, kind, words, other_kind, other_words, network_id, most_reported, read_state)
        cross join lateral (
          select count(*) filter (where t.kind like ''receipt-%%'') as reported,
              bool_or(t.at = s.at and t.code is not distinct from s.code
                and (t.kind = s.kind and t.words is not distinct from s.words
                  or t.kind = s.other_kind and t.words is not distinct from s.other_words)) as is_repeat
            from (
              select * from timeline
                where timeline.message_sequence = s.sequence and timeline.message_sequence >= %1$s and timeline.message_sequence < %2$s
                order by timeline.position desc limit $16
            ) t
        ) history
        where s.locked and history.is_repeat is not true and (s.most_reported is null or history.reported < s.most_reported)
    ), moved as (
      update settled m set state = n.state, words = n.state_words,
          reason = coalesce(n.reason, case when m.reason = ''possible_duplicate'' then m.reason end),
          -- Reports have times in whole seconds, by another clock. So the message left no earlier than the first attempt that may
          -- have sent it.
          published_at = coalesce(m.published_at, case when n.published_at is not null then greatest(n.published_at, m.accepted_at, (
            select min(e.started_at) from ended_attempt e
              where e.message_sequence = m.sequence and e.message_sequence >= %1$s and e.message_sequence < %2$s and e.outcome <> ''rejected''
          )) end), network_id = coalesce(m.network_id, n.network_id),
          resolved_at = case when n.state not in (''FAILED'', ''UNCONFIRMED'') then coalesce(m.resolved_at, n.at)
            when m.resent_as is not null then m.resolved_at end
        from news n where n.state is not null and m.sequence >= n.sequence and m.sequence <= n.sequence
          and m.sequence >= %1$s and m.sequence < %2$s
        returning m.sequence, m.state <> n.read_state as is_other
    ), added as (
      insert into timeline (message_sequence, position, at, kind, code, words)
        select n.sequence, 1 + coalesce((select max(t.position) from timeline t
              where t.message_sequence = n.sequence and t.message_sequence >= %1$s and t.message_sequence < %2$s), 0),
            n.at, n.kind, n.code, n.words
          from news n
        on conflict do nothing returning true
    )
    select (select count(*) from news) = (select count(*) from added), array(select sequence from moved where is_other)', lower, upper)
    into is_complete, moved_sequences
    using locked, accounts, sequences, new_states, new_reasons, new_words, published_ats, ats, codes, kinds, words, other_kinds, other_words, network_ids, most_reported, scanned, read_states;
  if not is_complete then
    raise serialization_failure using message = 'another transaction adds to the timeline of the same message';
  end if;
  if cardinality(moved_sequences) > 0 and wants_notices(accounts) then
    perform announce_messages(moved_sequences);
  end if;
  return (select string_agg(case when l.yes then 'a' else 'm' end, '' order by l.i) from unnest(locked) with ordinality l (yes, i));
end
$$;
