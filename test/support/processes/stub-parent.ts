import { fileURLToPath } from 'node:url'
import { openEnvironment } from '../../../src/cli/environment.ts'
import { run } from '../../../src/cli/run.ts'
import type { Settings } from '../../../src/config/read-settings.ts'
import { createLogger } from '../../../src/observability/create-logger.ts'
import { runProcesses } from '../../../src/server/cluster/serve-in-processes.ts'

const childFile = fileURLToPath(new URL('./stub-child.ts', import.meta.url))

// Runs the real command line. Only what its children run is a stub.
process.exitCode = await run(process.argv.slice(2), {
  ...openEnvironment(''),
  serve: (settings: Settings) =>
    runProcesses(settings, createLogger(settings), { childFile, makeFirst: async () => null }),
})
