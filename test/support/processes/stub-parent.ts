import { fileURLToPath } from 'node:url'
import { createLogger } from '../../../src/observability/create-logger.ts'
import { runProcesses } from '../../../src/server/cluster/serve-in-processes.ts'
import { run } from '../../../src/cli/run.ts'
import { openSurroundings } from '../../../src/cli/environment.ts'
import type { Settings } from '../../../src/config/read-settings.ts'

const childFile = fileURLToPath(new URL('./stub-child.ts', import.meta.url))

// The command line as it is; only what its children run is a stub.
process.exitCode = await run(process.argv.slice(2), {
  ...openSurroundings(''),
  serve: (settings: Settings) =>
    runProcesses(settings, createLogger(settings), { childFile, makeFirst: async () => null }),
})
