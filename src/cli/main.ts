#!/usr/bin/env node
import cluster from 'node:cluster'
import { nameSourceLines } from '../assets/source-lines.ts'
import { enableCompileCache } from '../server/compile-cache.ts'
import { isNodeTooOld, OLDEST_NODE } from '../server/oldest-node.js'

if (isNodeTooOld()) {
  process.stderr.write(
    `nuncio: This is Node ${process.versions.node}, and Nuncio needs Node ${OLDEST_NODE} or newer. Install a newer one.\n`,
  )
  process.exit(1)
}

// From here on new files are readable by this user only, in whatever folder.
process.umask(0o077)
// Node would open its debugger for every user of this machine.
process.on('SIGUSR1', () => {})
enableCompileCache()
nameSourceLines()
void start()

/** Everything else is loaded later: an older Node could not read it, and would say so in its own words. */
async function start(): Promise<void> {
  const { applyCommandPrefix } = await import('../config/command-prefix.ts')
  applyCommandPrefix()
  if (cluster.isWorker) {
    const { serveChild } = await import('../server/cluster/serve-child.ts')
    return serveChild()
  }
  const { run } = await import('./run.ts')
  const { openEnvironment } = await import('./environment.ts')
  const [, program = '', ...args] = process.argv
  process.exitCode = await run(args, openEnvironment(program))
}
