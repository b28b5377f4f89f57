-- What must hold for the transaction of whoever calls a function of ours, and for nobody after: a pooler may give the
-- same session to others. A safer setting than `on` stays.
create or replace function begin_durable_write(lock_ms integer) returns void language plpgsql as $$
begin
  -- With one snapshot for the whole transaction, what committed while a lock was waited for would stay unseen (G7).
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'the isolation of transactions must be read committed' using errcode = 'invalid_transaction_state';
  end if;
  perform set_config('lock_timeout', lock_ms::text, true);
  if current_setting('synchronous_commit') <> 'remote_apply' then
    perform set_config('synchronous_commit', 'on', true);
  end if;
end
$$;

create or replace function record_fence(a_worker text, a_connection_index integer, a_count bigint) returns void language plpgsql as $$
begin
  -- Never less: a statement of a connection that was given up may come after those of the next one.
  update fence set count = greatest(count, a_count), at = now_ms() where worker = a_worker and connection_index = a_connection_index;
  if not found then
    insert into fence (worker, connection_index, count, at) values (a_worker, a_connection_index, a_count, now_ms());
  end if;
end
$$;

-- Takes these locks in order of their numbers, and tells which of them it could not get. For one that is taken it waits
-- a little, because nobody gets a lock by mere trying that others want all the time; but in total no longer than told.
create or replace function lock_what_is_free(kind integer, buckets integer[], is_shared boolean, patience_ms integer) returns boolean[]
  language plpgsql as $$
declare
  gives_up_at constant timestamptz := clock_timestamp() + make_interval(secs => patience_ms / 1000.0);
  taken integer[] := '{}';
  bucket integer;
  got boolean;
  wait_ms integer;
begin
  for bucket in select distinct b from unnest(buckets) b order by b loop
    got := case when is_shared then pg_try_advisory_xact_lock_shared(kind, bucket) else pg_try_advisory_xact_lock(kind, bucket) end;
    -- Never all that is left: there may be more to wait for. And never 0, which would mean for ever.
    wait_ms := extract(epoch from gives_up_at - clock_timestamp()) * 1000 / 2;
    if not got and wait_ms > 0 then
      begin
        perform set_config('lock_timeout', wait_ms::text, true);
        if is_shared then
          perform pg_advisory_xact_lock_shared(kind, bucket);
        else
          perform pg_advisory_xact_lock(kind, bucket);
        end if;
        got := true;
      exception when lock_not_available or deadlock_detected then
        null;
      end;
    end if;
    if not got then
      taken := taken || bucket;
    end if;
  end loop;
  return array(select b = any (taken) from unnest(buckets) with ordinality u (b, i) order by i);
end
$$;
