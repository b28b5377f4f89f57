import { join } from 'node:path'
import { findFreePort } from './free-port.ts'
import type { NuncioCli } from './nuncio-cli.ts'
import { NuncioProcess } from './nuncio-process.ts'
import { QuickCli } from './quick-cli.ts'
import { SendClient } from './send-client.ts'
import { openTestFolder } from './test-folder.ts'

export interface WorldPlan {
  /** How many sandbox connections to add. */
  readonly connections: number
  /** Further arguments for `connection add`, such as the sandbox's latency. */
  readonly connectionArguments?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** Further arguments of `serve`, such as `--processes`. */
  readonly serveArguments?: readonly string[]
  /** The folders to work in and for the data, if not a temporary folder. The caller removes them. */
  readonly place?: { readonly workDir: string; readonly dataDir: string }
}

/** A running service with connections and a token, and what a run needs to use and check it. */
export interface World {
  readonly service: NuncioProcess
  readonly cli: QuickCli
  readonly client: SendClient
  readonly token: string
  readonly connections: readonly string[]
  readonly dataDir: string
  readonly workDir: string
  close(): Promise<void>
}

export async function openWorld(plan: WorldPlan): Promise<World> {
  const folder = plan.place ? null : openTestFolder()
  const workDir = plan.place?.workDir ?? folder?.path ?? ''
  const dataDir = plan.place?.dataDir ?? join(workDir, 'data')
  const service = new NuncioProcess({
    dataDir,
    workDir,
    port: await findFreePort(),
    environment: plan.environment ?? {},
    serveArguments: plan.serveArguments ?? [],
    onStart: (pid) => folder?.remember(pid),
  })
  const cli = new QuickCli({ dataDir, environment: plan.environment ?? {} })
  const close = async () => {
    await service.stop()
    folder?.remove()
  }
  try {
    await service.start()
    const { token, connections } = await prepareSenders(cli, plan)
    const client = new SendClient({ url: service.url, token })
    return { service, cli, client, token, connections, dataDir, workDir, close }
  } catch (error) {
    await close()
    throw error
  }
}

const TOKEN_CREATE = ['token', 'create', '--name', 'load', '--expires', '7d', '--event', 'messaging.send_message']
const FIRST_NUMBER = 15_550_002_000

type SenderPlan = Pick<WorldPlan, 'connections' | 'connectionArguments'>

/** Creates a token and as many connections as the plan wants. */
export async function prepareSenders(cli: Pick<NuncioCli, 'json'>, plan: SenderPlan) {
  const { token } = await cli.json<{ token: string }>(...TOKEN_CREATE)
  return { token, connections: await addConnections(cli, plan) }
}

async function addConnections(cli: Pick<NuncioCli, 'json'>, plan: SenderPlan): Promise<string[]> {
  const numbers = Array.from({ length: plan.connections }, (_, index) => String(FIRST_NUMBER + index))
  for (const number of numbers) {
    await cli.json('connection', 'add', number, '--channel', 'sandbox', ...(plan.connectionArguments ?? []))
  }
  return numbers
}
