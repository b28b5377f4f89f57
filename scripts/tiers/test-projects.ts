import { availableParallelism } from 'node:os'
import { matchesGlob } from 'node:path/posix'

/** Test files that run with the same settings. */
export interface TestProject {
  readonly name: string
  /** A file belongs to the first project that names it. */
  readonly files: readonly string[]
  readonly workers: number
  /** Whether each file gets a process of its own. Without, what many files import is loaded once for each worker. */
  readonly isIsolated: boolean
  /** Its temporary files lie in memory, where there is room. Left out where disks are what is tested. */
  readonly isInMemory?: boolean
}

// One more than there are cores: most tests wait for sockets, disks and processes that start.
const MANY = availableParallelism() + 1

export const PROJECTS: readonly TestProject[] = [
  {
    name: 'scale',
    files: ['test/faults/growth/**', '**/plans.test.ts', '**/million-messages.test.ts'],
    workers: 1,
    isIsolated: true,
  },
  {
    name: 'harness',
    files: ['test/support/**', 'test/harness/**', 'bench/**', 'scripts/bootstrap*.test.ts'],
    workers: MANY,
    isIsolated: true,
  },
  { name: 'deploy', files: ['test/deploy/**'], workers: MANY + 1, isIsolated: true },
  // Build images and systems, and run them.
  { name: 'packages', files: ['test/packages/**'], workers: MANY + 1, isIsolated: true },
  {
    name: 'test',
    files: [
      '{src,console,client,scripts,site}/**',
      'test/*',
      'test/{conformance,console,contract,promises,simulation}/**',
      'test/browser/whole-way.test.ts',
    ],
    workers: MANY,
    isIsolated: false,
    isInMemory: true,
  },
  // Power cuts, full disks, kills. They wait more than half of their time for leases to run out, so one more goes on meanwhile.
  { name: 'faults', files: ['test/faults/**'], workers: MANY + 1, isIsolated: true },
  // Browsers and services start and wait: one more keeps both cores busy.
  { name: 'e2e', files: ['test/**'], workers: MANY + 1, isIsolated: false, isInMemory: true },
]

/** Files that take more than half a minute though they are short. They start first. */
export const LONGEST: readonly string[] = [
  'test/conformance/postgres.test.ts',
  'test/promises/kill-nine-postgres.test.ts',
  'test/whatsapp-web/conformance.test.ts',
  'test/browser/every-page.test.ts',
  'test/browser/alarms.test.ts',
  'test/journeys/slow-callers.test.ts',
  'test/faults/disk-full.test.ts',
  'test/faults/whatsapp-cloud.test.ts',
  'test/faults/postgres/whatsapp-cloud.test.ts',
  'test/faults/whatsapp-web.test.ts',
  'test/faults/postgres/whatsapp-web.test.ts',
  'test/faults/whatsapp-web-linking.test.ts',
  'test/faults/whatsapp-web-restored.test.ts',
  'test/faults/whatsapp-web-rotation.test.ts',
  'test/faults/postgres/whatsapp-web-rotation.test.ts',
  'test/faults/postgres/whatsapp-web-workers.test.ts',
  'test/faults/cut-off-attempts.test.ts',
  'test/faults/simulation.test.ts',
]

/** The projects of each tier. Those of one tier run at once. */
export const TIERS = {
  test: ['test'],
  e2e: ['e2e', 'deploy'],
  faults: ['faults'],
  scale: ['scale'],
  harness: ['harness'],
  packages: ['deploy', 'packages'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type Tier = keyof typeof TIERS

export function isTier(name: string): name is Tier {
  return Object.hasOwn(TIERS, name)
}

/** The name of the project that a file belongs to, by its path from the root; null: none. */
export function projectOf(file: string): string | null {
  return PROJECTS.find(({ files }) => files.some((glob) => matchesGlob(file, glob)))?.name ?? null
}
