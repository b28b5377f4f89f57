import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { failureOf, HELLO, openCloudWorld } from '../../../test/support/cloud-world/cloud-world.ts'
import type { ConnectionId } from '../../core/ids.ts'
import type { WhatsAppCloud } from './index.ts'
import { NumberMemory } from './number-memory.ts'
import { PAIR_RULE, Pace } from './pace.ts'
import { refill, whenHolds } from './token-bucket.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const TO_ANNA = { connectionId: 'connection' as ConnectionId, to: '15550001234', perSecond: 80 }
const TO_BEN = { ...TO_ANNA, to: '15550001235' }

describe('a bucket', () => {
  const rule = { capacity: 10, perSecond: 2 }

  it('fills up to its rim and no further', () => {
    assert.equal(refill({ tokens: 1, at: NOON }, rule, NOON + 2_000).tokens, 5)
    assert.equal(refill({ tokens: 1, at: NOON }, rule, NOON + 3_600_000).tokens, 10)
  })

  it('does not rest for as long as the clock was set back', () => {
    assert.deepEqual(refill({ tokens: -4, at: NOON }, rule, NOON - 3_600_000), { tokens: 10, at: NOON - 3_600_000 })
  })

  it('says when it holds so many', () => {
    assert.equal(whenHolds(1, { tokens: 1, at: NOON }, rule), NOON)
    assert.equal(whenHolds(3, { tokens: 1, at: NOON }, rule), NOON + 1_000)
    assert.equal(whenHolds(99, { tokens: 9, at: NOON }, rule), NOON + 500)
  })
})

describe('the pace for one recipient', () => {
  it('lets a burst of 45 go, and then one every 6 seconds', () => {
    const pace = new Pace()
    const rests: (number | null)[] = []
    let now = NOON
    for (let count = 1; count <= 47; count += 1) {
      const rest = pace.rateLimitDelayOf(TO_ANNA, now)
      rests.push(rest && rest.until - now)
      now = rest ? rest.until : now + 1
      pace.took(TO_ANNA, now)
    }

    assert.deepEqual(rests.slice(0, 45), Array(45).fill(null))
    assert.deepEqual(
      rests.slice(45).map((ms) => Math.round((ms ?? 0) / 1_000)),
      [6, 6],
    )
  })

  it('holds no other connection up', () => {
    const pace = new Pace()
    for (let count = 0; count < PAIR_RULE.capacity; count += 1) pace.took(TO_ANNA, NOON + count * 100)
    const now = NOON + PAIR_RULE.capacity * 100

    assert.equal(pace.rateLimitDelayOf(TO_ANNA, now)?.reason, 'whatsapp_pair_pace')
    assert.equal(pace.rateLimitDelayOf(TO_BEN, now), null)
  })

  it('knows a number by both of its spellings', () => {
    const pace = new Pace()
    for (let count = 0; count < PAIR_RULE.capacity; count += 1) pace.took({ ...TO_ANNA, to: '5511987654321' }, NOON)

    assert.equal(pace.rateLimitDelayOf({ ...TO_ANNA, to: '551187654321' }, NOON + 1_000)?.reason, 'whatsapp_pair_pace')
  })

  it('waits four times as long after each refusal, until one is taken', () => {
    const pace = new Pace()

    const waits = [1, 2, 3, 4].map(() => pace.refused(TO_ANNA, NOON))
    pace.accepted(TO_ANNA)

    assert.deepEqual([...waits, pace.refused(TO_ANNA, NOON)], [1_000, 4_000, 16_000, 64_000, 1_000])
  })

  it('begins anew with who was left alone for long', () => {
    const pace = new Pace()
    for (const _ of [1, 2, 3]) pace.refused(TO_ANNA, NOON)

    assert.equal(pace.refused(TO_ANNA, NOON + 30 * 24 * 3_600_000), 1_000)
  })
})

describe('the pace of a number', () => {
  it('lets a second’s worth go at once, and then rests for more than one message', () => {
    const pace = new Pace()
    for (let count = 0; count < 80; count += 1) pace.took({ ...TO_ANNA, to: `1555000${1_000 + count}` }, NOON)

    const rest = pace.rateLimitDelayOf(TO_BEN, NOON)

    assert.deepEqual(rest, { until: NOON + 250, reason: 'whatsapp_number_pace' })
    assert.equal(pace.rateLimitDelayOf(TO_BEN, NOON + 250), null)
  })

  it('is slower while people complain about it, in whichever process the callback came', async () => {
    const { openChannel, handover, memory, sender, clock } = await openCloudWorld()
    const [before, after] = [openChannel(), openChannel()]
    const next = handover(HELLO)
    // What is remembered is read behind the caller's back, while it sends.
    const sendsUntilDelay = async (by: WhatsAppCloud) => {
      for (let count = 0; count < 60; count += 1) {
        if (by.rateLimitDelayOf?.(next, clock.now())) return count
        await by.send(handover(HELLO, { to: `1555000${2_000 + count}` }), AbortSignal.timeout(5_000), () => true)
      }
      return 60
    }
    const unflagged = await sendsUntilDelay(before)
    await new NumberMemory(memory, clock).record(sender.connectionId, { at: clock.now(), quality: 'FLAGGED' })

    const flagged = await sendsUntilDelay(after)

    assert.equal(unflagged, 60)
    assert.ok(flagged < 60, `it sent ${flagged} at once`)
  })
})

describe('a lane that was too fast for a recipient', () => {
  it('waits 1, 4, 16 seconds, and does not count them against the message', async () => {
    const { handover, send, simulator } = await openCloudWorld()
    simulator.fail({ code: 131056, times: 3 })

    const failures = [
      failureOf(await send(handover(HELLO))),
      failureOf(await send(handover(HELLO))),
      failureOf(await send(handover(HELLO))),
    ]

    assert.deepEqual(
      failures.map((failure) => [failure.class, failure.retryAfterMs]),
      [
        ['recipient', 1_000],
        ['recipient', 4_000],
        ['recipient', 16_000],
      ],
    )
    assert.equal((await send(handover(HELLO))).kind, 'accepted')
  })

  it('rests by itself before the simulator would refuse', async () => {
    const { handover, send, simulator, channel, clock } = await openCloudWorld()
    let rested = 0
    for (let count = 0; count < 60; count += 1) {
      const message = handover(HELLO)
      for (
        let rest = channel.rateLimitDelayOf?.(message, clock.now());
        rest;
        rest = channel.rateLimitDelayOf?.(message, clock.now())
      ) {
        rested += 1
        await clock.pass(rest.until - clock.now())
      }
      await send(message)
    }

    assert.deepEqual([simulator.sent.length, simulator.requests.length, rested], [60, 60, 15])
  })
})
