import { defineConfig } from 'vitest/config'
import { LongestFirst } from './scripts/tiers/longest-first.ts'
import { PROJECTS, TIERS } from './scripts/tiers/test-projects.ts'
import { TierReporter } from './scripts/tiers/tier-reporter.ts'

const TEST_FILES = '**/*.test.{ts,tsx}'

export default defineConfig({
  test: {
    // Processes, not threads: tests change signals and the working folder, start servers and kill them, and a
    // crash inside the database engine takes down one file instead of the whole run.
    pool: 'forks',
    // All tests share one PostgreSQL, which belongs to the runner and not to one of its workers.
    globalSetup: [
      'test/support/build/global-setup.ts',
      'test/support/postgres/global-setup.ts',
      'test/support/temporary-files/global-setup.ts',
    ],
    reporters: ['default', new TierReporter()],
    // Limits only for what never ends: a busy machine makes a test slower, and must not make it fail.
    expect: { poll: { timeout: 120_000 } },
    testTimeout: 600_000,
    hookTimeout: 600_000,
    sequence: { sequencer: LongestFirst },
    projects: PROJECTS.map(({ name, files, workers, isIsolated, isInMemory }, index) => ({
      extends: true as const,
      test: {
        name,
        include: files.map(testFilesOf),
        // A file belongs to the first project that names it.
        exclude: [
          '**/node_modules/**',
          ...PROJECTS.slice(0, index).flatMap((earlier) => earlier.files.map(testFilesOf)),
        ],
        maxWorkers: workers,
        isolate: isIsolated,
        setupFiles: isInMemory ? ['test/support/temporary-files/lie-in-memory.ts'] : [],
        sequence: {
          groupOrder: Object.values(TIERS).findIndex((projects: readonly string[]) => projects.includes(name)),
        },
      },
    })),
  },
})

/** `test/faults/**` names folders with all that they hold; the runner must find only tests in them. */
function testFilesOf(glob: string): string {
  if (glob.endsWith('/**')) return `${glob.slice(0, -'**'.length)}${TEST_FILES}`
  return glob.endsWith('/*') ? `${glob}.test.{ts,tsx}` : glob
}
