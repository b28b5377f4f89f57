import { describe, it } from 'vitest'
import { type Cluster, openCluster } from '../support/black-box/cluster.ts'
import { QuickCli } from '../support/black-box/quick-cli.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { openWorld, type World } from '../support/black-box/world.ts'
import { CutAttempts, SLOW_SANDBOX, untilClaimsHaveEnded } from './cut-off-attempts/cut-attempts.ts'
import { networkSettings, openNetwork } from './whatsapp-cloud/cloud-run.ts'

// All at once: they mostly wait until a claim has run out.
describe.concurrent('attempts that are cut off before their network has answered', () => {
  it('G5 G10: by kill -9: the log claims nothing but what can be proven, also by reports that came first', async () => {
    await withAttempts(async (attempts, { service }) => {
      await service.killNine()
      await attempts.assertNoResult()

      await service.start()

      await attempts.assertHonestEnds('Cut off by kill -9', 'stopped_while_sending')
    })
  }, 240_000)

  it('G5 G6 G10: by a process that stands still beyond its claim: the log claims nothing but what can be proven', async () => {
    await withAttempts(async (attempts, { service }) => {
      service.signal('SIGSTOP')
      await untilClaimsHaveEnded()
      await attempts.assertNoResult()

      service.signal('SIGCONT')

      await attempts.assertHonestEnds('Cut off by SIGSTOP', 'result_unknown')
    })
  }, 240_000)

  it('G5 G10: on PostgreSQL, by kill -9: the log claims nothing but what the worker that takes over can prove', async () => {
    await withAttemptsOnPostgres(async (attempts, cluster) => {
      await cluster.services[0]?.killNine()
      await attempts.assertNoResult()

      await cluster.addWorker()

      await attempts.assertHonestEnds('Cut off by kill -9, PostgreSQL', 'stopped_while_sending')
    })
  }, 240_000)

  it('G5 G6 G10: on PostgreSQL, by a worker that stands still beyond its claim: the log claims nothing but what the next can prove, also when it resumes', async () => {
    await withAttemptsOnPostgres(async (attempts, cluster) => {
      const [frozen] = cluster.services
      frozen?.signal('SIGSTOP')
      await attempts.assertNoResult()
      await cluster.addWorker()
      await attempts.assertHonestEnds('Cut off by SIGSTOP, PostgreSQL', 'stopped_while_sending')

      frozen?.signal('SIGCONT')
      await waitUntil('it is awake', async () => frozen?.isAlive(), { deadlineMs: 20_000 })
      // It ends only when its calls have, and after it has tried to record what it took them to come to.
      await frozen?.stop()

      await attempts.assertHonestEnds('The same after it woke up', 'stopped_while_sending')
    })
  }, 240_000)
})

async function withAttempts(run: (attempts: CutAttempts, world: World) => Promise<void>): Promise<void> {
  const simulator = await openNetwork(1)
  const world = await openWorld({ ...SLOW_SANDBOX, environment: networkSettings(simulator.url) })
  try {
    await run(await CutAttempts.open({ ...world, simulator, serviceUrl: world.service.url }), world)
  } finally {
    await world.close()
  }
}

async function withAttemptsOnPostgres(run: (attempts: CutAttempts, cluster: Cluster) => Promise<void>): Promise<void> {
  const simulator = await openNetwork(1)
  const environment = networkSettings(simulator.url)
  const cluster = await openCluster({ ...SLOW_SANDBOX, workers: 1, environment })
  try {
    const cli = new QuickCli({ ...cluster, environment })
    const serviceUrl = cluster.services[0]!.url
    await run(await CutAttempts.open({ ...cluster, cli, simulator, serviceUrl }), cluster)
  } finally {
    await cluster.close()
  }
}
