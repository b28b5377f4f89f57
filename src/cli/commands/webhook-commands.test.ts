import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'
import { testSecrets } from '../../../test/support/secrets.ts'
import type { AccountId } from '../../core/ids.ts'
import { decideAfterTry } from '../../core/notifications/decide-after-try.ts'
import { webhookSecretPlace } from '../../core/notifications/draw-webhook.ts'
import { WANTABLE_KINDS } from '../../core/notifications/notification-kinds.ts'
import type { ClaimedDelivery } from '../../core/ports/deliveries.ts'
import { createDeliveries } from '../../storage/queries/webhooks/deliveries.ts'

const URL = 'https://shop.example.com/hooks/nuncio'
const HOUR = 3_600_000

let world: CliWorld
let accountId: AccountId

interface Added {
  readonly id: string
  readonly url: string
  readonly notices: readonly string[]
  readonly secret: string
}

const add = (...more: readonly string[]) => world.json<Added>('webhook', 'add', URL, ...more)
const list = () => world.json<{ id: string; state: string; lastDay: Record<string, number> }[]>('webhook', 'list')

function claim(): Promise<readonly ClaimedDelivery[]> {
  return createDeliveries(world.store).claimDue({ room: 10, roomForFailing: 5, leaseMs: 1 })
}

/** As the service tries what is due. */
async function answerAll(status: number, number = 1): Promise<void> {
  const tried = (await claim()).map((claimed) => {
    const end = { kind: 'answered', status, retryAfterMs: null, excerpt: '' } as const
    return {
      ...claimed,
      at: world.now,
      tookMs: 7,
      checked: decideAfterTry(end, { number, now: world.now, jitter: 0.5 }),
    }
  })
  await createDeliveries(world.store).record(tried)
}

describe.each(ENGINES)('nuncio webhook, on %s', (engine) => {
  beforeEach(async () => {
    world = new CliWorld()
    const close = await world.open(engine)
    accountId = await world.account()
    return close
  })

  it('add shows the secret once, and keeps it sealed', async () => {
    const { code, stdout, stderr } = await world.cli('webhook', 'add', URL, '--notice', 'message.failed')
    const all = await add('--description', 'for the shop')

    assert.equal(code, 0, stderr)
    const [secret = '', , , hint = ''] = stdout.split('\n')
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{32,}=*$/)
    assert.match(hint, /nuncio webhook test whk_[0-9a-f]+/)
    assert.deepEqual(all.notices, WANTABLE_KINDS)
    const rows = await world.all('select id, kinds, description, secret from webhook order by kinds')
    assert.deepEqual(rows.map(({ description }) => String(description)).toSorted(), ['', 'for the shop'])
    assert.ok(rows.some(({ kinds }) => kinds === '["message.failed"]'))
    const sealed = String(rows.find(({ id }) => id === all.id)?.['secret'])
    assert.equal(testSecrets().open(sealed, webhookSecretPlace(accountId, all.id)), all.secret)
    assert.doesNotMatch(JSON.stringify([rows, await world.all('select * from audit')]), /whsec_/)
  })

  it('list shows them, and says what to do where there is none', async () => {
    const none = await world.cli('webhook', 'list')
    const { id } = await add('--notice', 'message.failed', '--notice', 'message.read')
    await world.json('webhook', 'test', id)
    const { stdout } = await world.cli('webhook', 'list')

    assert.match(none.stdout, /There is no webhook\. Add one: nuncio webhook add URL/)
    assert.match(stdout, new RegExp(`${id} +${URL} +enabled +1 +0 +0 +0 +message.failed,message.read`))
    assert.doesNotMatch(JSON.stringify(await list()), /secret/)
  })

  it('disable posts nothing more, and enable goes on, also where it was disabled by itself', async () => {
    const { id } = await add()
    await world.json('webhook', 'test', id)

    const disabled = await world.cli('webhook', 'disable', id)
    const idle = await claim()
    const refused = await world.cli('webhook', 'test', id)
    const enabled = await world.cli('webhook', 'enable', id)
    await answerAll(410)
    const [gone] = await list()
    const again = await world.json('webhook', 'enable', id)

    assert.equal(disabled.stdout, `Disabled ${id}. Nothing new is kept for it until: nuncio webhook enable ${id}\n`)
    assert.deepEqual(idle, [])
    assert.match(refused.stderr, /webhook_disabled/)
    assert.equal(enabled.stdout, `Enabled ${id}. Try it: nuncio webhook test ${id}\n`)
    assert.equal(gone?.state, 'failing')
    assert.deepEqual([again['id'], again['state'], again['stateReason']], [id, 'enabled', null])
    assert.deepEqual(
      (await world.audit()).filter((action) => /webhook\.(en|dis)able/.test(action)),
      ['webhook.disable', 'webhook.enable', 'webhook.disable', 'webhook.enable'],
    )
  })

  it('test queues a notice for that webhook alone, and deliveries shows what became of it', async () => {
    const { id } = await add()
    const other = await add()
    const { delivery } = await world.json<{ delivery: number }>('webhook', 'test', id)
    const printed = await world.cli('webhook', 'test', id)
    await answerAll(204)

    const { stdout } = await world.cli('webhook', 'deliveries', id)
    const delivered = await world.json<Record<string, unknown>[]>('webhook', 'deliveries', id, '--state', 'delivered')
    const failed = await world.cli('webhook', 'deliveries', id, '--state', 'failed')

    assert.equal(printed.stdout, `It is on its way. See what became of it: nuncio webhook deliveries ${id}\n`)
    assert.match(stdout, new RegExp(`${delivery} +webhook\\.test +delivered +1 +204 `))
    assert.deepEqual([delivered.length, delivered.at(-1)?.['delivery']], [2, delivery])
    assert.match(failed.stdout, /There is none/)
    assert.deepEqual(await world.json('webhook', 'deliveries', other.id), [])
  })

  it('replay posts one again, or all that failed since a moment, under the same webhook-id', async () => {
    const { id } = await add()
    const { delivery } = await world.json<{ delivery: number }>('webhook', 'test', id)
    await world.json('webhook', 'test', id)
    const inOrder = (rows: readonly { webhookId: string }[]) => rows.map(({ webhookId }) => webhookId)
    const before = await world.json<{ webhookId: string }[]>('webhook', 'deliveries', id)
    await answerAll(500, 9)

    const one = await world.cli('webhook', 'replay', id, '--delivery', `${delivery}`)
    const since = new Date(world.now - HOUR).toISOString()
    const rest = await world.json('webhook', 'replay', id, '--failed-since', since)
    const none = await world.cli('webhook', 'replay', id, '--failed-since', since)

    assert.equal(one.stdout, '1 delivery is on the way again.\n')
    assert.deepEqual(rest, { id, replayed: 1 })
    assert.equal(none.stdout, '0 deliveries are on the way again.\n')
    const waiting = ['webhook', 'deliveries', id, '--state', 'waiting'] as const
    assert.deepEqual(inOrder(await world.json<{ webhookId: string }[]>(...waiting)), inOrder(before))
  })

  it('remove forgets it', async () => {
    const { id } = await add()

    assert.equal((await world.cli('webhook', 'remove', id)).stdout, `The webhook ${id} was removed.\n`)

    assert.deepEqual(await list(), [])
    assert.match((await world.cli('webhook', 'remove', id)).stderr, /webhook_unknown/)
    assert.equal((await world.audit()).at(-1), 'webhook.remove')
  })

  it('G8: finds a webhook by its id alone, and not under another account', async () => {
    const { id } = await add()
    await world.account('Other')

    const foreign = await world.cli('webhook', 'disable', id, '--account', 'Other')
    const own = await world.cli('webhook', 'disable', id)
    const unsaid = await world.cli('webhook', 'add', URL)

    assert.match(foreign.stderr, /webhook_unknown/)
    assert.equal(own.code, 0)
    assert.match(unsaid.stderr, /--account/)
    assert.deepEqual(await world.json('webhook', 'list', '--account', 'Other'), [])
  })

  it.each([
    ['a private address', ['add', 'http://127.0.0.1/hook'], /argument_invalid/],
    ['what is no address', ['add', 'shop'], /argument_invalid/],
    [
      'another port',
      ['add', 'https://shop.example.com:3000/'],
      /Port 3000 is refused: only the ports 80, 443, 8080 and 8443/,
    ],
    ['an unknown notice', ['add', URL, '--notice', 'message.lost'], /There is no notice “message\.lost”/],
    ['a test as a notice', ['add', URL, '--notice', 'webhook.test'], /argument_invalid/],
    ['an unknown webhook', ['enable', 'whk_0'], /There is no webhook whk_0\. See: nuncio webhook list/],
    ['an unknown state', ['deliveries', 'WEBHOOK', '--state', 'lost'], /“lost” is no state of a delivery/],
    ['a replay of nothing', ['replay', 'WEBHOOK'], /either --delivery or --failed-since/],
    ['a replay of two things', ['replay', 'WEBHOOK', '--delivery', '1', '--failed-since', '2026-01-01'], /either/],
    ['what is no time', ['replay', 'WEBHOOK', '--failed-since', 'noon'], /“noon” is no time/],
    ['what is no delivery', ['replay', 'WEBHOOK', '--delivery', 'x'], /“x” is no delivery/],
    ['an unknown delivery', ['replay', 'WEBHOOK', '--delivery', '99'], /delivery_unknown/],
  ])('refuses %s', async (_, args, sentence) => {
    const { id } = await add()

    const { code, stderr } = await world.cli('webhook', ...args.map((arg) => (arg === 'WEBHOOK' ? id : arg)))

    assert.notEqual(code, 0)
    assert.match(stderr, sentence)
  })
})
