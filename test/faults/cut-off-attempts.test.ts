import { describe, it } from 'vitest'
import { openWorld, type World } from '../support/black-box/world.ts'
import { CutAttempts, SLOW_SANDBOX, untilClaimsHaveEnded } from './cut-off-attempts/cut-attempts.ts'
import { networkSettings, openNetwork } from './whatsapp-cloud/cloud-run.ts'

describe.concurrent('attempts that are cut off before their network has answered', () => {
  it('G5 G10: by kill -9: the log claims nothing but what can be proven, also by reports that came first', async () => {
    await withAttempts(async (attempts, { service }) => {
      await service.killNine()
      await attempts.assertNoResult()

      await service.start()

      await attempts.assertHonestEnds('Cut off by kill -9', 'worker_died')
    })
  }, 240_000)

  it('G5 G6 G10: by a process that stands still beyond its claim: the log claims nothing but what can be proven', async () => {
    await withAttempts(async (attempts, { service }) => {
      service.signal('SIGSTOP')
      await untilClaimsHaveEnded()
      await attempts.assertNoResult()

      service.signal('SIGCONT')

      await attempts.assertHonestEnds('Cut off by SIGSTOP', 'fate_unknown')
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
