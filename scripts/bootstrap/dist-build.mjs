import { join } from 'node:path'
import { buildWhenStale } from './fresh-build.mjs'

/** Makes dist, all that a service needs but Node, unless it is there and nothing has changed since. */
export async function buildDist(root, node) {
  await buildWhenStale(root, node, {
    name: 'dist',
    title: 'the service',
    dist: 'dist',
    always: 'package.json',
    sources: [
      'src',
      'package.json',
      'package-lock.json',
      join('deploy', 'npm', 'README.md'),
      'LICENSE',
      join('console', 'dist'),
      join('site', 'dist'),
      join('scripts', 'build-dist.ts'),
      join('scripts', 'print-sbom.ts'),
      join('scripts', 'vite-build.ts'),
    ],
    command: [join(root, 'scripts', 'build-dist.ts'), '--out', 'ASIDE'],
    npmScript: 'build',
  })
}
