import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import { DatabaseClock } from './database-clock.ts'

const DAY = 24 * 3_600_000

describe('the clock of the database', () => {
  it('is this machine’s before the database was asked, and expects nothing', () => {
    const { base, clock } = newClock()

    assert.equal(clock.now(), base.now())
    assert.equal(clock.expected, null)
    assert.equal(clock.hasJumped(15_000), false)
  })

  it('gives the time of the database, carried on by the monotonic clock', async () => {
    const { base, clock } = newClock()
    clock.learn(1_000_000, base.monotonic())

    await base.pass(1_234)

    assert.equal(clock.now(), 1_001_234)
  })

  it('takes the answer for the time in the middle of asking', async () => {
    const { base, clock } = newClock()
    const asked = base.monotonic()
    await base.pass(100)

    clock.learn(1_000_000, asked)

    assert.equal(clock.now(), 1_000_050)
  })

  it('believes the quickest of the last answers', async () => {
    const { base, clock } = newClock()
    await answerAfter(2, { base, clock, now: 1_000_001 })
    const slow = base.monotonic()
    await base.pass(300)

    clock.learn(1_000_002 + 300, slow)

    assert.equal(clock.now(), 1_000_302)
  })

  it('does not go back by what a quicker answer corrects, and goes on from there', async () => {
    const { base, clock } = newClock()
    const slow = base.monotonic()
    await base.pass(100)
    clock.learn(1_000_000, slow)
    const before = clock.now()

    clock.learn(1_000_020, base.monotonic())
    const later = [clock.now()]
    for (const ms of [29, 2]) {
      await base.pass(ms)
      later.push(clock.now())
    }

    assert.deepEqual([before, ...later], [1_000_050, 1_000_050, 1_000_050, 1_000_051])
  })

  it('is never earlier than the last answer of the database, nor later than its answer now', async () => {
    const { base, clock } = newClock()
    await answerAfter(100, { base, clock, now: 1_000_000 })
    // As slow, and said at the very end; then at the very beginning.
    await answerAfter(100, { base, clock, now: 1_000_200 })
    const [atEnd, heard] = [clock.expected ?? 0, base.monotonic()]
    await answerAfter(100, { base, clock, now: 1_000_200 })
    const atBeginning = (clock.expected ?? 0) - (base.monotonic() - heard)

    // What there is of a millisecond more is not said.
    for (const time of [atEnd, atBeginning]) assert.ok(time >= 1_000_200 && time <= 1_000_202, `${time}`)
  })

  it('forgets the quickest one in time, so that clocks that drift stay together', async () => {
    const { base, clock } = newClock()
    await answerAfter(0, { base, clock, now: 1_000_000 })

    for (let i = 1; i <= 5; i++) {
      await base.pass(3_000)
      await answerAfter(2, { base, clock, now: 1_000_000 + 100 + i * 3_002 })
    }

    assert.equal(clock.now(), 1_000_000 + 101 + 5 * 3_002)
  })

  it('is not moved by answers that are slow for minutes, whenever in it they were made', async () => {
    const { base, clock } = newClock()
    await answerAfter(0, { base, clock, now: 1_000_000 })

    for (let i = 1; i <= 40; i++) {
      const asked = base.monotonic()
      await base.pass(6_000)
      // They gave the time at the very beginning.
      clock.learn(1_000_000 + (i - 1) * 6_000, asked)
    }

    assert.equal(clock.now(), 1_000_000 + 40 * 6_000)
    assert.equal(clock.hasJumped(15_000), false)
  })

  it('does not follow the clock of this machine, in either direction', async () => {
    const { base, clock } = newClock()
    clock.learn(1_000_000, base.monotonic())

    for (const byMs of [2 * DAY, -4 * DAY]) {
      base.setNow(byMs)
      base.setWall(byMs)
      assert.equal(clock.now(), 1_000_000)
    }
    clock.learn(1_000_000, base.monotonic())

    assert.equal(clock.hasJumped(15_000), false)
    assert.equal(clock.wall(), base.wall())
  })

  it.each([2 * DAY, -2 * DAY, 2_100, -2_100])('follows a jump of %d ms, and remembers it for a while', async (byMs) => {
    const { base, clock } = newClock()
    clock.learn(1_000_000, base.monotonic())

    clock.learn(1_000_000 + byMs, base.monotonic())
    const now = clock.now()
    await base.pass(14_999)
    const before = clock.hasJumped(15_000)
    await base.pass(1)

    assert.equal(now, 1_000_000 + byMs)
    assert.deepEqual([before, clock.hasJumped(15_000)], [true, false])
  })

  it('takes no slow answer for a jump', async () => {
    const { base, clock } = newClock()
    clock.learn(1_000_000, base.monotonic())
    const asked = base.monotonic()
    await base.pass(6_000)

    // It gave the time at the very end.
    clock.learn(1_006_000, asked)

    assert.equal(clock.hasJumped(15_000), false)
    assert.equal(clock.now(), 1_006_000)
  })
})

function newClock() {
  const base = new HandClock()
  return { base, clock: new DatabaseClock(base) }
}

async function answerAfter(ms: number, { base, clock, now }: { base: HandClock; clock: DatabaseClock; now: number }) {
  const asked = base.monotonic()
  await base.pass(ms)
  clock.learn(now, asked)
}
