import { describe, it } from 'vitest'
import { type Cluster, openCluster } from '../support/black-box/cluster.ts'
import { openPages, type ReadLines, readAtCommandLine } from '../support/black-box/open-pages.ts'
import { QuickCli } from '../support/black-box/quick-cli.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import { CutAttempts, SLOW_SANDBOX, untilClaimsHaveEnded } from './cut-off-attempts/cut-attempts.ts'
import { networkSettings, openNetwork } from './whatsapp-cloud/cloud-run.ts'

const NO_PROCESS_SENDS = [
  /^No process sends\. The last sign of life of one was on /,
  /^Ask the person who runs Nuncio to start a process that sends\.$/,
] as const
const READ = /^Sent and read( .+ after the request)?\.$/
// `read`: there was no answer, but a report came.
const AFTER_A_STOP = {
  provable: [
    /^Sent at the second attempt: the sandbox accepted it .+ after the request\.$/,
    /^Nuncio stopped during attempt 1\. The sandbox showed that it had not left, so it was sent again\.$/,
  ],
  unprovable: [
    /^Nobody knows whether it arrived\.$/,
    /^Nuncio stopped during attempt 1, and the sandbox could not say whether it left\.$/,
  ],
  read: [READ, /^Nuncio stopped during attempt 1\. A report from Meta shows that it has it\.$/],
} as const
const WITHOUT_ANSWER = {
  read: [READ, /^Meta gave no answer to attempt 1\. A report (.* later )?shows that it has it\.$/],
} as const
const NOT_CUT_OFF = {
  ...WITHOUT_ANSWER,
  unreported: [/^Nobody knows/, /^Meta gave no answer to attempt 1, and no report came within 1 min\.$/],
} as const

// Concurrently, because most of the time they wait until a claim has expired.
describe.concurrent('attempts that end before their network has answered', () => {
  it('G5 G10: kill -9: the log states only what can be proven, for example by earlier reports (situations 32 and 33)', async () => {
    await withAttempts(async (attempts, { service, cli }) => {
      await service.killNine()
      await attempts.assertNoResult()
      await attempts.assertStopIsSaid(readAtCommandLine(cli), [NO_PROCESS_SENDS[0], /^Start a process that sends\. /])

      await service.start()

      await attempts.assertHonestEnds('Cut off by kill -9', 'stopped_while_sending')
      await attempts.assertPagesSay(AFTER_A_STOP)
    })
  })

  it('G5 G6 G10: a process that is stopped beyond its claim: the log states only what can be proven (situation 34)', async () => {
    await withAttempts(async (attempts, { service, cli }) => {
      service.signal('SIGSTOP')
      await untilClaimsHaveEnded()
      await attempts.assertNoResult()
      await attempts.assertStopIsSaid(readAtCommandLine(cli), [
        new RegExp(`^Process ${service.pid} has shown no sign of life since .*, but still holds the data. `),
        /^Restart that process\. /,
      ])

      service.signal('SIGCONT')

      await attempts.assertHonestEnds('Cut off by SIGSTOP', 'result_unknown')
      await attempts.assertPagesSay(WITHOUT_ANSWER)
    })
  })

  it('G5 G10: a network that never answers: the log states what a report shows (situation 44)', async () => {
    await withAttempts(async (attempts) => {
      await attempts.assertHonestEnds('Never answered', 'result_unknown', { provable: ['accepted'] })
      await attempts.assertPagesSay(NOT_CUT_OFF)
    })
  })

  it('G5 G10: kill -9 on PostgreSQL: the log states only what the next worker can prove', async () => {
    await withAttemptsOnPostgres(async (attempts, { cluster, readLines }) => {
      await cluster.services[0]?.killNine()
      await attempts.assertNoResult()
      await attempts.assertStopIsSaid(readLines, NO_PROCESS_SENDS)

      await cluster.addWorker()

      await attempts.assertHonestEnds('Cut off by kill -9, PostgreSQL', 'stopped_while_sending')
      await attempts.assertPagesSay(AFTER_A_STOP)
    })
  })

  it('G5 G6 G10: a stopped worker on PostgreSQL: the log states only what the next one can prove, even after the first resumes', async () => {
    await withAttemptsOnPostgres(async (attempts, { cluster, readLines }) => {
      const [frozen] = cluster.services
      frozen?.signal('SIGSTOP')
      await attempts.assertNoResult()
      await attempts.assertStopIsSaid(readLines, NO_PROCESS_SENDS)
      await cluster.addWorker()
      await attempts.assertHonestEnds('Cut off by SIGSTOP, PostgreSQL', 'stopped_while_sending')

      frozen?.signal('SIGCONT')
      await waitUntil('it is awake', async () => frozen?.isAlive(), { deadlineMs: 20_000 })
      // It ends only after its calls, and after it has tried to record their results.
      await frozen?.stop()

      await attempts.assertHonestEnds('The same after it woke up', 'stopped_while_sending')
    })
  })
})

async function withAttempts(run: (attempts: CutAttempts, world: World) => Promise<void>): Promise<void> {
  const simulator = await openNetwork(1)
  const world = await openWorld({ ...SLOW_SANDBOX, environment: networkSettings(simulator.url) })
  try {
    const serviceUrl = world.service.url
    const readLines = await openPages(world, serviceUrl)
    await run(await CutAttempts.open({ ...world, simulator, serviceUrl, readLines }), world)
  } finally {
    await world.close()
  }
}

interface OnPostgres {
  readonly cluster: Cluster
  /** Reads the pages through a process that sends nothing and keeps running. */
  readonly readLines: ReadLines
}

async function withAttemptsOnPostgres(run: (attempts: CutAttempts, on: OnPostgres) => Promise<void>): Promise<void> {
  const simulator = await openNetwork(1)
  const environment = networkSettings(simulator.url)
  const environmentOf = (worker: number) => (worker === 1 ? { NUNCIO_ROLES: 'console' } : {})
  const cluster = await openCluster({ ...SLOW_SANDBOX, workers: 2, environment, environmentOf })
  try {
    const cli = new QuickCli({ ...cluster, environment })
    const serviceUrl = cluster.services[0]!.url
    const readLines = await openPages(cluster, cluster.services[1]!.url)
    const client = cluster.clientOf(0)
    await run(await CutAttempts.open({ ...cluster, cli, client, simulator, serviceUrl, readLines }), {
      cluster,
      readLines,
    })
  } finally {
    await cluster.close()
  }
}
