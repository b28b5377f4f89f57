import assert from 'node:assert/strict'
import { afterEach, describe, it, vi } from 'vitest'
import { HandClock, settle } from '../../test/conformance/hand-clock.ts'
import { newSqliteWorld } from '../../test/conformance/sqlite-world.ts'
import { addSender, type StorageWorld } from '../../test/conformance/storage-world.ts'
import { testSecrets } from '../../test/support/secrets.ts'
import type { AccountId } from '../core/ids.ts'
import { RETRY_DELAYS_MS } from '../core/notifications/decide-after-try.ts'
import { webhookSecretPlace } from '../core/notifications/draw-webhook.ts'
import type { GuardedPost, PostEnd, PostWanted } from '../core/ports/guarded-post.ts'
import type { JournalEvent } from '../core/ports/journal.ts'
import { createDeliveries } from '../storage/queries/webhooks/deliveries.ts'
import { createWebhooks } from '../storage/queries/webhooks/webhooks.ts'
import { Deliverer } from './deliverer.ts'

const DAY = 86_400_000
const POLL_MS = 250
const LEASE = 60_000
const ALL = { state: null, kind: null, after: null } as const

const answer = (status: number, retryAfterMs: number | null = null): PostEnd => ({
  kind: 'answered',
  status,
  retryAfterMs,
  excerpt: '',
})

interface Posted {
  readonly id: string
  readonly url: string
  readonly at: number
  readonly signal: AbortSignal
  /** What the receiver answers. */
  end(end: PostEnd): void
}

/** Receivers that answer at once; those without a configured answer wait until the test answers. */
class Receivers implements GuardedPost {
  readonly posted: Posted[] = []
  readonly #clock: HandClock
  readonly #answers = new Map<string, () => PostEnd>()
  #taken = 0
  /** How many posts wait for their answer. */
  running = 0

  constructor(clock: HandClock) {
    this.#clock = clock
  }

  at(url: string, end: () => PostEnd): void {
    this.#answers.set(url, end)
  }

  post({ url, headers }: PostWanted, signal: AbortSignal): Promise<PostEnd> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error))
      this.posted.push({ id: headers['webhook-id'] ?? '', url, at: this.#clock.now(), signal, end: resolve })
      const end = this.#answers.get(url)
      if (end) resolve(end())
      else this.running += 1
    })
  }

  /** From now on no receiver answers until it is configured again. */
  hang(): void {
    this.#answers.clear()
  }

  /** The posts that were not taken before, in order. */
  takeRunning(): readonly Posted[] {
    const taken = this.posted.slice(this.#taken)
    this.#taken = this.posted.length
    return taken
  }

  to(url: string): readonly Posted[] {
    return this.posted.filter((one) => one.url === url)
  }
}

class World {
  readonly events: JournalEvent[] = []
  readonly receivers: Receivers
  readonly #storage: StorageWorld
  readonly #deliverers: Deliverer[] = []

  constructor(storage: StorageWorld) {
    this.#storage = storage
    this.receivers = new Receivers(storage.clock)
  }

  get clock(): HandClock {
    return this.#storage.clock
  }

  get notices() {
    return this.#storage.notices
  }

  get hooks() {
    return createWebhooks(this.#storage.store)
  }

  /** Another posting process. With a clock of its own it can stop while others continue. */
  deliverer(clock = this.clock): Deliverer {
    const deliverer = new Deliverer({
      watch: this.#storage.notices,
      deliveries: createDeliveries(this.#storage.store),
      post: this.receivers,
      secrets: testSecrets(),
      clock,
      messagesDays: 90,
      journal: { record: (event) => void this.events.push(event) },
    })
    this.#deliverers.push(deliverer)
    return deliverer
  }

  async account(number: string): Promise<AccountId> {
    return (await addSender(this.#storage, { number })).accountId
  }

  async hook(accountId: AccountId, id: string): Promise<string> {
    const url = `https://shop.example.com/${id}`
    const secret = testSecrets().seal(
      `whsec_${Buffer.alloc(24, 1).toString('base64')}`,
      webhookSecretPlace(accountId, id),
    )
    await this.hooks.addWebhook({ accountId, id, url, description: '', kinds: ['token.expired'], secret }, 'test')
    return url
  }

  async announce(accountId: AccountId, count: number): Promise<void> {
    const notices = Array.from({ length: count }, (_, at) => {
      return { accountId, kind: 'token.expired', at: this.clock.now(), key: `key-${at}`, data: {} } as const
    })
    await this.#storage.notices.announce(notices)
  }

  /** Announced notices that are not being delivered yet. */
  async damage(): Promise<void> {
    await this.#storage.sql(`update notice set data = '{"to":"15550100000",' where is_new = 1`)
  }

  /** Lets time pass, and waits for its effects. */
  async pass(ms: number): Promise<void> {
    await this.clock.pass(ms)
    await settle()
    await settle()
  }

  /** The same without the polls in between, except for the last one. */
  async jumpTo(at: number): Promise<void> {
    this.clock.setNow(Math.max(0, at - POLL_MS - this.clock.now()))
    await this.pass(at - this.clock.now())
  }

  async close(): Promise<void> {
    await Promise.all(this.#deliverers.map((deliverer) => deliverer.stop(0)))
    await this.#storage.close()
  }
}

let world: World

async function open() {
  world = new World(await newSqliteWorld())
  const accountId = await world.account('15550001000')
  return { accountId, url: await world.hook(accountId, 'whk_a') }
}

async function statesOf(accountId: AccountId) {
  const { items } = await world.hooks.listDeliveries({ accountId, id: 'whk_a' }, ALL)
  return items.map(({ state, tries }) => `${state} ${tries}`)
}

describe('what posts notices', () => {
  afterEach(() => world.close())

  it.each([0, 0.5, 0.999])('retries on schedule, with a random value of %d, and then gives up', async (random) => {
    const { accountId, url } = await open()
    world.clock.jitter = random
    world.receivers.at(url, () => answer(500))
    await world.announce(accountId, 1)
    world.deliverer().start()

    await world.pass(POLL_MS)
    const waits: number[] = []
    for (const delayMs of RETRY_DELAYS_MS) {
      const last = world.receivers.posted.at(-1)?.at ?? 0
      const due = last + Math.round(delayMs * (0.8 + 0.4 * random))
      await world.jumpTo(due - POLL_MS)
      assert.equal(world.receivers.posted.at(-1)?.at, last, `too early, after ${delayMs} ms`)
      await world.pass(2 * POLL_MS)
      waits.push((world.receivers.posted.at(-1)?.at ?? 0) - due)
    }
    await world.jumpTo(world.clock.now() + DAY)

    assert.ok(
      waits.every((lateMs) => lateMs >= 0 && lateMs <= POLL_MS),
      `${waits}`,
    )
    assert.deepEqual(await statesOf(accountId), ['failed 9'])
    assert.equal(new Set(world.receivers.posted.map(({ id }) => id)).size, 1)
  })

  it('polls every two seconds while no account has a webhook, and four times a second from the first one on', async () => {
    world = new World(await newSqliteWorld())
    const accountId = await world.account('15550001000')
    const poll = vi.spyOn(world.notices, 'pollDeliveries')
    world.deliverer().start()
    await world.pass(60_000)
    const unused = poll.mock.calls.length

    const url = await world.hook(accountId, 'whk_a')
    world.receivers.at(url, () => answer(204))
    await world.announce(accountId, 1)
    await world.pass(2_000)
    poll.mockClear()
    await world.pass(60_000)

    assert.deepEqual([unused, poll.mock.calls.length], [31, 240])
    assert.deepEqual(await statesOf(accountId), ['delivered 1'])
  })

  it('waits as long as the receiver asks, but no more than an hour', async () => {
    const { accountId, url } = await open()
    const answers = [answer(503, 20 * 60_000), answer(429, 5 * 60 * 60_000), answer(204)]
    world.receivers.at(url, () => answers.shift() ?? answer(500))
    await world.announce(accountId, 1)
    world.deliverer().start()

    await world.pass(POLL_MS)
    const first = world.clock.now()
    await world.jumpTo(first + 19 * 60_000)
    const early = world.receivers.posted.length
    await world.jumpTo(first + 21 * 60_000)
    await world.jumpTo(first + 80 * 60_000)
    const second = world.receivers.posted.length
    await world.jumpTo(first + 83 * 60_000)

    assert.deepEqual([early, second], [1, 2])
    assert.deepEqual(await statesOf(accountId), ['delivered 3'])
  })

  it('posts nothing more to a receiver that answers 410, and says so in the log', async () => {
    const { accountId, url } = await open()
    world.receivers.at(url, () => answer(410))
    await world.announce(accountId, 6)
    world.deliverer().start()

    await world.pass(POLL_MS)
    const posted = world.receivers.posted.length
    await world.jumpTo(world.clock.now() + DAY)

    assert.equal(world.receivers.posted.length, posted)
    assert.equal((await world.hooks.readWebhook({ accountId, id: 'whk_a' })).state, 'failing')
    const disabled = world.events.filter(({ event }) => event === 'webhook.disabled')
    assert.deepEqual(disabled, [{ event: 'webhook.disabled', accountId, webhookId: 'whk_a', code: 'gone' }])
  })

  it('G2: two of them never post the same at once, and each delivery once', async () => {
    const { accountId, url } = await open()
    await world.announce(accountId, 20)
    world.deliverer().start()
    world.deliverer().start()

    for (let turn = 0; turn < 20; turn++) {
      await world.pass(POLL_MS)
      const running = world.receivers.takeRunning()
      assert.equal(new Set(running.map(({ id }) => id)).size, running.length)
      assert.ok(running.length <= 4, `${running.length} at once`)
      for (const one of running) one.end(answer(204))
    }
    await world.pass(POLL_MS)

    assert.equal(world.receivers.to(url).length, 20)
    assert.equal(new Set(world.receivers.posted.map(({ id }) => id)).size, 20)
    assert.deepEqual(new Set(await statesOf(accountId)), new Set(['delivered 1']))
  })

  it('repeats the delivery of a dead process under the same id once its lease has expired, and ignores a late result of that process', async () => {
    const { accountId } = await open()
    await world.announce(accountId, 1)
    // Its clock stops after its first poll, as if it had died.
    const stopped = new HandClock(world.clock.now())
    world.deliverer(stopped).start()
    await stopped.pass(0)
    await settle()
    const [first] = world.receivers.posted
    world.deliverer().start()

    await world.jumpTo((first?.at ?? 0) + LEASE - POLL_MS)
    const early = world.receivers.posted.length
    await world.pass(2 * POLL_MS)
    const [, second] = world.receivers.posted
    first?.end(answer(500))
    await settle()
    second?.end(answer(204))
    await world.pass(POLL_MS)

    assert.deepEqual([early, second?.id], [1, first?.id])
    assert.deepEqual(await statesOf(accountId), ['delivered 1'])
  })

  it('G8: a webhook that never answers delays no other, of its account or of another', async () => {
    const { accountId } = await open()
    const beside = await world.hook(accountId, 'whk_b')
    const other = await world.account('15550001009')
    const theirs = await world.hook(other, 'whk_c')
    for (const url of [beside, theirs]) world.receivers.at(url, () => answer(204))
    await world.announce(accountId, 40)
    await world.announce(other, 40)
    world.deliverer().start()

    await world.pass(20 * POLL_MS)

    assert.deepEqual([world.receivers.to(beside).length, world.receivers.to(theirs).length], [40, 40])
    assert.equal(world.receivers.posted.length, 84, 'four of the one that never answers')
  })

  it('G8: leaves half of all tries to webhooks that work, however many fail and hang', async () => {
    await open()
    const hung: string[] = []
    for (let at = 0; at < 40; at++) {
      const accountId = await world.account(`1555000${2000 + at}`)
      hung.push(await world.hook(accountId, `whk_${at}`))
      await world.announce(accountId, 2)
    }
    for (const url of hung) world.receivers.at(url, () => answer(500))
    world.deliverer().start()
    await world.pass(8 * POLL_MS)
    world.receivers.hang()
    await world.jumpTo(world.clock.now() + 60_000)
    world.receivers.takeRunning()

    await world.pass(10 * POLL_MS)

    assert.ok(world.receivers.running <= 16, `${world.receivers.running} hang`)
    const other = await world.account('15550001009')
    const theirs = await world.hook(other, 'whk_theirs')
    world.receivers.at(theirs, () => answer(204))
    await world.announce(other, 40)
    await world.pass(20 * POLL_MS)
    assert.equal(world.receivers.to(theirs).length, 40)
  })

  it('G11: reports an unreadable notice without its content, and continues with the others', async () => {
    const { accountId, url } = await open()
    const other = await world.account('15550001009')
    world.receivers.at(url, () => answer(204))
    await world.hook(other, 'whk_c')
    await world.announce(other, 1)
    await world.damage()
    await world.announce(accountId, 2)
    world.deliverer().start()

    await world.pass(2 * POLL_MS)

    assert.deepEqual(await statesOf(accountId), ['delivered 1', 'delivered 1'])
    const faults = world.events.flatMap((event) => (event.event === 'fault' ? [event] : []))
    assert.deepEqual(
      faults.map(({ where, error }) => [where, String(error).replace(/ntc_[0-9a-f]{32}/, 'ID')]),
      [['a notice', 'Error: The notice ID cannot be read, so it is not sent.']],
    )
  })

  it('finishes running tries when it is stopped, and begins no more', async () => {
    const { accountId, url } = await open()
    await world.announce(accountId, 10)
    const deliverer = world.deliverer()
    deliverer.start()
    await world.pass(POLL_MS)
    const running = world.receivers.takeRunning()

    const stopped = deliverer.stop(60_000)
    await world.pass(POLL_MS)
    for (const one of running) one.end(answer(204))
    await stopped
    await world.pass(10 * POLL_MS)

    assert.equal(running.length, 4)
    assert.equal(world.receivers.to(url).length, 4)
    assert.equal((await statesOf(accountId)).filter((state) => state === 'delivered 1').length, 4)
  })

  it('aborts tries that do not end in time, and leaves them to the next process', async () => {
    const { accountId } = await open()
    await world.announce(accountId, 1)
    const deliverer = world.deliverer()
    deliverer.start()
    await world.pass(POLL_MS)

    await deliverer.stop(0)

    assert.equal(world.receivers.posted[0]?.signal.aborted, true)
    assert.deepEqual(await statesOf(accountId), ['waiting 0'])
    assert.ok(!world.events.some(({ event }) => event === 'fault'))
  })
})
