import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { ROOT } from './source-tree.ts'

interface Check {
  readonly name: string
  readonly script: string
  readonly arguments?: readonly string[]
}

const BIOME = 'node_modules/@biomejs/biome/bin/biome'

// Every tool runs as a script of this Node, so that its version does not depend on the caller's PATH.
const CHECKS: readonly Check[] = [
  { name: 'format', script: BIOME, arguments: ['format', '--reporter=summary'] },
  { name: 'lint', script: BIOME, arguments: ['check', '--formatter-enabled=false', '--error-on-warnings'] },
  // One line for each finding, without colours, which it would otherwise print into a pipe when CI is set.
  { name: 'lint that knows types', script: 'node_modules/oxlint/bin/oxlint', arguments: ['--format=unix'] },
  { name: 'types', script: 'node_modules/typescript/bin/tsc' },
  { name: 'types of the console', script: 'node_modules/typescript/bin/tsc', arguments: ['-p', 'console'] },
  { name: 'types of the documents', script: 'node_modules/typescript/bin/tsc', arguments: ['-p', 'site', '--noEmit'] },
  { name: 'types of the client', script: 'node_modules/typescript/bin/tsc', arguments: ['-p', 'client', '--noEmit'] },
  { name: 'types of the examples', script: 'node_modules/typescript/bin/tsc', arguments: ['-p', 'docs/examples'] },
  { name: 'unused code', script: 'node_modules/knip/bin/knip.js', arguments: ['--no-progress'] },
  { name: 'sizes', script: 'scripts/check-sizes.ts' },
  { name: 'names', script: 'scripts/check-names.ts' },
  { name: 'words', script: 'scripts/check-words.ts' },
  { name: 'guarantees', script: 'scripts/check-guarantees.ts' },
  { name: 'diagrams', script: 'scripts/check-diagrams.ts' },
  { name: 'generated pages', script: 'scripts/generate-pages.ts', arguments: ['--check'] },
]

const startedAt = performance.now()
const results = await Promise.all(CHECKS.map(run))
const failed = results.filter(({ passed }) => !passed)
for (const { name, output } of failed) console.error(`\nFAILED check > ${name}\n${output.trimEnd()}`)
console.log(summary(failed.map(({ name }) => name)))
process.exitCode = failed.length > 0 ? 1 : 0

async function run({ name, script, arguments: args = [] }: Check) {
  const child = spawn(process.execPath, [script, ...args], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<boolean>((resolve) => child.on('close', (status) => resolve(status === 0)))
  const [output, errors, passed] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  return { name, passed, output: output + errors }
}

function summary(names: readonly string[]): string {
  const took = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`
  if (names.length === 0) return `check: all ${CHECKS.length} passed (${took})`
  return `\ncheck: ${names.join(', ')} failed; \`npm run fix\` fixes what a machine can (${took})`
}
