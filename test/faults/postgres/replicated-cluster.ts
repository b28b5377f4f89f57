import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cluster, type ClusterPlan, openCluster } from '../../support/black-box/cluster.ts'
import type { Recorded } from '../../support/black-box/collect-ledger.ts'
import { QuickCli } from '../../support/black-box/quick-cli.ts'
import { waitUntil } from '../../support/black-box/wait-until.ts'
import { memoryFolder } from '../../support/postgres/memory-folder.ts'
import { PgBouncer } from '../../support/postgres/pgbouncer.ts'
import { PostgresServer, type PostgresSettings } from '../../support/postgres/postgres-server.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { PortSwitch } from './port-switch.ts'

interface ReplicatedPlan extends Pick<ClusterPlan, 'workers' | 'connections' | 'connectionArguments'> {
  /** Whether each commit waits until the standby has it. */
  readonly isSynchronous: boolean
  /** Whether the workers reach the primary through a pooler in transaction mode, except to listen. */
  readonly isPooled?: boolean
  readonly settings?: PostgresSettings
}

const DATABASE = 'nuncio'
const STANDBY = 'standby'
// Workers check this with every heartbeat of the rollback detector.
const NOTICED_WITHIN_MS = 15_000

/** Workers on a primary with a streaming standby, and the means to break any part. */
export class ReplicatedCluster {
  readonly cluster: Cluster
  /** Leads to the current primary, for the command line too. */
  readonly way: PortSwitch
  readonly databaseUrl: string
  readonly cli: QuickCli
  readonly #plan: ReplicatedPlan
  readonly #pool: PgBouncer | null
  readonly #retired: PostgresServer[] = []
  #primary: PostgresServer
  #standby: PostgresServer
  /** Between the two servers. */
  #replication: TcpProxy

  private constructor(plan: ReplicatedPlan, { way, pool, cluster, primary, standby, replication }: Parts) {
    this.#plan = plan
    this.#pool = pool
    this.way = way
    this.cluster = cluster
    this.databaseUrl = way.through(cluster.databaseUrl)
    this.cli = new QuickCli({ dataDir: cluster.dataDir, databaseUrl: this.databaseUrl })
    this.#primary = primary
    this.#standby = standby
    this.#replication = replication
  }

  static async open(plan: ReplicatedPlan): Promise<ReplicatedCluster> {
    const primary = await PostgresServer.open({ parentFolder: memoryFolder(), settings: plan.settings ?? {} })
    const way = await PortSwitch.open(primary.port)
    const pool = plan.isPooled ? await PgBouncer.open({ serverUrl: way.through(primary.url()) }) : null
    const cluster = await openCluster({
      ...plan,
      server: primary,
      urlOf: (_, url) => pool?.url(DATABASE) ?? way.through(url),
      environment: pool ? { NUNCIO_DATABASE_LISTEN_URL: way.through(primary.url(DATABASE)) } : {},
    })
    return new ReplicatedCluster(plan, { way, pool, cluster, primary, ...(await attachStandby(primary, plan)) })
  }

  /** Where to find what the service has stored, whichever server is the primary. */
  get recorded(): Recorded {
    return { cli: this.cli, databaseUrl: this.databaseUrl, dataDir: this.cluster.dataDir }
  }

  get primary(): PostgresServer {
    return this.#primary
  }

  get standby(): PostgresServer {
    return this.#standby
  }

  get replication(): TcpProxy {
    return this.#replication
  }

  /** After this the workers know that a promoted standby has every commit that was confirmed to them. */
  async noticedThatStandbyConfirms(): Promise<void> {
    const file = join(this.cluster.dataDir, 'remembered.json')
    const hasNoticed = async () => {
      const { server } = JSON.parse(readFileSync(file, 'utf8')) as { server: { isSynchronous: boolean } }
      return server.isSynchronous
    }
    await waitUntil('the workers remember a synchronous standby', hasNoticed, { deadlineMs: NOTICED_WITHIN_MS })
  }

  /** The primary fails, its standby takes over, and everything is led there. Returns when it accepts writes. */
  async failOver(): Promise<void> {
    await this.#primary.killNine()
    await this.#standby.promote()
    this.way.moveTo(this.#standby.port)
    await this.#replication.close()
    this.#retired.push(this.#primary)
    this.#primary = this.#standby
  }

  /** The standby takes over while the primary still runs. A pooler in between keeps its clients, which notice nothing. */
  async switchOver(): Promise<void> {
    await this.#standby.promote()
    this.way.moveTo(this.#standby.port)
    await this.#primary.killNine()
    await this.#replication.close()
    this.#retired.push(this.#primary)
    this.#primary = this.#standby
  }

  /** Attaches another standby to the current primary. */
  async attachStandby(): Promise<void> {
    const { standby, replication } = await attachStandby(this.#primary, this.#plan)
    this.#standby = standby
    this.#replication = replication
  }

  async close(): Promise<void> {
    await this.cluster.close()
    await this.#pool?.stop()
    await this.way.close()
    await this.#replication.close()
    await Promise.all([...new Set([...this.#retired, this.#primary, this.#standby])].map((server) => server.close()))
  }
}

interface Replica {
  readonly standby: PostgresServer
  readonly replication: TcpProxy
}

interface Parts extends Replica {
  readonly way: PortSwitch
  /** Null if the workers use no pooler. */
  readonly pool: PgBouncer | null
  readonly cluster: Cluster
  readonly primary: PostgresServer
}

async function attachStandby(primary: PostgresServer, { isSynchronous }: ReplicatedPlan): Promise<Replica> {
  const replication = await TcpProxy.open(primary.port)
  const standby = await primary.openStandby({ name: STANDBY, primaryPort: replication.port })
  if (isSynchronous) await primary.reload({ synchronous_standby_names: STANDBY })
  return { standby, replication }
}
