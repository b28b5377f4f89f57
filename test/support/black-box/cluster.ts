import { join } from 'node:path'
import { PostgresServer, type PostgresSettings } from '../postgres/postgres-server.ts'
import { findFreePort } from './free-port.ts'
import { NuncioProcess } from './nuncio-process.ts'
import { QuickCli } from './quick-cli.ts'
import { type Letter, SendClient, type TryAnswer } from './send-client.ts'
import { openTestFolder } from './test-folder.ts'
import { prepareSenders } from './world.ts'

export interface ClusterPlan {
  readonly workers: number
  /** How many sandbox connections to add. */
  readonly connections: number
  /** Further arguments for `connection add`, such as the sandbox's latency. */
  readonly connectionArguments?: readonly string[]
  /** For all workers. */
  readonly environment?: Readonly<Record<string, string>>
  /** Added to `environment` for one worker, by its number from 0. */
  readonly environmentOf?: (worker: number) => Readonly<Record<string, string>>
  /** Settings of the server that the cluster starts for itself. */
  readonly settings?: PostgresSettings
  /** Use this server, and leave it running at the end. */
  readonly server?: PostgresServer
  /** How a worker reaches the database: through a proxy, a pooler… The server's own URL if not given. */
  readonly urlOf?: (worker: number, url: string) => string
}

/** Several services on one PostgreSQL, with connections and a token, and what a run needs to use and check them. */
export interface Cluster {
  readonly server: PostgresServer
  readonly databaseUrl: string
  readonly services: readonly NuncioProcess[]
  /** Goes straight to the server, even when the workers cannot reach it. */
  readonly cli: QuickCli
  /** Distributes its calls over all workers. */
  readonly client: BalancedClient
  /** Calls only this worker, by its number from 0. */
  readonly clientOf: (worker: number) => SendClient
  readonly connections: readonly string[]
  readonly dataDir: string
  readonly workDir: string
  /** Starts one more worker than planned. `client` does not call it. */
  addWorker(): Promise<NuncioProcess>
  close(): Promise<void>
}

const DATABASE = 'nuncio'

export async function openCluster(plan: ClusterPlan): Promise<Cluster> {
  const folder = openTestFolder()
  const workDir = folder.path
  const dataDir = join(workDir, 'data')
  const server = plan.server ?? (await PostgresServer.open({ settings: plan.settings ?? {} }))
  const services: NuncioProcess[] = []
  const close = async () => {
    await Promise.all(services.map((service) => service.stop()))
    if (!plan.server) await server.close()
    folder.remove()
  }
  try {
    const databaseUrl = await server.createDatabase(DATABASE)
    const makeWorker = async () => {
      const worker = services.length
      const url = plan.urlOf?.(worker, databaseUrl) ?? databaseUrl
      const service = new NuncioProcess({
        dataDir,
        workDir,
        name: `service-${worker}`,
        port: await findFreePort(),
        environment: { NUNCIO_DATABASE_URL: url, ...plan.environment, ...plan.environmentOf?.(worker) },
        onStart: (pid) => folder.remember(pid),
      })
      services.push(service)
      return service
    }
    while (services.length < plan.workers) await makeWorker()
    // All start at once, as after a power cut: one creates the tables, the others wait.
    await Promise.all(services.map((service) => service.start()))
    const cli = new QuickCli({ dataDir, databaseUrl })
    const { token, connections } = await prepareSenders(cli, plan)
    const clientOf = (worker: number) => new SendClient({ url: services[worker]!.url, token })
    const client = new BalancedClient(services.map((_, worker) => clientOf(worker)))
    const addWorker = async () => {
      const service = await makeWorker()
      await service.start()
      return service
    }
    const reached = { server, databaseUrl, cli, client, clientOf, connections, dataDir, workDir }
    return { ...reached, services, addWorker, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Calls one worker after the other, as a load balancer does. A call that no worker accepts goes to the next. */
class BalancedClient implements Pick<SendClient, 'send' | 'close'> {
  readonly #clients: readonly SendClient[]
  #next = 0

  constructor(clients: readonly SendClient[]) {
    this.#clients = clients
  }

  async send(letter: Letter): Promise<TryAnswer> {
    let answer: TryAnswer = { kind: 'refused', status: 0, codes: [] }
    for (let tries = 0; tries < this.#clients.length; tries += 1) {
      const client = this.#clients[this.#next % this.#clients.length]
      this.#next += 1
      answer = (await client?.send(letter)) ?? answer
      if (answer.kind !== 'refused' || answer.status !== 0) break
    }
    return answer
  }

  close(): void {
    for (const client of this.#clients) client.close()
  }
}
