import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { AdministrationWorld } from '../../../../test/support/administration-world/open-administration-world.ts'
import { createWebhooks } from '../../../storage/queries/webhooks/webhooks.ts'
import type { AccountRequest } from '../request-context.ts'
import { webhookHandlers } from './webhook-handlers.ts'

const SECOND = 1_000

let world: AdministrationWorld
let close: () => Promise<void>

describe('deliveries', () => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    close = await world.open('SQLite')
  })
  afterEach(() => close())

  it('are being sent for twenty seconds by the clock of the service, until their first try is over', async () => {
    const webhooks = createWebhooks(world.store)
    const handlers = webhookHandlers({ store: { webhooks } } as never)
    const of = { accountId: await world.account(), id: 'whk_1' }
    const wanted = { ...of, url: 'https://shop.example/', description: '', kinds: [], secret: 'sealed' } as const
    await webhooks.addWebhook(wanted, 'anna')
    const position = await webhooks.testWebhook(of, 'anna')
    const seen = async () => {
      const request = { accountId: of.accountId, now: world.now, actor: 'anna' } as unknown as AccountRequest
      const params = { account: of.accountId, id: of.id }
      const { items } = await handlers.listDeliveries({ params, query: {} } as never, request)
      const whole = await handlers.readDelivery({ params: { ...params, position } } as never, request)
      return [items[0]?.isBeingSent, whole.isBeingSent]
    }

    const found = [await seen()]
    world.now += 20 * SECOND
    found.push(await seen())
    world.now -= 20 * SECOND
    await world.run('update delivery set tries = 1')
    found.push(await seen())

    assert.deepEqual(found, [
      [true, true],
      [false, false],
      [false, false],
    ])
  })
})
