import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { AdministrationWorld } from '../../../../test/support/administration-world/open-administration-world.ts'
import { NO_CALLS } from '../../../../test/support/bridge/no-calls.ts'
import { testSecrets } from '../../../../test/support/secrets.ts'
import { createOnboardings } from '../../../channels/registry.ts'
import { createConnectionService } from '../../../connections/connection-service.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId } from '../../../core/ids.ts'
import { systemClock } from '../../../server/system-clock.ts'
import { createDeviceSessions } from '../../../storage/queries/connections/device-sessions.ts'
import type { Examination } from '../examination.ts'
import { checkChannels } from './check-channels.ts'

const FIRST_NUMBER = 15_550_001_000

let world: AdministrationWorld
let accountId: AccountId

describe('the check of linked numbers', () => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open('SQLite')
    accountId = await world.account()
    return close
  })

  it('names problems before numbers that are connecting, whatever their order', async () => {
    await link(...Array.from({ length: 10 }, () => 'connecting'), 'banned')

    const found = await check()

    assert.deepEqual(
      [found[0]?.status, found[0]?.facts['status'], found.length, found.at(-1)?.status],
      ['problem', 'banned', 11, 'warning'],
    )
    assert.match(found.at(-1)?.sentence ?? '', /^1 more linked number sends/)
  })

  it('has a problem in those that it does not name where one of them is', async () => {
    await link(...Array.from({ length: 11 }, () => 'banned'), 'connecting')

    const rest = (await check()).at(-1)

    assert.deepEqual([rest?.status, rest?.facts], ['problem', { left: 2 }])
  })

  it('asks for the packages of the channel only where no worker has stored a status', async () => {
    await link('ready', 'connecting', null)

    const found = await check()

    assert.deepEqual(
      found.map(({ status, facts }) => [status, facts['code'] ?? facts['status'] ?? facts['works']]),
      [
        ['problem', 'channel_not_installed'],
        ['warning', 'connecting'],
        ['ok', 1],
      ],
    )
  })
})

/** One number for each status that a worker has stored; null: none has. */
async function link(...statuses: readonly (string | null)[]): Promise<void> {
  for (const [index, status] of statuses.entries()) {
    const number = String(FIRST_NUMBER + index)
    const wanted = { accountId, number, channel: 'whatsapp-web', policy: DEFAULT_LANE_POLICY, channelSettings: {} }
    const { id } = await world.administration.addConnection(wanted, 'test')
    if (status !== null) await world.writeSessionStatus(id, status)
  }
}

/** On a machine without the packages of the channel. */
async function check() {
  const { administration, store } = world
  const guarded = NO_CALLS
  const settings = { whatsappCloudUrl: 'http://127.0.0.1:1' }
  const connectionService = createConnectionService({
    onboardings: createOnboardings({ settings, clock: systemClock, guarded, extraFolder: () => '/nowhere' }),
    openSecrets: async () => testSecrets(),
    publicUrl: 'http://127.0.0.1:8080',
  })
  const session = { administration, connectionService, deviceSessions: createDeviceSessions(store) }
  const examination: Pick<Examination, 'openSession' | 'now'> = {
    openSession: async () => session as never,
    now: () => 0,
  }
  return checkChannels(examination as Examination)
}
