import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Clock } from '../../core/ports/clock.ts'
import { DeadlineQueue } from './deadline-queue.ts'

/** A clock that only moves by hand. */
function handClock() {
  let now = 0
  let timers: { readonly at: number; readonly call: () => void }[] = []
  const clock: Clock = {
    now: () => now,
    wall: () => now,
    monotonic: () => now,
    random: () => 0,
    after: (delayMs, call) => {
      const timer = { at: now + delayMs, call }
      timers.push(timer)
      return () => {
        timers = timers.filter((each) => each !== timer)
      }
    },
  }
  function move(ms: number): void {
    const end = now + ms
    for (let next = earliest(end); next; next = earliest(end)) {
      now = next.at
      timers = timers.filter((each) => each !== next)
      next.call()
    }
    now = end
  }
  function earliest(end: number) {
    return timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0]
  }
  return { clock, move, countTimers: () => timers.length }
}

function waiting() {
  const each = {
    givenUp: 0,
    onDeadline: () => {
      each.givenUp += 1
    },
  }
  return each
}

describe('the deadline queue', () => {
  it('calls items whose timeout has passed, once', () => {
    const { clock, move } = handClock()
    const watch = new DeadlineQueue(clock, 1000)
    const first = waiting()
    const ticket = watch.add(first)

    move(999)
    assert.equal(first.givenUp, 0)
    move(500)
    assert.equal(first.givenUp, 1)
    move(5000)
    assert.equal(first.givenUp, 1)
    assert.equal(watch.remove(ticket, first), false)
  })

  it('ignores removed items, and newer ones in their place', () => {
    const { clock, move } = handClock()
    const watch = new DeadlineQueue(clock, 1000)
    const [first, second] = [waiting(), waiting()]
    const ticket = watch.add(first)
    move(900)
    assert.equal(watch.remove(ticket, first), true)
    const again = watch.add(second)
    assert.equal(again, ticket)

    move(600)
    assert.deepEqual([first.givenUp, second.givenUp], [0, 0])
    assert.equal(watch.remove(ticket, first), false)
    assert.equal(watch.remove(again, second), true)
  })

  it('needs one timer for all items, and none when there are no items', () => {
    const { clock, move, countTimers } = handClock()
    const watch = new DeadlineQueue(clock, 1000)
    const all = Array.from({ length: 100 }, waiting)
    const tickets = all.map((each) => watch.add(each))
    assert.equal(countTimers(), 1)

    for (const [place, each] of all.entries()) watch.remove(tickets[place]!, each)
    move(2000)

    assert.equal(countTimers(), 0)
  })
})
