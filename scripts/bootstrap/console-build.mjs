import { join } from 'node:path'

/** The files of the web console. */
export function consolePlan(root) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  return {
    name: 'console',
    title: 'the console',
    dist: join('console', 'dist'),
    always: 'index.html',
    // Its own files and the contract.
    sources: ['console', join('src', 'contract')],
    command: [vite, 'build', 'console', '--outDir', 'ASIDE', '--emptyOutDir', '--logLevel', 'warn'],
    npmScript: 'build:console',
  }
}
