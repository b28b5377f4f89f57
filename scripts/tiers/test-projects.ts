import { availableParallelism } from 'node:os'
import { matchesGlob } from 'node:path/posix'

/** Test files that run with the same settings. */
export interface TestProject {
  readonly name: string
  /** A file belongs to the first project that names it. */
  readonly files: readonly string[]
  readonly workers: number
  /** Whether each file gets its own process. If not, each worker loads shared imports once. */
  readonly isIsolated: boolean
  /** Whether temporary files are in memory, if there is room. Left out where disks are tested. */
  readonly isInMemory?: boolean
}

// One more than there are cores: most tests wait for sockets, disks and starting processes.
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
  // Power cuts, full disks, kills. More than half of their time they wait for leases to expire, so one more runs meanwhile.
  { name: 'faults', files: ['test/faults/**'], workers: MANY + 1, isIsolated: true },
  // Browsers and services take time to start, so one more keeps the cores busy.
  { name: 'e2e', files: ['test/**'], workers: MANY + 1, isIsolated: false, isInMemory: true },
]

/** Files that take more than half a minute although they are short. They start first. */
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

/** The projects of each tier. Those of one tier run in parallel. */
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

/** The name of the project that a file belongs to, by its path from the root; null if there is none. */
export function projectOf(file: string): string | null {
  return PROJECTS.find(({ files }) => files.some((glob) => matchesGlob(file, glob)))?.name ?? null
}
