import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { UnhandledErrors } from './scripts/unhandled-errors.ts'

export default defineConfig({
  test: {
    // Processes, not threads: tests change signals and the working folder, start servers and kill them, and a
    // crash inside the database engine takes down one file instead of the whole run.
    pool: 'forks',
    // The PostgreSQL that tests share belongs to the runner, not to one of its workers.
    globalSetup: ['test/support/postgres/global-setup.ts'],
    // The counts of this run, for `.ci/run`.
    reporters: ['default', ['json', { outputFile: 'node_modules/.setup/test-report.json' }], new UnhandledErrors()],
    // A second, as it is by default, is too little for what a busy machine is to do.
    expect: { poll: { timeout: 20_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: 'tests',
          include: ['{src,test,scripts,bench,site}/**/*.test.ts'],
          exclude: ['test/faults/**', 'test/browser/**'],
          // One more than there are cores: most tests wait for sockets, disks and processes that start.
          maxWorkers: availableParallelism() + 1,
          // Only against what never ends: some start servers or processes, on machines that others use, too.
          testTimeout: 180_000,
          hookTimeout: 180_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          // A browser and a service of its own for each, which leave half of two cores idle while they wait for each
          // other: two at once take little more than half the time.
          name: 'browser',
          include: ['test/browser/**/*.test.ts'],
          maxWorkers: 2,
          testTimeout: 240_000,
          hookTimeout: 240_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          // Power cuts, full disks, kills. Each wants the machine to itself, so they come last and one by one.
          name: 'faults',
          include: ['test/faults/**/*.test.ts'],
          maxWorkers: 1,
          testTimeout: 180_000,
          hookTimeout: 60_000,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
})
