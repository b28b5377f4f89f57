import assert from 'node:assert/strict'
import { describe, it, onTestFinished, vi } from 'vitest'
import { LineWatch } from './line-watch.ts'

describe('the watch on a line', () => {
  it('ends it when nothing came for 30 s, within 5 s, and not while something comes', () => {
    const { watch, dead } = openWatch()

    for (let passed = 0; passed < 120_000; passed += 20_000) {
      watch.frameCame()
      vi.advanceTimersByTime(20_000)
    }
    const whileAlive = dead()
    vi.advanceTimersByTime(10_000)
    const early = dead()
    vi.advanceTimersByTime(5_000)

    assert.deepEqual([whileAlive, early, dead()], [0, 0, 1])
  })

  it('ends nothing once it was stopped', () => {
    const { watch, dead } = openWatch()

    watch.stop()
    vi.advanceTimersByTime(120_000)

    assert.equal(dead(), 0)
  })
})

function openWatch() {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  let dead = 0
  const watch = new LineWatch({
    mostSilentMs: 30_000,
    onDead: () => {
      dead += 1
    },
  })
  onTestFinished(() => watch.stop())
  return { watch, dead: () => dead }
}
