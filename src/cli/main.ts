import { enableCompileCache } from 'node:module'

// Halves the time of a short command: otherwise most of it goes into compiling the same files again.
enableCompileCache()

const { run } = await import('./run.ts')
const { openSurroundings } = await import('./surroundings.ts')

process.exitCode = await run(process.argv.slice(2), openSurroundings())
