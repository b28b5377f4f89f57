import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, it } from 'vitest'
import {
  ANY_RECIPIENT,
  createWorld,
  failureOf,
  removeFolders,
} from '../../../test/support/sandbox-world/sandbox-world.ts'
import type { Outcome } from '../../core/ports/channel.ts'
import { Refusal } from '../../core/refusals.ts'

afterEach(removeFolders)

describe('the sandbox', () => {
  it('delivers to everybody who is no command', async () => {
    const { send, inbox } = createWorld()

    const outcomes = [await send(ANY_RECIPIENT), await send('15550100009'), await send('15550100000')]

    assert.deepEqual(
      outcomes.map(({ kind }) => kind),
      ['accepted', 'accepted', 'accepted'],
    )
    assert.deepEqual(
      inbox().map(({ to, text }) => [to, text]),
      [
        [ANY_RECIPIENT, 'Hello'],
        ['15550100009', 'Hello'],
        ['15550100000', 'Hello'],
      ],
    )
  })

  it('0001 is refused for ever', async () => {
    const { send, inbox } = createWorld()

    assert.deepEqual(failureOf(await send('15550100001')), ['permanent', 'recipient_refused'])
    assert.deepEqual(inbox(), [])
  })

  it('0002 is busy twice, then takes it', async () => {
    const { send, inbox } = createWorld()

    const outcomes = [await send('15550100002', { attemptNumber: 1 }), await send('15550100002', { attemptNumber: 2 })]
    const third = await send('15550100002', { attemptNumber: 3 })

    assert.deepEqual(outcomes.map(failureOf), [
      ['transient', 'busy'],
      ['transient', 'busy'],
    ])
    assert.equal(third.kind, 'accepted')
    assert.equal(inbox().length, 1)
  })

  it('G5: 0003 is delivered, but no evidence shows it', async () => {
    const { send, inbox, reconcile } = createWorld()

    assert.equal((await send('15550100003')).kind, 'unknown')
    assert.deepEqual(await reconcile('15550100003'), { kind: 'nothing-ever' })
    assert.equal(inbox().length, 1)
  })

  it('G5: 0004 is lost, and no evidence shows that either', async () => {
    const { send, inbox, reconcile } = createWorld()

    assert.equal((await send('15550100004')).kind, 'unknown')
    assert.deepEqual(await reconcile('15550100004'), { kind: 'nothing-ever' })
    assert.equal(inbox().length, 0)
  })

  it('0005 takes five seconds', async () => {
    const { send, clock } = createWorld()
    let outcome: Outcome | null = null
    void send('15550100005').then((result) => {
      outcome = result
    })

    await clock.pass(4_999)
    const before = outcome
    await clock.pass(1)
    await clock.pass(0)

    assert.equal(before, null)
    assert.equal((outcome as Outcome | null)?.kind, 'accepted')
  })

  it('0006 is away for ten seconds from the first attempt on', async () => {
    const { send, clock } = createWorld()
    const first = await send('15550100006')
    await clock.pass(4_000)
    const second = await send('15550100006', { attemptNumber: 2 })
    await clock.pass(6_000)
    const third = await send('15550100006', { attemptNumber: 3 })

    assert.deepEqual([first, second].map(failureOf), [
      ['connection', 'connection_away'],
      ['connection', 'connection_away'],
    ])
    assert.deepEqual(
      [first, second].map((each) => each.kind === 'rejected' && each.failure.retryAfterMs),
      [10_000, 6_000],
    )
    assert.equal(third.kind, 'accepted')
  })

  it('0007 is taken and refused two seconds later', async () => {
    const { send, clock, receipts, inbox } = createWorld()

    const outcome = await send('15550100007')
    await clock.pass(1_999)
    const before = receipts.length
    await clock.pass(1)
    await clock.pass(0)

    assert.equal(outcome.kind, 'accepted')
    assert.equal(before, 0)
    assert.deepEqual(
      receipts.map(({ kind, code }) => [kind, code]),
      [['failed', 'refused_later']],
    )
    assert.deepEqual(inbox(), [])
  })

  it('0008 kills its worker, and answers only when its signal fires', async () => {
    const { send, crashed, clock } = createWorld()
    const abort = new AbortController()
    const outcome = send('15550100008', {}, abort.signal)
    await clock.pass(60_000)

    abort.abort()

    assert.equal((await outcome).kind, 'unknown')
    assert.deepEqual(crashed, ['connection'])
  })
})

describe('what the sandbox says where it fails', () => {
  it.each([
    ['15550100001', 'a test number: always rejected'],
    ['15550100002', 'a test number: busy twice, then fine'],
    ['15550100003', 'a test number: the connection breaks'],
    ['15550100004', 'a test number: the connection breaks'],
    ['15550100006', 'a test number: the sandbox is away for 10 seconds'],
  ])('to %s names what this one number does', async (to, words) => {
    const outcome = await createWorld().send(to)

    assert.equal(
      outcome.kind === 'rejected' ? outcome.failure.words : outcome.kind === 'unknown' && outcome.words,
      words,
    )
  })

  it('later to 15550100007 names it in the report', async () => {
    const { send, clock, receipts } = createWorld()
    await send('15550100007')

    await clock.pass(2_000)

    assert.deepEqual(
      receipts.map(({ words }) => words),
      ['a test number: accepted, and reported as failed 2 seconds later'],
    )
  })
})

describe('a call to the sandbox', () => {
  it('takes as long as the connection’s latency', async () => {
    const { send, clock, inbox } = createWorld()
    void send(ANY_RECIPIENT, { settings: { latencyMs: 200 } })

    await clock.pass(199)
    const before = inbox().length
    await clock.pass(1)
    await clock.pass(0)

    assert.deepEqual([before, inbox().length], [0, 1])
  })

  it('G5: delivers nothing once its signal has fired, and says so', async () => {
    const { send, clock, inbox } = createWorld()
    const abort = new AbortController()
    const outcome = send('15550100005', {}, abort.signal)
    await clock.pass(1_000)

    abort.abort()

    assert.deepEqual(failureOf(await outcome), ['transient', 'call_interrupted'])
    assert.deepEqual(inbox(), [])
  })

  it('G6: delivers nothing once another worker may have its lane, although its signal has not fired yet', async () => {
    const world = createWorld()
    const outcome = world.send(ANY_RECIPIENT, { settings: { latencyMs: 200 } })

    world.stillHolds = false
    await world.clock.pass(200)

    assert.deepEqual(failureOf(await outcome), ['transient', 'call_interrupted'])
    assert.deepEqual(world.inbox(), [])
  })

  it('G5: does not know what became of a message when the inbox could not be written', async () => {
    const { send, memory } = createWorld()
    memory.isBroken = true

    assert.equal((await send(ANY_RECIPIENT)).kind, 'unknown')
  })

  it('G5: shows by its inbox what became of an attempt, each attempt for itself', async () => {
    const { send, reconcile } = createWorld()
    await send(ANY_RECIPIENT, { attemptNumber: 1 })

    assert.equal((await reconcile(ANY_RECIPIENT, 1)).kind, 'accepted')
    assert.equal((await reconcile(ANY_RECIPIENT, 2)).kind, 'not-sent')
  })

  it('shows a message delivered twice as two', async () => {
    const { send, inbox } = createWorld()

    await send(ANY_RECIPIENT, { attemptNumber: 1 })
    await send(ANY_RECIPIENT, { attemptNumber: 2 })

    assert.equal(inbox().length, 2)
  })

  it('keeps a copy of media, and without the fetched file asks to be tried again', async () => {
    const { send, inbox, folder } = createWorld()
    const path = join(folder, 'spooled')
    writeFileSync(path, 'bytes')
    const media = { path, sizeBytes: 5, sha256: '00', mime: 'image/png' }
    const content = { type: 'image', name: 'a.png', url: 'https://files.example/a.png', caption: 'A view' } as const

    const outcome = await send(ANY_RECIPIENT, { content, media })
    const lost = await send(ANY_RECIPIENT, {
      content,
      media: { ...media, path: join(folder, 'gone') },
      attemptNumber: 2,
    })

    assert.equal(outcome.kind, 'accepted')
    assert.deepEqual(failureOf(lost), ['transient', 'media_lost'])
    const [record] = inbox()
    assert.deepEqual([record?.caption, record?.name, record?.sizeBytes], ['A view', 'a.png', 5])
    assert.ok(typeof record?.path === 'string' && record.path !== path)
  })
})

describe('the settings of the sandbox', () => {
  const { channel } = createWorld()

  it('are times, and may take receipts back', () => {
    assert.deepEqual(channel.parseSettings({ latency: '200ms', delivered_after: '1s', read_after: 'never' }), {
      latencyMs: 200,
      deliveredAfterMs: 1_000,
      readAfterMs: null,
    })
  })

  it.each([{ speed: '1s' }, { latency: 'never' }, { latency: '21s' }, { latency: 'soon' }, { read_after: '25h' }])(
    'refuse %j',
    (given) => {
      assert.throws(() => channel.parseSettings(given), Refusal)
    },
  )
})
