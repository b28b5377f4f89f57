import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import { IDEMPOTENCY_KEPT_MS } from '../../../core/message/idempotency.ts'
import { openDatabase } from '../connection/open-database.ts'
import { KeySweep } from './key-sweep.ts'

let database: ReturnType<typeof openDatabase>
let clock: HandClock
let steps: number[]
let sweep: KeySweep

beforeEach(() => {
  database = openDatabase(':memory:', { create: true })
  clock = new HandClock()
  steps = []
  sweep = new KeySweep({
    database,
    clock,
    submit: async (run) => {
      const before = keys()
      const result = run()
      steps.push(before - keys())
      return result
    },
  })
})

afterEach(() => database.close())

function keys(): number {
  return Number(database.prepare('select count(*) as keys from idempotency').get()?.['keys'])
}

function addKeys(count: number, acceptedAt: number): void {
  database
    .prepare(
      `insert into idempotency with recursive n (i) as (select 1 union all select i + 1 from n where i < ?)
         select 'account', ?2 || '-' || i, 'fingerprint', i, ?2 from n`,
    )
    .run(count, acceptedAt)
}

describe('forgetting idempotency keys on SQLite', () => {
  it('goes on until none is left that is too old, however many there are, and in small steps', async () => {
    addKeys(4_500, clock.now() - IDEMPOTENCY_KEPT_MS - 1)
    addKeys(7, clock.now() - IDEMPOTENCY_KEPT_MS + 120_000)

    const swept = sweep.sweep()
    await clock.pass(60_000)
    await swept

    assert.equal(keys(), 7)
    assert.deepEqual([Math.max(...steps), steps.length], [200, 23])
  })

  it('rests between two steps', async () => {
    addKeys(900, 1)
    const swept = sweep.sweep()
    await clock.pass(4)
    const early = steps.length
    await clock.pass(60_000)
    await swept

    assert.deepEqual([early, steps.length], [1, 5])
  })

  it('is one at a time, and begins anew when the last is over', async () => {
    addKeys(500, 1)
    const swept = sweep.sweep()
    await sweep.sweep()
    const meanwhile = steps.length
    await clock.pass(60_000)
    await swept
    addKeys(10, 2)
    await sweep.sweep()

    assert.deepEqual([meanwhile, keys()], [1, 0])
  })

  it('ends in the middle when it is stopped', async () => {
    addKeys(900, 1)
    const swept = sweep.sweep()
    await clock.pass(1)
    sweep.stop()
    await swept
    await sweep.sweep()

    assert.deepEqual([keys(), clock.timers], [700, 0])
  })
})
