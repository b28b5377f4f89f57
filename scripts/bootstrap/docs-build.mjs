import { join } from 'node:path'

/** The documents as the service shows them. */
export function docsPlan(root) {
  return {
    name: 'docs',
    title: 'the documents',
    dist: join('site', 'dist'),
    always: 'site.json',
    sources: [
      'docs',
      'site',
      'CHANGELOG.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
      join('client', 'README.md'),
      join('console', 'public'),
      join('scripts', 'vite-build.ts'),
      // The form that tries a call shows the examples of the contract.
      join('src', 'contract'),
      join('src', 'core', 'refusals.ts'),
      join('src', 'http', 'server', 'refusal-replies.ts'),
      join('src', 'http', 'server', 'public-path.ts'),
    ],
    command: [join(root, 'site', 'build', 'main.ts'), '--out', 'ASIDE'],
    npmScript: 'build:docs',
  }
}
