import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../source-tree.ts'
import { isTier, TIERS } from './test-projects.ts'
import { reportPath } from './tier-report.mjs'

/**
 * `run-tier.ts TIER [--quick] [arguments of vitest]`. `--quick` is for the faults: it runs as many rounds as each test needs to
 * be able to fail.
 */
const [tier = '', ...given] = process.argv.slice(2)
if (!isTier(tier)) {
  console.error(`There is no tier “${tier}” of tests. Name one of: ${Object.keys(TIERS).join(', ')}`)
  process.exit(2)
}
const isQuick = given.includes('--quick')
if (isQuick && tier !== 'faults') {
  console.error('--quick shortens the faults only: npm run test:faults -- --quick')
  process.exit(2)
}

// The report of an earlier run must not count for this one.
rmSync(reportPath(tier), { force: true })
const { status } = spawnSync(
  process.execPath,
  [
    join(ROOT, 'node_modules/vitest/vitest.mjs'),
    'run',
    ...TIERS[tier].flatMap((project) => ['--project', project]),
    ...given.filter((argument) => argument !== '--quick'),
  ],
  {
    cwd: ROOT,
    stdio: 'inherit',
    env: {
      ...process.env,
      // Each thread of WhatsApp Web loads its library again, and most of that time is compiling.
      NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/compiled'),
      NUNCIO_TEST_TIER: tier,
      ...(isQuick ? { FAULT_QUICK: 'yes' } : {}),
    },
  },
)
process.exitCode = status ?? 1
