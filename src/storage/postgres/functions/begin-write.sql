-- How the transaction of each function of ours begins. The settings hold for this transaction alone, because a pooler may give the
-- session to other clients afterwards. A safer setting than `on` stays.
create or replace function begin_durable_write(lock_ms integer) returns void language plpgsql as $$
declare
  -- `perform` would execute a statement for each setting.
  ignored text;
begin
  -- With one snapshot for the whole transaction, what commits while a lock is awaited would stay unseen (G7).
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the isolation of transactions must be read committed' using errcode = 'invalid_transaction_state';
  end if;
  ignored := set_config('lock_timeout', lock_ms::text, true);
  if current_setting('synchronous_commit') not in ('on', 'remote_apply') then
    ignored := set_config('synchronous_commit', 'on', true);
  end if;
end
$$;

-- Counts the commits of one connection of a worker (G12).
create or replace function record_fence(a_worker text, a_connection_index integer, a_count bigint) returns void language plpgsql as $$
begin
  -- Never less: a statement of an abandoned connection may arrive after those of the next one.
  update fence set count = greatest(count, a_count), at = now_ms() where worker = a_worker and connection_index = a_connection_index;
  if not found then
    insert into fence (worker, connection_index, count, at) values (a_worker, a_connection_index, a_count, now_ms());
  end if;
end
$$;

-- `record_fence` of a batch. Rejects a batch that arrives after its successor: its caller already got `commit_unknown` and may
-- have retried. Writes nothing on a server that was not verified, either. One statement does both: for a step
-- that comes alone, each statement costs as much as writing a row.
create or replace function advance_fence(a_worker text, a_connection_index integer, a_count bigint) returns void language plpgsql as $$
declare
  counted bigint;
  is_verified boolean;
begin
  update fence set count = greatest(count, a_count), at = now_ms() where worker = a_worker and connection_index = a_connection_index
    returning count, (select s.timeline from known_server s where s."only" = 1) = this_timeline() into counted, is_verified;
  if counted is null then
    insert into fence (worker, connection_index, count, at) values (a_worker, a_connection_index, a_count, now_ms());
  elsif counted > a_count then
    raise exception 'the batch after this one has been written already' using errcode = 'object_not_in_prerequisite_state';
  end if;
  if is_verified is not true then
    perform require_known_server();
  end if;
end
$$;
