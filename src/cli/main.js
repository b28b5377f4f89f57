import { keepCompiledCode } from '../app/keep-compiled-code.js'
import { isNodeTooOld, OLDEST_NODE } from '../app/oldest-node.js'

if (isNodeTooOld()) {
  process.stderr.write(
    `nuncio: This is Node ${process.versions.node}, and Nuncio needs Node ${OLDEST_NODE} or newer. npm run -s nuncio -- … brings its own on Linux and Windows; elsewhere install a newer one.\n`,
  )
  process.exit(1)
}

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
