import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { AdministrationWorld } from '../../../../test/support/administration-world/open-administration-world.ts'
import { JoinedRefusal } from '../../../core/refusals.ts'
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

describe('a webhook', () => {
  it('is refused with all that is wrong at once, when it is added and when it is changed', async () => {
    const handlers = webhookHandlers({
      store: { webhooks: {} },
      webhookRanges: { allowed: [], refused: [] },
      randomBytes,
    } as never)
    const body = { url: 'http://10.0.0.1/hook', description: 'two\nlines', kinds: [] }
    const asked = { params: { account: 'acc_1', id: 'whk_1' }, query: {}, body } as never
    const errors = [await refusalOf(handlers.createWebhook(asked, {} as never))]
    errors.push(await refusalOf(handlers.changeWebhook(asked, {} as never)))

    const fields = ['url', 'description', 'kinds']
    assert.deepEqual(
      errors.map(({ parts }) => parts.map(({ field }) => field)),
      [fields, fields],
    )
  })
})

async function refusalOf(call: Promise<unknown>): Promise<JoinedRefusal> {
  const error = await call.catch((caught: unknown) => caught)
  assert.ok(error instanceof JoinedRefusal)
  return error
}
