import assert from 'node:assert/strict'
import { decideAfterTry, givenUpAt } from '../../src/core/notifications/decide-after-try.ts'
import type { NotificationKind } from '../../src/core/notifications/notification-kinds.ts'
import type { ClaimedDelivery, TriedDelivery } from '../../src/core/ports/deliveries.ts'
import type { PostEnd } from '../../src/core/ports/guarded-post.ts'
import type { NewNotification } from '../../src/core/ports/notifications.ts'
import type { OfWebhook } from '../../src/core/ports/webhooks.ts'
import { change } from '../../src/storage/queries/store.ts'
import { createDeliveries } from '../../src/storage/queries/webhooks/deliveries.ts'
import { createWebhooks } from '../../src/storage/queries/webhooks/webhooks.ts'
import { writeNotices } from '../../src/storage/queries/webhooks/write-notifications.ts'
import { accept, addSender, multiplyTokens, type NewWorld, type StorageWorld, type Suite } from './storage-world.ts'

const DAY = 86_400_000
const LEASE = 60_000
const DONE: PostEnd = { kind: 'answered', status: 204, retryAfterMs: null, excerpt: '' }
const DOWN: PostEnd = { kind: 'failed', code: 'unreachable', words: 'The address did not answer.' }
const EVERYTHING = { state: null, kind: null, after: null }
const GONE: PostEnd = { kind: 'answered', status: 410, retryAfterMs: null, excerpt: 'gone' }

/** What every engine promises about webhooks and the deliveries to them. */
export function deliveriesKeepTheirPromises(suite: Suite, newWorld: NewWorld): void {
  spreading(suite, newWorld)
  harmless(suite, newWorld)
  trying(suite, newWorld)
  changing(suite, newWorld)
  telling(suite, newWorld)
}

function spreading({ it }: Suite, newWorld: NewWorld): void {
  it('posts a notification once to each webhook that wants it, with the data of the message', async () => {
    const world = await open(newWorld)
    const { account, work } = world
    const of = await hook(world, 'whk_a', ['message.cancelled'])
    await hook(world, 'whk_b', ['message.cancelled', 'message.failed'])
    await hook(world, 'whk_c', ['message.failed'])
    const id = await accept(world.storage, world.sender)
    await world.storage.administration.cancelMessage(id, 'test')

    await work.fanOut()
    const again = await work.fanOut()
    const claimed = await work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })

    assert.deepEqual(claimed.map(({ webhookId }) => webhookId).toSorted(), ['whk_a', 'whk_b'])
    assert.deepEqual(again, { notifications: 0, dropped: 0, damaged: [] })
    assert.equal(claimed[0]?.notificationId, claimed[1]?.notificationId)
    const payload = JSON.parse(claimed[0]?.payload ?? '') as Record<string, Record<string, unknown>>
    assert.equal(payload['type'], 'message.cancelled')
    const { data } = payload
    assert.deepEqual(
      [data?.['messageId'], data?.['from'], data?.['to'], data?.['state'], data?.['resendOf']],
      [id, world.sender.number, '15550100000', 'CANCELLED', null],
    )
    assert.deepEqual(Object(data?.['reason'])['code'], 'cancelled_by_person')
    assert.ok(!claimed[0]?.payload.includes('Hello'))
    const [listed] = (await world.hooks.listDeliveries(of, ALL)).items
    assert.deepEqual(listed?.message, { id: data?.['messageId'], to: data?.['to'] })
    assert.equal(account, claimed[0]?.accountId)
    await world.close()
  })

  it('G8: takes some notifications of each account, however many another has', async () => {
    const world = await open(newWorld)
    const other = { ...world, account: (await addSender(world.storage)).accountId }
    await hook(world, 'whk_a', ['token.expired'])
    await hook(other, 'whk_b', ['token.expired'])
    await announce(world, 500)
    await announce(other, 1)

    const fanOut = await world.work.fanOut()

    const [late] = (await world.hooks.listDeliveries({ accountId: other.account, id: 'whk_b' }, EVERYTHING)).items
    assert.equal(late?.state, 'waiting')
    assert.ok(fanOut.notifications > 100, `only ${fanOut.notifications} were taken`)
    await world.close()
  })

  it('drops the oldest if too many wait, and counts them', async () => {
    const world = await open(newWorld, 3)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 5)

    const fanOut = await world.work.fanOut()

    assert.equal(fanOut.dropped, 2)
    const { items } = await world.hooks.listDeliveries(of, { state: 'dropped', kind: null, after: null })
    assert.equal(items.length, 2)
    assert.equal((await world.hooks.readWebhook(of)).dropped, 2)
    const waiting = await world.hooks.listDeliveries(of, { state: 'waiting', kind: null, after: null })
    assert.ok((waiting.items.at(-1)?.position ?? 0) > (items[0]?.position ?? 0))
    await world.close()
  })
}

function harmless({ it }: Suite, newWorld: NewWorld): void {
  const sources: Readonly<Record<string, (world: World, name: string) => Promise<void>>> = {
    'as a rare notice': (world, name) => world.storage.notices.announce([expired(world, name)]),
    'in a change of the console': (world, name) =>
      change(world.storage.store, 'test', (making) => writeNotices(making, [expired(world, name)])),
  }
  for (const [source, write] of Object.entries(sources))
    it(`G11: delivers text that reads like an escape unchanged: ${source}`, async () => {
      const world = await open(newWorld)
      await hook(world, 'whk_a', ['token.expired'])
      await write(world, '\\u0000!\0@x.example')

      const fanOut = await world.work.fanOut()

      const { data } = JSON.parse((await claimOne(world)).payload) as { data: { name: string } }
      assert.deepEqual(fanOut, { notifications: 1, dropped: 0, damaged: [] })
      assert.equal(data.name, '\\u0000!@x.example')
      await world.close()
    })

  it('G11: leaves out a notification that cannot be read, names it, and delivers all others', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired', 'message.failed'])
    await announce(world, 5)
    const { database } = world.storage.store
    const notices = await database.selectFrom('notice').select(['id', 'position']).orderBy('position').execute()
    const broken = ['{"name":"\\!"}', '{"acceptedAt":erased812345}', 'null', '{}'].entries()
    for (const [at, data] of broken)
      await database
        .updateTable('notice')
        .set({ data, ...(data === '{}' && { kind: 'message.failed' }) })
        .where('position', '=', notices[at]?.position ?? 0)
        .execute()

    const fanOut = await world.work.fanOut()
    const again = await world.work.fanOut()

    const damaged = notices.slice(0, 4).map(({ id }) => id)
    assert.deepEqual([fanOut, again.notifications], [{ notifications: 5, dropped: 0, damaged }, 0])
    assert.equal((await world.hooks.listDeliveries(of, ALL)).items.length, 1)
    await world.close()
  })
}

function expired({ account }: World, name: string): NewNotification {
  return { accountId: account, kind: 'token.expired', at: 1, key: 'a', data: { name } }
}

function trying({ it }: Suite, newWorld: NewWorld): void {
  it('gives a delivery to one process at a time, and to another once its lease has ended', async () => {
    const world = await open(newWorld)
    await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 1)
    await world.work.fanOut()

    const both = await Promise.all(
      [1, 2].map(() => world.work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })),
    )
    await world.storage.clock.pass(LEASE - 1)
    const early = await world.work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })
    await world.storage.clock.pass(1)
    const [late] = await world.work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })

    const [first] = both.flat()
    assert.equal(both.flat().length, 1)
    assert.deepEqual(early, [])
    assert.ok(first && late)
    // The first worker is too late: only the second may record a result. The id stays the same.
    await world.work.record([tried(world, first, DOWN)])
    await world.work.record([tried(world, late, DONE)])
    const view = await world.hooks.readDelivery({ accountId: world.account, id: 'whk_a' }, first.position)
    assert.deepEqual([view.state, view.tries, view.tryRows.length], ['delivered', 1, 1])
    assert.equal(late.notificationId, first.notificationId)
    await world.close()
  })

  it('does not wait after a clock was set back', async () => {
    const world = await open(newWorld)
    await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 2)
    await world.work.fanOut()
    // A worker claims the deliveries and dies.
    await world.work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })

    world.storage.clock.setNow(-2 * DAY)
    await world.storage.clock.pass(1)
    const poll = await world.storage.notices.pollDeliveries()
    const due = await world.work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })
    const again = await world.work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })

    assert.deepEqual([poll.isDue, due.length, again.length], [true, 2, 0])
    assert.equal((await world.storage.notices.pollDeliveries()).isDue, false)
    await world.close()
  })

  it('retries on its schedule, and has failed when no try is left', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 1)
    await world.work.fanOut()

    const waits: number[] = []
    let position = 0
    for (;;) {
      const [claimed] = await world.work.claimDue({ room: 1, roomForFailing: 1, leaseMs: LEASE })
      assert.ok(claimed)
      position = claimed.position
      await world.work.record([tried(world, claimed, DOWN)])
      const view = await world.hooks.readDelivery(of, position)
      if (view.nextTryAt === null) break
      waits.push((view.nextTryAt - world.storage.clock.now()) / 1_000)
      await world.storage.clock.pass(view.nextTryAt - world.storage.clock.now())
    }

    assert.deepEqual(waits, [5, 60, 300, 1_800, 7_200, 18_000, 36_000, 50_400])
    const view = await world.hooks.readDelivery(of, position)
    assert.deepEqual([view.state, view.tries, view.lastCode], ['failed', 9, 'unreachable'])
    assert.deepEqual(view.tryRows[0]?.words, 'The address did not answer.')
    await world.close()
  })

  it('G8: lets no account and no dead webhook delay others', async () => {
    const world = await open(newWorld)
    await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 50)
    const other = await addSender(world.storage, { number: '15550001009' })
    await hook({ ...world, account: other.accountId }, 'whk_o', ['token.expired'])
    await announce({ ...world, account: other.accountId }, 2)
    await world.work.fanOut()

    const claimed = await world.work.claimDue({ room: 8, roomForFailing: 4, leaseMs: LEASE })
    const more = await world.work.claimDue({ room: 8, roomForFailing: 4, leaseMs: LEASE })

    assert.equal(claimed.filter(({ webhookId }) => webhookId === 'whk_o').length, 2)
    assert.equal(claimed.filter(({ webhookId }) => webhookId === 'whk_a').length, 4)
    assert.deepEqual(more, [], 'no more than four of one webhook at once')
    const mine = claimed.filter(({ webhookId }) => webhookId === 'whk_a')
    await world.work.record(mine.map((one) => tried(world, one, DOWN)))
    assert.equal(
      (await world.work.claimDue({ room: 6, roomForFailing: 3, leaseMs: LEASE })).length,
      1,
      'one at a time while it fails',
    )
    await world.close()
  })

  it('G8: gives an account eight deliveries at once, however many webhooks it has', async () => {
    const world = await open(newWorld)
    for (let at = 0; at < 20; at++) await hook(world, `whk_${at}`, ['token.expired'])
    await announce(world, 1)
    await world.work.fanOut()
    const claim = async () => (await world.work.claimDue({ room: 32, roomForFailing: 16, leaseMs: LEASE })).length

    assert.deepEqual([await claim(), await claim(), await claim()], [8, 0, 0])
    await world.close()
  })

  it('G8: finds a working webhook behind hundreds of failing ones that have been due for longer', async () => {
    const world = await open(newWorld)
    await hook(world, 'whk_down', ['token.expired'])
    const other = await addSender(world.storage, { number: '15550001009' })
    await hook({ ...world, account: other.accountId }, 'whk_works', ['token.expired'])
    await announce(world, 1)
    await announce({ ...world, account: other.accountId }, 1)
    await world.work.fanOut()
    const { database } = world.storage.store
    const update = database.updateTable('webhook')
    await update.set({ failing_since: 1 }).where('id', '=', 'whk_down').execute()
    await update.set({ served_at: world.storage.clock.now() }).where('id', '=', 'whk_works').execute()
    await multiplyHook(world, 'whk_down', 600)

    const claimed = await world.work.claimDue({ room: 2, roomForFailing: 1, leaseMs: LEASE })

    assert.ok(claimed.some(({ webhookId }) => webhookId === 'whk_works'))
    assert.equal(claimed.length, 2)
    await world.close()
  })

  it('reports a webhook as failing after five failed tries in a row, however many notifications came since', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 12)
    await world.work.fanOut()
    const isFailing = async () => (await world.hooks.readWebhook(of)).isFailing
    const fail = async (times: number) => {
      for (let more = 0; more < times; more++) {
        await world.storage.clock.pass(600_000)
        await world.work.record([tried(world, await claimOne(world), DOWN)])
      }
      return isFailing()
    }

    const [never, few, enough] = [await isFailing(), await fail(4), await fail(1)]
    await multiplyDelivery(world, 2_000)
    const buried = await isFailing()
    const { lastFailure } = await world.hooks.readWebhook(of)
    await world.work.record([tried(world, await claimOne(world), DONE)])
    const [delivered, onceMore, often] = [await isFailing(), await fail(1), await fail(4)]
    await world.hooks.setWebhookState(of, 'disabled', 'test')
    await world.hooks.setWebhookState(of, 'enabled', 'test')
    const [enabled, afterwards] = [await isFailing(), await fail(1)]

    assert.deepEqual([never, few, enough, buried], [false, false, true, true])
    assert.deepEqual(lastFailure, { code: 'unreachable', status: null })
    assert.equal((await world.hooks.readWebhook(of)).lastFailure, null)
    assert.deepEqual([delivered, onceMore, often], [false, false, true])
    assert.deepEqual([enabled, afterwards], [false, false])
    await world.close()
  })

  it('reports what is retried and until when, and no past time for what is due', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 1)
    await world.work.fanOut()
    const { clock } = world.storage
    const retrying = async () => (await world.hooks.readWebhook(of)).retrying

    const before = await retrying()
    await world.work.record([tried(world, await claimOne(world), DOWN)])
    const nextTryAt = clock.now() + 5_000
    const once = await retrying()
    await clock.pass(3_600_000)
    const due = await retrying()
    const dueAt = clock.now()
    await claimOne(world)
    const claimed = await retrying()

    const counted = { count: 1, isAtLeast: false }
    assert.equal(before, null)
    assert.deepEqual(once, { ...counted, nextTryAt, givenUpAt: givenUpAt({ tries: 1, nextTryAt }) })
    assert.deepEqual(due, { ...counted, nextTryAt: null, givenUpAt: givenUpAt({ tries: 1, nextTryAt: dueAt }) })
    assert.deepEqual([claimed?.count, claimed?.nextTryAt], [1, null])
    await world.close()
  })

  it('counts retries among the 2,000 deliveries that have waited longest', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 1)
    await world.work.fanOut()
    await world.work.record([tried(world, await claimOne(world), DOWN)])

    await multiplyDelivery(world, 1_998)
    const all = (await world.hooks.readWebhook(of)).retrying
    await multiplyDelivery(world, 1)
    const more = (await world.hooks.readWebhook(of)).retrying

    assert.deepEqual([all?.count, all?.isAtLeast], [1_999, false])
    assert.deepEqual([more?.count, more?.isAtLeast], [2_000, true])
    await world.close()
  })

  it('disables a webhook if all tries of three days failed, and notifies the other webhooks', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired', 'webhook.disabled'])
    await hook(world, 'whk_b', ['webhook.disabled'])
    await announce(world, 1)
    await world.work.fanOut()
    const first = await claimOne(world)
    await world.work.record([tried(world, first, DOWN)])
    await world.storage.clock.pass(3 * DAY)

    const second = await claimOne(world)
    const disabled = await world.work.record([tried(world, second, DOWN)])

    assert.deepEqual(
      disabled.map(({ webhookId, code }) => [webhookId, code]),
      [['whk_a', 'failing_for_days']],
    )
    const view = await world.hooks.readWebhook(of)
    assert.deepEqual([view.state, view.stateReason], ['failing', 'Every try of the last 3 days failed.'])
    await world.work.fanOut()
    const events = await world.work.claimDue({ room: 10, roomForFailing: 5, leaseMs: LEASE })
    assert.deepEqual(
      events.map(({ webhookId, payload }) => [webhookId, (JSON.parse(payload) as { type: string }).type]),
      [['whk_b', 'webhook.disabled']],
    )
    assert.ok((await world.storage.auditOf('whk_a' as never)).some(({ actor }) => actor === 'nuncio'))
    await world.close()
  })

  it('disables it at once if the receiver answers that it is gone, and never if one try in three days succeeded', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 3)
    await world.work.fanOut()
    await world.work.record([tried(world, await claimOne(world), DOWN)])
    await world.storage.clock.pass(2 * DAY)
    await world.work.record([tried(world, await claimOne(world), DONE)])
    await world.storage.clock.pass(2 * DAY)
    await world.work.record([tried(world, await claimOne(world), DOWN)])
    const before = await world.hooks.readWebhook(of)

    const [disabled] = await world.work.record([tried(world, await claimOne(world), GONE)])

    assert.equal(before.state, 'enabled')
    assert.equal(disabled?.code, 'gone')
    assert.equal((await world.hooks.readWebhook(of)).state, 'failing')
    await world.close()
  })

  it('deletes what is older than 30 days, and everything of a removed webhook', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 2)
    await world.work.fanOut()
    await world.work.record([tried(world, await claimOne(world), DOWN)])
    await world.storage.clock.pass(29 * DAY)
    while (await world.work.sweep(90));
    assert.equal((await world.hooks.listDeliveries(of, ALL)).items.length, 2)
    await world.storage.clock.pass(2 * DAY)
    await announce(world, 1, 'later')
    await world.work.fanOut()

    while (await world.work.sweep(90));
    const left = await world.hooks.listDeliveries(of, ALL)
    await world.hooks.removeWebhook(of, 'test')
    while (await world.work.sweep(90));

    assert.equal(left.items.length, 1)
    const { database } = world.storage.store
    for (const table of ['webhook', 'delivery', 'delivery_try', 'notice_want'] as const)
      assert.deepEqual(await database.selectFrom(table).selectAll().execute(), [], table)

    // Without a webhook, notifications about recipients must not be kept for ever.
    const { isListened } = await world.storage.notices.pollDeliveries()
    await world.storage.clock.pass(31 * DAY)
    while (await world.work.sweep(90));
    const after = await world.storage.notices.pollDeliveries()
    assert.deepEqual([isListened, after.isListened], [true, false])
    assert.deepEqual(await database.selectFrom('notice').selectAll().execute(), [])
    await world.close()
  })

  it('deletes sooner if messages are kept for a shorter time, by the installation or by one account', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    const other = await addSender(world.storage, { number: '15550001009' })
    const strict = { ...world, account: other.accountId }
    const ofStrict = await hook(strict, 'whk_s', ['token.expired'])
    await world.storage.sql(`insert into account_retention values ('${other.accountId}', null, 10)`)
    for (const each of [world, strict]) await announce(each, 2)
    await world.work.fanOut()
    await world.work.record([tried(world, await claimOne(world), DOWN)])
    const left = async () => {
      const lists = [of, ofStrict].map((each) => world.hooks.listDeliveries(each, ALL))
      return (await Promise.all(lists)).map(({ items }) => items.length)
    }

    await world.storage.clock.pass(11 * DAY)
    while (await world.work.sweep(90));
    const own = await left()
    while (await world.work.sweep(12));
    const young = await left()
    await world.storage.clock.pass(2 * DAY)
    while (await world.work.sweep(12));
    const all = await left()

    assert.deepEqual(
      [own, young, all],
      [
        [2, 0],
        [2, 0],
        [0, 0],
      ],
    )
    assert.deepEqual(await world.storage.store.database.selectFrom('delivery_try').selectAll().execute(), [])
    await world.close()
  })
}

const ALL = { state: null, kind: null, after: null } as const

function changing({ it }: Suite, newWorld: NewWorld): void {
  it('stores nothing for a disabled or removed webhook, and continues when it is enabled again', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 1)
    await world.work.fanOut()
    await world.hooks.setWebhookState(of, 'disabled', 'test')

    await announce(world, 1, 'unseen')
    const fanOut = await world.work.fanOut()
    const idle = await world.storage.notices.pollDeliveries()
    const none = await world.work.claimDue({ room: 5, roomForFailing: 3, leaseMs: LEASE })
    await world.hooks.setWebhookState(of, 'enabled', 'test')
    const due = await world.storage.notices.pollDeliveries()

    assert.equal(fanOut.notifications, 0)
    assert.deepEqual([idle.isListened, idle.isDue, due.isDue], [true, false, true])
    assert.deepEqual(none, [])
    assert.equal((await world.work.claimDue({ room: 5, roomForFailing: 3, leaseMs: LEASE })).length, 1)
    await world.close()
  })

  it('signs with both secrets until the old one ends', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 2)
    await world.work.fanOut()
    const oldUntil = world.storage.clock.now() + DAY
    await world.hooks.rotateWebhookSecret(of, { secret: 'new', oldUntil, endsEarlier: false }, 'test')

    const during = await claimOne(world)
    await world.storage.clock.pass(DAY)
    const after = await claimOne(world)

    assert.deepEqual([during.secrets, after.secrets], [['new', 'sealed'], ['new']])
    assert.equal((await world.hooks.readWebhook(of)).oldSecretUntil, null)
    await world.close()
  })

  it('ends no secret before its promised time, unless a person asks for that', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 3)
    await world.work.fanOut()
    const rotate = (secret: string, endsEarlier = false) => {
      const oldUntil = world.storage.clock.now() + DAY
      return world.hooks.rotateWebhookSecret(of, { secret, oldUntil, endsEarlier }, 'test')
    }
    const code = 'webhook_secrets_overlap'

    // The second call finds that the secret is not the one that it was to replace.
    const both = await Promise.allSettled([rotate('second'), rotate('second')])
    await assert.rejects(rotate('third'), { code })
    const kept = await claimOne(world)
    await rotate('third', true)
    const ended = await claimOne(world)
    await world.storage.clock.pass(DAY)
    await rotate('fourth')
    const later = await claimOne(world)

    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    assert.deepEqual(
      [kept, ended, later].map(({ secrets }) => secrets),
      [
        ['second', 'sealed'],
        ['third', 'second'],
        ['fourth', 'third'],
      ],
    )
    await world.close()
  })

  it('replays one delivery, or all failed ones since a time, with a new schedule and the same id', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 2)
    await world.work.fanOut()
    const failed = await claimOne(world)
    await world.work.record([
      { ...tried(world, failed, DOWN), checked: decideAfterTry(DOWN, { number: 9, now: 0, jitter: 0 }) },
    ])
    const delivered = await claimOne(world)
    await world.work.record([tried(world, delivered, DONE)])

    const count = await world.hooks.replayFailed(of, 0, 'test')
    await world.hooks.replayDelivery(of, delivered.position, 'test')
    const { retrying } = await world.hooks.readWebhook(of)
    const again = await world.work.claimDue({ room: 5, roomForFailing: 3, leaseMs: LEASE })

    assert.equal(count, 1)
    assert.deepEqual(
      new Set(again.map(({ notificationId, number, scheduled }) => `${notificationId} ${number} ${scheduled}`)),
      new Set([`${delivered.notificationId} 2 1`, `${failed.notificationId} 2 1`]),
    )
    // It is tried like a new delivery. If it fails, it has its whole schedule.
    assert.equal(retrying, null)
    await world.work.record(again.map((one) => tried(world, one, DOWN)))
    const nextTryAt = world.storage.clock.now() + 5_000
    const { retrying: failing } = await world.hooks.readWebhook(of)
    assert.deepEqual(failing, { count: 2, isAtLeast: false, nextTryAt, givenUpAt: givenUpAt({ tries: 1, nextTryAt }) })
    await world.close()
  })

  it('sends a test to that webhook alone, whatever events it wants', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await hook(world, 'whk_b', ['token.expired'])

    const position = await world.hooks.testWebhook(of, 'anna')

    const claimed = await world.work.claimDue({ room: 5, roomForFailing: 3, leaseMs: LEASE })
    assert.deepEqual(
      claimed.map((one) => [one.webhookId, one.position, (JSON.parse(one.payload) as { type: string }).type]),
      [['whk_a', position, 'webhook.test']],
    )
    await world.close()
  })

  it('G8: shows and changes nothing of the webhooks of other accounts', async () => {
    const world = await open(newWorld)
    await hook(world, 'whk_a', ['token.expired'])
    const position = await world.hooks.testWebhook({ accountId: world.account, id: 'whk_a' }, 'test')
    const other = await addSender(world.storage, { number: '15550001009' })
    const foreign: OfWebhook = { accountId: other.accountId, id: 'whk_a' }
    const { hooks } = world

    assert.deepEqual(await hooks.listWebhooks(other.accountId), [])
    for (const act of [
      () => hooks.readWebhook(foreign),
      () => hooks.changeWebhook(foreign, { description: 'mine' }, 'test'),
      () => hooks.setWebhookState(foreign, 'disabled', 'test'),
      () => hooks.rotateWebhookSecret(foreign, { secret: 'x', oldUntil: 0, endsEarlier: true }, 'test'),
      () => hooks.removeWebhook(foreign, 'test'),
      () => hooks.testWebhook(foreign, 'test'),
      () => hooks.listDeliveries(foreign, ALL),
      () => hooks.readDelivery(foreign, position),
      () => hooks.replayDelivery(foreign, position, 'test'),
      () => hooks.replayFailed(foreign, 0, 'test'),
    ])
      await assert.rejects(act, { code: 'webhook_unknown' })
    await world.close()
  })

  it('lists deliveries newest first, page by page, and by result', async () => {
    const world = await open(newWorld)
    const of = await hook(world, 'whk_a', ['token.expired'])
    await announce(world, 60)
    await world.work.fanOut()
    await world.work.record([tried(world, await claimOne(world), DONE)])

    const first = await world.hooks.listDeliveries(of, ALL)
    const second = await world.hooks.listDeliveries(of, { ...ALL, after: first.next })
    const delivered = await world.hooks.listDeliveries(of, { ...ALL, state: 'delivered' })
    const none = await world.hooks.listDeliveries(of, { ...ALL, kind: 'message.failed' })

    const positions = [...first.items, ...second.items].map(({ position }) => position)
    assert.equal(positions.length, 60)
    assert.deepEqual(
      positions,
      positions.toSorted((a, b) => b - a),
    )
    assert.equal(second.next, null)
    assert.deepEqual([delivered.items.length, none.items.length], [1, 0])
    await world.close()
  })
}

function telling({ it }: Suite, newWorld: NewWorld): void {
  it('notifies once each at 14, 7 and 1 days before a token expires and after it has expired', async () => {
    const world = await open(newWorld)
    await hook(world, 'whk_a', ['token.expiring', 'token.expired'])
    const events: unknown[] = []
    for (let day = 0; day <= 32; day++) {
      await world.work.announceTokens()
      await world.work.announceTokens()
      await world.work.fanOut()
      for (const claimed of await world.work.claimDue({ room: 5, roomForFailing: 3, leaseMs: LEASE })) {
        await world.work.record([tried(world, claimed, DONE)])
        const { type, data } = JSON.parse(claimed.payload) as { type: string; data: { daysLeft?: number } }
        events.push([day, type, data.daysLeft])
      }
      await world.storage.clock.pass(DAY)
    }

    assert.deepEqual(events, [
      [16, 'token.expiring', 14],
      [23, 'token.expiring', 7],
      [29, 'token.expiring', 1],
      [30, 'token.expired', undefined],
    ])
    await world.close()
  })

  it('G8: notifies of every token, however many expiring ones an account has', async () => {
    const world = await open(newWorld)
    const other = await addSender(world.storage, { number: '15550001009', tokenLastsDays: 31 })
    const theirs = { ...world, account: other.accountId }
    await hook(world, 'whk_a', ['token.expiring'])
    await hook(theirs, 'whk_o', ['token.expiring'])
    await multiplyTokens(world.storage, world.sender, 1_100)
    await world.storage.clock.pass(20 * DAY)

    await world.work.announceTokens()

    const { database } = world.storage.store
    const rows = await database.selectFrom('notice').select('account_id').execute()
    assert.equal(rows.filter((row) => row.account_id === theirs.account).length, 1)
    assert.equal(rows.length, 1_102)
    await world.close()
  })

  it('notifies of changes to connections, and not of changes that did not happen', async () => {
    const world = await open(newWorld)
    await hook(world, 'whk_a', [
      'connection.added',
      'connection.changed',
      'connection.paused',
      'connection.resumed',
      'connection.removed',
    ])
    const { administration } = world.storage
    const policy = (await administration.findConnection(world.sender.number, world.account)).policy
    const added = { accountId: world.account, number: '15550001005', channel: 'sandbox', policy, channelSettings: {} }

    const { id } = await administration.addConnection(added, 'anna')
    await administration.setConnectionState(id, 'paused', 'anna')
    await administration.setConnectionState(id, 'paused', 'anna')
    await administration.setConnectionState(id, 'active', 'anna')
    await administration.changeConnection(id, { policy }, 'anna')
    await administration.removeConnection(id, true, 'anna')
    await administration.addConnection(added, 'anna').catch(() => {})
    await assert.rejects(administration.addConnection(added, 'anna'))

    await world.work.fanOut()
    const { items } = await world.hooks.listDeliveries({ accountId: world.account, id: 'whk_a' }, ALL)
    assert.deepEqual(items.map(({ kind }) => kind).toReversed(), [
      'connection.added',
      'connection.paused',
      'connection.resumed',
      'connection.changed',
      'connection.removed',
      'connection.added',
    ])
    await world.close()
  })
}

async function open(newWorld: NewWorld, mostWaiting = 1_000) {
  const storage = await newWorld()
  const sender = await addSender(storage)
  return {
    storage,
    sender,
    account: sender.accountId,
    hooks: createWebhooks(storage.store),
    work: createDeliveries(storage.store, { mostWaiting }),
    close: () => storage.close(),
  }
}

type World = Awaited<ReturnType<typeof open>>

async function hook({ hooks, account }: World, id: string, kinds: readonly NotificationKind[]): Promise<OfWebhook> {
  const of = { accountId: account, id }
  const wanted = { ...of, url: 'https://shop.example/hook', description: '', kinds, secret: 'sealed' }
  await hooks.addWebhook(wanted, 'test')
  return of
}

/** Copies a webhook this many times, with its due deliveries. */
async function multiplyHook({ storage: { store } }: World, id: string, count: number): Promise<void> {
  const { database } = store
  const webhook = await database.selectFrom('webhook').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  const due = await database.selectFrom('delivery').selectAll().where('webhook_id', '=', id).executeTakeFirstOrThrow()
  for (let from = 0; from < count; from += 50) {
    const ids = Array.from({ length: 50 }, (_, at) => `${id}_${from + at}`)
    await database
      .insertInto('webhook')
      .values(ids.map((copy) => ({ ...webhook, id: copy })))
      .execute()
    await database
      .insertInto('delivery')
      .values(ids.map((copy) => ({ ...due, webhook_id: copy })))
      .execute()
  }
}

/**
 * Copies the last delivery this many times, for later notifications that do not exist. The copies are counted and never claimed.
 */
async function multiplyDelivery({ storage: { store } }: World, count: number): Promise<void> {
  const { database } = store
  const last = await database
    .selectFrom('delivery')
    .selectAll()
    .orderBy('notice_position', 'desc')
    .limit(1)
    .executeTakeFirstOrThrow()
  const copies = Array.from({ length: count }, (_, at) => ({ ...last, notice_position: last.notice_position + 1 + at }))
  for (let from = 0; from < count; from += 500)
    await database
      .insertInto('delivery')
      .values(copies.slice(from, from + 500))
      .execute()
}

async function announce({ storage, account }: World, count: number, prefix = 'key'): Promise<void> {
  await storage.notices.announce(
    Array.from({ length: count }, (_, at) => ({
      accountId: account,
      kind: 'token.expired' as const,
      at: storage.clock.now(),
      key: `${prefix}-${at}`,
      data: {},
    })),
  )
}

async function claimOne({ work }: World): Promise<ClaimedDelivery> {
  const [claimed] = await work.claimDue({ room: 1, roomForFailing: 1, leaseMs: LEASE })
  if (!claimed) throw new Error('nothing is due')
  return claimed
}

function tried({ storage }: { readonly storage: StorageWorld }, claimed: ClaimedDelivery, end: PostEnd): TriedDelivery {
  const { accountId, webhookId, position, claim, number, scheduled } = claimed
  const now = storage.clock.now()
  const checked = decideAfterTry(end, { number: scheduled, now, jitter: 0.5 })
  return { accountId, webhookId, position, claim, number, at: now, tookMs: 5, checked }
}
