-- Queued messages are found by every indexed column and never by a plain join. With a join, the planner might scan the whole table
-- for one attachment: see `write_steps`.

-- Reads the time once, in a subquery. Otherwise the planner cannot inline this function.
create or replace function worker_has_lease(a_worker text) returns boolean language sql stable as $$
  select exists (
    select from worker w cross join (select now_ms() as now offset 0) t
      where w.id = a_worker and has_valid_lease(w.heartbeat_until, t.now)
  )
$$;

-- Whether a worker may fetch for this lane: it owns the lane, or no live worker does.
create or replace function may_fetch_for(a_worker text, owner text) returns boolean language sql stable as $$
  select owner is null or owner = a_worker or not worker_has_lease(owner)
$$;

-- Attachments of one account that may be fetched now, among its oldest 500 pending ones. Forgets those whose message no longer
-- waits, because every later query would read them again. URLs are stored in canonical form.
create or replace function find_due_media(a_worker text, an_account text, now bigint, longest_wait_ms bigint, busy bigint[], most integer,
    full_hosts text[]) returns setof wanted_media
  language plpgsql
  -- Without sorting there is but one way to the oldest of an account or of a lane: the index of just these.
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off
as $$
declare
  scanned constant integer := 500;
  in_the_way record;
  has_forgotten boolean;
begin
  loop
    has_forgotten := false;
    for in_the_way in
      select o.message_sequence, o.connection_id from (
        select m.account_id, m.message_sequence, m.connection_id from media m where m.account_id = an_account and m.state = 'pending'
          order by m.message_sequence limit scanned
      ) o where (
        select true from queued q where q.account_id = o.account_id and q.sequence = o.message_sequence and q.connection_id = o.connection_id
      ) is null
    loop
      -- Another worker may be forgetting it, with the accounts in another order: waiting for each other, both could deadlock.
      perform from media m where m.account_id = an_account and m.connection_id = in_the_way.connection_id
        and m.message_sequence = in_the_way.message_sequence and m.state = 'pending' for update skip locked;
      continue when not found;
      update media m set state = 'forgotten', fetcher = null where m.message_sequence = in_the_way.message_sequence;
      has_forgotten := true;
    end loop;
    exit when not has_forgotten;
  end loop;
  -- Lane by lane. Otherwise attachments in lanes of other workers could fill the result.
  return query
  with recursive lanes (id) as (
    (select m.connection_id from media m where m.account_id = an_account and m.state = 'pending' order by m.connection_id limit 1)
    union all
    select (select m.connection_id from media m where m.account_id = an_account and m.state = 'pending' and m.connection_id > lanes.id
        order by m.connection_id limit 1)
      from lanes where lanes.id is not null
  ), ours as materialized (
    select s.id, coalesce(l.owner = a_worker, false) as is_held from lanes s left join lane l on l.connection_id = s.id
      where s.id is not null and may_fetch_for(a_worker, l.owner)
  )
  select m.message_sequence, q.id, m.account_id, m.connection_id, m.url, m.type, m.tries, m.next_try_at, o.is_held
    from ours o cross join lateral (
      select p.* from media p where p.account_id = an_account and p.connection_id >= o.id and p.connection_id <= o.id and p.state = 'pending'
        order by p.connection_id, p.message_sequence limit scanned
    ) m
    cross join lateral (
      select queued.id from queued
        where queued.account_id = m.account_id and queued.sequence = m.message_sequence and queued.connection_id = m.connection_id offset 0
    ) q
    where (m.next_try_at <= now or m.next_try_at > now + longest_wait_ms) and m.message_sequence <> all (busy)
      and (m.fetcher is null or m.fetcher = a_worker or not worker_has_lease(m.fetcher)) and split_part(m.url, '/', 3) <> all (full_hosts)
    order by o.is_held desc, m.message_sequence limit most;
end
$$;

-- As `find_due_media`. If that finds too few and the account has more pending attachments, also scans the next 500 beyond the
-- previous scan. The last row contains the position from which the next call must continue.
create or replace function scan_due_media(a_worker text, an_account text, now bigint, longest_wait_ms bigint, busy bigint[], most integer,
    full_hosts text[], beyond bigint)
  returns table (media wanted_media, goes_on_after bigint) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off set enable_sort = off
as $$
declare
  scanned constant integer := 500;
  number integer;
  after bigint;
begin
  return query select d::wanted_media, null::bigint from find_due_media(a_worker, an_account, now, longest_wait_ms, busy, most, full_hosts) d;
  get diagnostics number = row_count;
  if number >= most then return; end if;
  select m.message_sequence into after from media m where m.account_id = an_account and m.state = 'pending'
    order by m.message_sequence offset scanned - 1 limit 1;
  if not found then return; end if;
  after := greatest(after, beyond);
  return query
  select row (m.message_sequence, q.id, m.account_id, m.connection_id, m.url, m.type, m.tries, m.next_try_at,
      coalesce(l.owner = a_worker, false))::wanted_media, null::bigint
    from (
      select p.* from media p where p.account_id = an_account and p.state = 'pending' and p.message_sequence > after
        order by p.message_sequence limit scanned
    ) m
    cross join lateral (
      select queued.id from queued
        where queued.account_id = m.account_id and queued.sequence = m.message_sequence and queued.connection_id = m.connection_id offset 0
    ) q
    left join lateral (select lane.owner from lane where lane.connection_id = m.connection_id offset 0) l on true
    where (m.next_try_at <= now or m.next_try_at > now + longest_wait_ms) and m.message_sequence <> all (busy)
      and split_part(m.url, '/', 3) <> all (full_hosts) and may_fetch_for(a_worker, l.owner)
      and (m.fetcher is null or m.fetcher = a_worker or not worker_has_lease(m.fetcher))
    limit most;
  get diagnostics number = row_count;
  -- With results, the next scan starts at the same place: they are due until they are fetched.
  if number = 0 then
    select m.message_sequence into after from media m where m.account_id = an_account and m.state = 'pending' and m.message_sequence > after
      order by m.message_sequence offset scanned - 1 limit 1;
  end if;
  return query select null::wanted_media, after where after is not null;
end
$$;

-- The range condition on the account and the order keep the planner on the index: see `write_steps`. Otherwise it might read
-- the whole spool.
create or replace function spool_bytes(a_spool text, an_account text) returns bigint language sql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
  select coalesce((select sum(size_bytes) from (
      select size_bytes from media where spool = a_spool and account_id >= an_account and account_id <= an_account and state = 'ready'
        order by account_id offset 0) files), 0)::bigint
    + coalesce((select sum(size_bytes) from leftover_file where spool = a_spool and account_id = an_account), 0)::bigint
$$;

-- Those of these messages that have an attachment and wait, with the owners of their lanes.
create or replace function waiting_media(sequences bigint[])
  returns table (sequence bigint, account_id text, message_id text, connection_id text, owner text) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
begin
  return query
  select m.message_sequence, m.account_id, q.id, m.connection_id, l.owner from unnest(sequences) s (sequence)
    cross join lateral (
      select media.message_sequence, media.account_id, media.connection_id from media where media.message_sequence = s.sequence offset 0
    ) m
    cross join lateral (
      select queued.id from queued
        where queued.account_id = m.account_id and queued.sequence = m.message_sequence and queued.connection_id = m.connection_id offset 0
    ) q
    left join lateral (select lane.owner from lane where lane.connection_id = m.connection_id offset 0) l on true;
end
$$;

-- Assigns these fetches to a worker and returns them. The owner of a lane also takes over fetches of workers with another
-- spool, because it could not read their files. The last one first: see `write_steps`.
create or replace function take_media(a_worker text, a_spool text, sequences bigint[]) returns setof wanted_media language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
declare
  f record;
begin
  perform begin_durable_write(2000);
  for f in select * from waiting_media(sequences) w order by w.sequence desc loop
    return query
    update media m set fetcher = a_worker
      where m.account_id = f.account_id and m.connection_id = f.connection_id and m.message_sequence = f.sequence
        and m.state = 'pending' and may_fetch_for(a_worker, f.owner)
        and (m.fetcher is null or m.fetcher = a_worker or not worker_has_lease(m.fetcher)
          or (f.owner = a_worker and (select w.spool from worker w where w.id = m.fetcher) is distinct from a_spool))
      returning m.message_sequence, f.message_id, m.account_id, m.connection_id, m.url, m.type, m.tries, m.next_try_at,
        coalesce(f.owner = a_worker, false);
  end loop;
end
$$;

-- State of the attachments at the heads of lanes. A head whose file lies in another spool shows that its lane was moved from
-- there. Then that file and the next ones of the lane are fetched again.
create or replace function read_head_media(a_worker text, a_spool text, sequences bigint[], moved_at_once integer, a_time bigint)
  returns table (media wanted_media, is_present boolean) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set enable_bitmapscan = off
as $$
declare
  moved bigint[];
begin
  perform begin_durable_write(2000);
  -- Only lanes that this worker owns. Otherwise two workers that both believe so would take the files from each other.
  select array_agg(n.sequence order by n.sequence) into moved
    from waiting_media(sequences) w
    cross join lateral (
      select p.* from media p where p.account_id = w.account_id and p.message_sequence = w.sequence offset 0
    ) h
    cross join lateral (
      select q.account_id, q.sequence from queued q
        where (q.connection_id, q.sequence) >= (h.connection_id, h.message_sequence) and q.connection_id <= h.connection_id
        order by q.connection_id, q.sequence limit moved_at_once
    ) n
    cross join lateral (
      select p.* from media p where p.account_id = n.account_id and p.message_sequence = n.sequence offset 0
    ) m
    where w.owner = a_worker
      and (h.state = 'ready' and h.spool is distinct from a_spool or h.state = 'pending'
        and exists (select from leftover_file f where f.spool = a_spool and f.message_sequence = h.message_sequence))
      and (m.state = 'ready' and m.spool is distinct from a_spool or m.state = 'pending'
        and exists (select from leftover_file f where f.spool = a_spool and f.message_sequence = m.message_sequence));
  if moved is not null then
    perform from media m where m.message_sequence = any (moved) order by m.message_sequence desc for update;
    insert into leftover_file (spool, message_sequence, account_id, path, size_bytes, sha256, mime)
      select m.spool, m.message_sequence, m.account_id, m.path, m.size_bytes, m.sha256, m.mime from media m
        where m.message_sequence = any (moved) and m.state = 'ready' and m.spool is distinct from a_spool and m.spool is not null
      on conflict (spool, message_sequence) do update
        set path = excluded.path, size_bytes = excluded.size_bytes, sha256 = excluded.sha256, mime = excluded.mime;
    -- Files that this spool still holds from earlier are ready again.
    with here as (
      delete from leftover_file f where f.spool = a_spool and f.message_sequence = any (moved)
        returning f.message_sequence, f.path, f.size_bytes, f.sha256, f.mime
    )
    update media m set state = 'ready', spool = a_spool, path = h.path, size_bytes = h.size_bytes, sha256 = h.sha256, mime = h.mime,
        code = null, words = null, fetcher = null
      from here h where m.message_sequence = h.message_sequence
        and (m.state = 'pending' or m.state = 'ready' and m.spool is distinct from a_spool);
    with anew as (
      update media m set state = 'pending', tries = 0, next_try_at = a_time, code = null, words = null, path = null, spool = null,
          fetcher = null
        where m.message_sequence = any (moved) and m.state = 'ready' and m.spool is distinct from a_spool
        returning m.message_sequence
    )
    insert into timeline (message_sequence, position, at, kind)
      select n.message_sequence, coalesce((select max(t.position) from timeline t where t.message_sequence = n.message_sequence), 0) + 1,
          a_time, 'media-elsewhere'
        from anew n
      on conflict do nothing;
  end if;
  return query
  select row(m.message_sequence, w.message_id, m.account_id, m.connection_id, m.url, m.type, m.tries, m.next_try_at,
      coalesce(w.owner = a_worker, false))::wanted_media, m.state = 'ready'
    from waiting_media(sequences) w
    cross join lateral (
      select p.* from media p where p.account_id = w.account_id and p.message_sequence = w.sequence offset 0
    ) m
    where may_fetch_for(a_worker, w.owner)
      and (m.state = 'pending' or m.state = 'ready' and m.spool = a_spool);
end
$$;

create or replace function media_is_ready(a_worker text, a_spool text, a_sequence bigint, a_path text, bytes bigint, a_sha256 text, a_mime text,
  took bigint, at bigint) returns boolean language plpgsql set enable_seqscan = off as $$
begin
  perform begin_durable_write(2000);
  update media m set state = 'ready', path = a_path, spool = a_spool, size_bytes = bytes, sha256 = a_sha256, mime = a_mime, took_ms = took,
      ended_at = at, tries = tries + 1, code = null, words = null, fetcher = null
    where m.message_sequence = a_sequence and m.state = 'pending' and m.fetcher = a_worker
      and exists (select from queued q where q.account_id = m.account_id and q.sequence = m.message_sequence and q.connection_id = m.connection_id);
  return found;
end
$$;

create or replace function retry_media(a_worker text, a_sequence bigint, a_code text, some_words text, a_time bigint, next_at bigint) returns void
  language plpgsql set enable_seqscan = off as $$
begin
  perform begin_durable_write(2000);
  update media m set tries = tries + 1, next_try_at = next_at, code = a_code, words = some_words, fetcher = null
    where m.message_sequence = a_sequence and m.state = 'pending' and m.fetcher = a_worker;
  if found then
    insert into timeline (message_sequence, position, at, kind, code, words)
      select a_sequence, coalesce(max(t.position), 0) + 1, a_time, 'media-retry', a_code, some_words
        from timeline t where t.message_sequence = a_sequence
      on conflict do nothing;
  end if;
end
$$;

-- Transactions that finish a message lock it first and its other rows afterwards, so they cannot deadlock. False when the
-- message no longer waits.
create or replace function lock_queued(an_account text, a_connection text, a_sequence bigint) returns boolean language plpgsql
  set enable_seqscan = off as $$
begin
  perform from queued q
    where q.account_id = an_account and q.sequence = a_sequence and q.connection_id = a_connection for update;
  return found;
end
$$;

-- Fails the message of an attachment, unless an attempt is open. A message with an attempt of unknown outcome may have
-- arrived, so it ends as UNCONFIRMED.
create or replace function fail_for_media(an_account text, a_connection text, a_sequence bigint, a_code text, some_words text, at bigint) returns boolean language plpgsql
  set enable_seqscan = off as $$
declare
  may_have_arrived boolean;
begin
  if not lock_queued(an_account, a_connection, a_sequence)
    or exists (select from open_attempt o where o.connection_id = a_connection and o.message_sequence = a_sequence) then
    return false;
  end if;
  may_have_arrived := exists (select from ended_attempt a where a.message_sequence = a_sequence and a.outcome = 'unknown');
  return end_queued(an_account, a_connection, a_sequence, case when may_have_arrived then 'UNCONFIRMED' else 'FAILED' end,
    case when may_have_arrived then 'result_unknown' else a_code end, some_words, at);
end
$$;

create or replace function fail_media(a_worker text, a_sequence bigint, a_code text, some_words text, a_time bigint) returns void language plpgsql
  set enable_seqscan = off as $$
declare
  account text;
  connection text;
begin
  perform begin_durable_write(2000);
  select m.account_id, m.connection_id into account, connection from media m where m.message_sequence = a_sequence;
  perform lock_queued(account, connection, a_sequence);
  perform from media m where m.message_sequence = a_sequence and m.state = 'pending' and m.fetcher = a_worker for update;
  if found and fail_for_media(account, connection, a_sequence, a_code, some_words, a_time) then
    update media m set state = 'failed', tries = tries + 1, code = a_code, words = some_words, ended_at = a_time, fetcher = null
      where m.message_sequence = a_sequence;
  end if;
end
$$;

-- These files are missing from a spool. Returns the connections of the messages that this changes. Locks leftover files last, as
-- `read_head_media` does.
create or replace function lose_media(a_spool text, sequences bigint[], paths text[], a_time bigint, most_tries integer)
  returns setof text language plpgsql set enable_seqscan = off as $$
declare
  lost record;
  tries_so_far integer;
  account text;
  connection text;
  waits boolean;
  some_words text;
begin
  perform begin_durable_write(2000);
  for lost in select s.sequence, s.path from unnest(sequences, paths) s (sequence, path) order by s.sequence desc loop
    select m.account_id, m.connection_id into account, connection from media m where m.message_sequence = lost.sequence;
    waits := lock_queued(account, connection, lost.sequence);
    select m.tries into tries_so_far from media m
      -- By message. Without statistics the planner might choose the index by spool, and read the whole spool.
      where m.message_sequence = lost.sequence and m.path = lost.path and m.spool || '' = a_spool and m.state = 'ready' for update;
    continue when not found;
    if not waits then
      update media m set state = 'forgotten' where m.message_sequence = lost.sequence;
      continue;
    end if;
    continue when exists (select from open_attempt o
      where o.connection_id = connection and o.message_sequence = lost.sequence);
    if tries_so_far >= most_tries then
      some_words := 'it was fetched ' || tries_so_far || ' times, and each time the file went';
      perform fail_for_media(account, connection, lost.sequence, 'media_lost', some_words, a_time);
      update media m set state = 'failed', code = 'media_lost', words = some_words, ended_at = a_time
        where m.message_sequence = lost.sequence;
    else
      update media m set state = 'pending', next_try_at = a_time, path = null, spool = null, fetcher = null
        where m.message_sequence = lost.sequence;
      insert into timeline (message_sequence, position, at, kind, code, words)
        select lost.sequence, coalesce(max(t.position), 0) + 1, a_time, 'media-lost', 'media_lost', null
          from timeline t where t.message_sequence = lost.sequence
        on conflict do nothing;
    end if;
    return next connection;
  end loop;
  delete from leftover_file f using unnest(sequences, paths) s (sequence, path)
    where f.spool = a_spool and f.message_sequence = s.sequence and f.path = s.path;
end
$$;
