import { keepCompiledCode } from '../app/keep-compiled-code.js'

// Plain JavaScript, because a single TypeScript file that is not in the cache, as this one could not be, loads the compiler:
// 30 MB that a service would keep for good.
keepCompiledCode()

// What is made from here on is for this user alone, whichever folder it lies in.
process.umask(0o077)
// Node would open its debugger for every user of this machine.
process.on('SIGUSR1', () => {})

const { run } = await import('./run.ts')
const { openSurroundings } = await import('./surroundings.ts')

process.exitCode = await run(process.argv.slice(2), openSurroundings())
