import { keepCompiledCode } from '../keep-compiled-code.js'

// Several of them start at once, and would all compile the same files. Plain JavaScript for the reason of src/cli/main.js.
keepCompiledCode()

// As in src/cli/main.js.
process.umask(0o077)
process.on('SIGUSR1', () => {})

const { endForSupervisor } = await import('../end-for-supervisor.ts')
const { Nuncio } = await import('../nuncio.ts')
const { serveAsChild } = await import('./serve-as-child.ts')

serveAsChild(
  (parts) => new Nuncio({ ...parts, makesFirst: false, onBroken: (error) => endForSupervisor(parts.logger, error) }),
)
