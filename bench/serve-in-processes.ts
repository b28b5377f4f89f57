import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { createLogger } from '../src/observability/create-logger.ts'
import { MetricsRelay } from '../src/server/cluster/metrics-relay.ts'
import { ProcessGroup } from '../src/server/cluster/process-group.ts'
import { startChild } from '../src/server/cluster/start-child.ts'
import { systemClock } from '../src/server/system-clock.ts'
import { answerParent } from './child.ts'
import { settingsFor } from './settings-for.ts'

const CHILD = fileURLToPath(new URL('./instant-child.ts', import.meta.url))

let group: ProcessGroup | null = null

interface Wanted {
  readonly dataDir: string
  readonly processes: number
  readonly environment: Readonly<Record<string, string>>
}

const calls = {
  /** Starts like `nuncio serve --processes`, with one more channel. Returns the port. */
  async start({ dataDir, environment, processes }: Wanted): Promise<number> {
    const settings = settingsFor(dataDir, environment)
    cluster.setupPrimary({ exec: CHILD, args: [], execArgv: [] })
    const relay = new MetricsRelay(systemClock)
    group = new ProcessGroup({
      count: processes,
      startChild: (number, events) => startChild({ settings, number }, relay, events),
      clock: systemClock,
      logger: createLogger(settings),
    })
    await group.start()
    return settings.port
  },
}
export type ProcessesCalls = typeof calls

process.once('SIGTERM', () => {
  void (group?.stop() ?? Promise.resolve()).finally(() => process.exit(0))
})
answerParent(calls)
