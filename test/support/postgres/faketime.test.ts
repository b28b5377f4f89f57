import assert from 'node:assert/strict'
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { on, once } from 'node:events'
import { globSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { skipNote } from '../black-box/skip-note.ts'
import { MovableClock, whyNoFaketime } from './faketime.ts'
import { memoryFolder } from './memory-folder.ts'
import { PostgresServer } from './postgres-server.ts'

const DAYS = 24 * 3_600_000
const obstacle = whyNoFaketime()

// At each tick of a timer the program prints both clocks.
const TICKING = `setInterval(() => console.log(JSON.stringify([Date.now(), performance.now()])), 10)`
const TICK_MS = 10

interface Tick {
  /** How far the program's wall clock is ahead of ours. */
  readonly offsetMs: number
  readonly monotonicMs: number
}

describe.skipIf(obstacle !== null)(`a wall clock that is moved while a program runs${skipNote(obstacle)}`, () => {
  let clock: MovableClock
  let child: ChildProcessWithoutNullStreams

  beforeEach(() => {
    clock = MovableClock.open()
    child = spawn(process.execPath, ['--eval', TICKING], { env: { ...clock.environment } })
  })

  afterEach(async () => {
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await clock.close()
    assert.deepEqual(globSync(`/dev/shm/*faketime_*_${child.pid}`), [])
  })

  it('jumps for Date, not for performance.now, and timers go on', async () => {
    const ticks = readTicks(child)
    const before = await ticks(20)
    clock.moveTo(2 * DAYS)
    const ahead = await ticks(20)
    clock.moveTo(-2 * DAYS)
    const behind = await ticks(20)
    clock.moveTo(0)
    const after = await ticks(20)

    const all = [...before, ...ahead, ...behind, ...after]
    assert.deepEqual(
      [before, ahead, behind, after].map((part) => inDays(part.at(-1)!.offsetMs)),
      [0, 2, -2, 0],
    )
    const steps = all.slice(1).map(({ monotonicMs }, index) => monotonicMs - all[index]!.monotonicMs)
    assert.ok(Math.min(...steps) > 0, 'performance.now went back')
    // A busy machine may be very late, but not by days.
    assert.ok(Math.max(...steps) < 5_000, `a timer took ${Math.max(...steps)} ms instead of ${TICK_MS}`)
  })

  it('does not jump for a program that has the usual environment', async () => {
    const other = spawn(process.execPath, ['--eval', TICKING], { env: {} })
    clock.moveTo(2 * DAYS)

    const [tick] = await readTicks(other)(1)

    other.kill('SIGKILL')
    assert.equal(inDays(tick!.offsetMs), 0)
  })

  it('also jumps for PostgreSQL', async () => {
    const server = await PostgresServer.open({ parentFolder: memoryFolder(), environment: clock.environment })
    const now = async () => {
      const [row] = await server.query<{ now: Date }>('select clock_timestamp() as now')
      return inDays(row!.now.getTime() - Date.now())
    }
    try {
      const before = await now()
      clock.moveTo(-2 * DAYS)
      const behind = await now()

      assert.deepEqual([before, behind], [0, -2])
    } finally {
      await server.close()
    }
  })
})

function inDays(ms: number): number {
  // Adding zero turns minus zero into zero.
  return Math.round(ms / DAYS) + 0
}

/** Reads the next ticks. */
function readTicks(child: ChildProcessWithoutNullStreams): (count: number) => Promise<Tick[]> {
  const lines = on(createInterface(child.stdout), 'line')
  return async (count) => {
    const ticks: Tick[] = []
    while (ticks.length < count) {
      const { value } = await lines.next()
      const [wall, monotonicMs] = JSON.parse(value?.[0]) as [number, number]
      ticks.push({ offsetMs: wall - Date.now(), monotonicMs })
    }
    return ticks
  }
}
