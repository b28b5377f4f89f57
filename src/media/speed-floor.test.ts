import { describe, expect, it } from 'vitest'
import { SpeedFloor } from './speed-floor.ts'

const RULE = { bytesPerSecond: 1000, afterMs: 10_000, windowMs: 10_000 }

/** Checks every second a transfer with these bytes per second. Returns the second in which it is too slow. */
function secondOfCrawl(bytesInSecond: (second: number) => number, floor = new SpeedFloor(RULE, 0)): number | null {
  let bytes = 0
  for (let second = 1; second <= 60; second += 1) {
    bytes += bytesInSecond(second)
    if (floor.findCrawl(second * 1000, bytes) !== null) return second
  }
  return null
}

describe('SpeedFloor', () => {
  it('accepts a transfer at the least speed', () => {
    expect(secondOfCrawl(() => 1000)).toBeNull()
  })

  it('ends a transfer that is too slow, but not before the first window has passed', () => {
    expect(secondOfCrawl(() => 999)).toBe(10)
    expect(secondOfCrawl(() => 0)).toBe(10)
  })

  it('ends a transfer that slows down later, however much came before', () => {
    expect(secondOfCrawl((second) => (second <= 20 ? 1_000_000 : 0))).toBe(30)
  })

  it('forgives a pause that is shorter than the window', () => {
    expect(secondOfCrawl((second) => (second % 10 === 0 ? 10_000 : 0))).toBeNull()
  })

  it('restarts the window after a time without reading', () => {
    const floor = new SpeedFloor(RULE, 0)
    floor.restart(50_000, 5)

    expect(floor.findCrawl(51_000, 5)).toBeNull()
    expect(floor.findCrawl(60_000, 5)).toBe(0)
  })
})
