import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { DAY_MS } from './hours.ts'
import { createOverview } from './overview.ts'

const TOKEN = {
  ...{ name: 'first', expiresAt: NOON + DAY_MS, sha256: Buffer.from('first'), prefix: 'first' },
  ...{ events: [], connectionIds: null, sourceRanges: null },
}

let world: AdministrationWorld

describe.each(ENGINES)('the first steps of an account, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    return await world.open(engine)
  })

  it('ticks off the steps of a new account, until a person has seen a message of it', async () => {
    const account = await world.account('Acme')
    const overview = createOverview(world.store)
    const asked = { accountId: account, range: '24h', connectionId: null, timeZone: null, offsetMinutes: 0 } as const
    const steps = async () => (await overview.readOverview(asked)).firstSteps
    const byFirstStart = { connection: false, token: false }
    const begun = await steps()
    const connectionId = await world.connection(account)
    const connected = await steps()
    await world.administration.createToken({ ...TOKEN, accountId: account }, 'test')
    const equipped = await steps()
    await world.accept({ connectionId })
    const sent = await steps()
    await overview.noteMessageSeen(account, 'anna')
    await overview.noteMessageSeen(account, 'ben')

    assert.deepEqual(begun, { connection: false, token: false, message: false, byFirstStart })
    assert.deepEqual(connected, { connection: true, token: false, message: false, byFirstStart })
    assert.deepEqual(equipped, { connection: true, token: true, message: false, byFirstStart })
    assert.deepEqual(sent, { connection: true, token: true, message: true, byFirstStart })
    assert.equal(await steps(), null)
  })

  it('says which steps the first start has done', async () => {
    const account = await world.account('Acme')
    const overview = createOverview(world.store)
    const asked = { accountId: account, range: '24h', connectionId: null, timeZone: null, offsetMinutes: 0 } as const
    await world.connection(account)
    await world.administration.createToken({ ...TOKEN, accountId: account }, 'first start')

    const { firstSteps } = await overview.readOverview(asked)

    assert.deepEqual(firstSteps?.byFirstStart, { connection: false, token: true })
  })
})
