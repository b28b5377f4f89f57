import type { ConnectionId, WorkerId } from '../../../src/core/ids.ts'
import type { PostgresServer } from '../../support/postgres/postgres-server.ts'

/** A worker has claimed a lane at this time. `owner` null: the lane was released. */
interface LaneChange {
  readonly at: number
  /** The sender number. */
  readonly connection: string
  readonly connectionId: ConnectionId
  readonly owner: WorkerId | null
}

interface WatchedWorker {
  readonly id: WorkerId
  readonly pid: number
  /** When its first heartbeat came, or when the watch began. */
  readonly since: number
}

const DATABASE = 'nuncio'

// The watch has its own schema, apart from the service's. Claims are rare, so it costs almost nothing.
const INSTALL = `
  create schema watch;
  create table watch.lane (position bigserial, at bigint, connection_id text, owner text);
  create table watch.worker (since bigint, id text, pid integer);
  insert into watch.worker select public.now_ms(), id, pid from public.worker;
  insert into watch.lane (at, connection_id, owner) select public.now_ms(), connection_id, owner from public.lane where owner is not null;
  create function watch.note_lane() returns trigger language plpgsql as $$
  begin
    insert into watch.lane (at, connection_id, owner) values (public.now_ms(), new.connection_id, new.owner);
    return null;
  end $$;
  create function watch.note_worker() returns trigger language plpgsql as $$
  begin
    insert into watch.worker values (public.now_ms(), new.id, new.pid);
    return null;
  end $$;
  create trigger watch_new_lane after insert on public.lane
    for each row when (new.owner is not null) execute function watch.note_lane();
  create trigger watch_lane after update of owner on public.lane
    for each row execute function watch.note_lane();
  create trigger watch_worker after insert on public.worker
    for each row execute function watch.note_worker()`

const READ_LANES = `select l.at::float8 as at, c.number as connection, c.id as "connectionId", l.owner from watch.lane l
  join public.connection c on c.id = l.connection_id order by l.position`
const READ_WORKERS = 'select id, pid, since::float8 as since from watch.worker order by since'

/** From now on the database records which worker held which lane. */
export class LaneWatch {
  readonly #server: PostgresServer

  private constructor(server: PostgresServer) {
    this.#server = server
  }

  static async open(server: PostgresServer): Promise<LaneWatch> {
    await server.query(INSTALL, [], DATABASE)
    return new LaneWatch(server)
  }

  async history(): Promise<LaneHistory> {
    const [changes, workers] = await Promise.all([
      this.#server.query<LaneChange & object>(READ_LANES, [], DATABASE),
      this.#server.query<WatchedWorker & object>(READ_WORKERS, [], DATABASE),
    ])
    return new LaneHistory(changes, workers)
  }

  /** The newest worker of this process. Each start creates another. */
  async workerOf(pid: number): Promise<WorkerId | null> {
    return (await this.history()).workers.findLast((worker) => worker.pid === pid)?.id ?? null
  }
}

export class LaneHistory {
  readonly changes: readonly LaneChange[]
  readonly workers: readonly WatchedWorker[]
  readonly #lanes: ReadonlyMap<string, readonly LaneChange[]>

  constructor(changes: readonly LaneChange[], workers: readonly WatchedWorker[]) {
    this.changes = changes
    this.workers = workers
    this.#lanes = Map.groupBy(changes, ({ connection }) => connection)
  }

  get connections(): readonly string[] {
    return [...this.#lanes.keys()]
  }

  of(connection: string): readonly LaneChange[] {
    return this.#lanes.get(connection) ?? []
  }

  /** The owner at that time; null for an unclaimed lane. */
  holderAt(connection: string, at: number): WorkerId | null {
    return this.of(connection).findLast((change) => change.at <= at)?.owner ?? null
  }

  /** The connections whose lanes this worker holds now, or held at that time. */
  heldBy(worker: string, at = Number.POSITIVE_INFINITY): readonly string[] {
    return this.connections.filter((connection) => this.holderAt(connection, at) === worker)
  }

  /** When another worker first claimed this lane after that time; null if none has. */
  takenFrom(worker: string, connection: string, after: number): number | null {
    const change = this.of(connection).find(({ at, owner }) => at > after && owner !== null && owner !== worker)
    return change?.at ?? null
  }
}
