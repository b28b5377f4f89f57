import { join } from 'node:path'
import { buildWhenStale } from './fresh-build.mjs'

/** Makes console/dist, the files of the web console, unless they are there and nothing has changed since. */
export async function buildConsole(root, node) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  await buildWhenStale(root, node, {
    name: 'console',
    title: 'the console',
    dist: join('console', 'dist'),
    always: 'index.html',
    // Its own files and the contract.
    sources: ['console', join('src', 'contract')],
    command: [vite, 'build', 'console', '--outDir', 'ASIDE', '--emptyOutDir', '--logLevel', 'warn'],
    npmScript: 'build:console',
  })
}
