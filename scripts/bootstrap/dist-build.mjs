import { join } from 'node:path'

/** Everything that a service needs except Node. */
export function distPlan(root) {
  return {
    name: 'dist',
    title: 'the service',
    dist: 'dist',
    always: 'package.json',
    sources: [
      'src',
      'adapters',
      'package.json',
      'package-lock.json',
      'extras',
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
  }
}
