import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { accept, addSender } from '../../../../test/conformance/storage-world.ts'
import { ACCEPTED, openDispatchWorld } from '../../../../test/support/dispatch-world/open-dispatch-world.ts'
import type { LanePolicy } from '../../connection/lane-policy.ts'
import type { WorkerId } from '../../ids.ts'
import type { Evidence } from '../../ports/channel.ts'

const NOT_SENT: Evidence = { kind: 'not-sent', words: 'no trace of it' }
const UNKNOWN: Evidence = { kind: 'nothing-ever' }
// A claim that runs out, its takeover, and the wait before the next try.
const TAKEN_OVER_MS = 40_000

describe('a message that was open in three crashes', () => {
  it('G5 G10: is FAILED when every attempt is proven not sent, and the lane goes on', async () => {
    const end = await crashThreeTimes([NOT_SENT, NOT_SENT, NOT_SENT])

    assert.deepEqual(end, { state: 'FAILED', reason: 'quarantined', words: 'no trace of it', after: 'PUBLISHED' })
  })

  it.each([
    ['first', [UNKNOWN, NOT_SENT, NOT_SENT]],
    ['second', [NOT_SENT, UNKNOWN, NOT_SENT]],
    ['last', [NOT_SENT, NOT_SENT, UNKNOWN]],
  ] as const)('G5 G10: is UNCONFIRMED when its %s attempt may have arrived, and the lane goes on', async (_, found) => {
    const { state, reason, after } = await crashThreeTimes(found, { onUnconfirmed: 'resend' })

    assert.deepEqual({ state, reason, after }, { state: 'UNCONFIRMED', reason: 'quarantined', after: 'PUBLISHED' })
  })
})

/** Each attempt is cut off by the death of its worker, and the next worker finds this evidence of it. */
async function crashThreeTimes(found: readonly Evidence[], policy: Partial<LanePolicy> = {}) {
  const world = await openDispatchWorld()
  const sender = await addSender(world.storage, { policy })
  const poison = await accept(world.storage, sender, { text: 'poison' })
  const after = await accept(world.storage, sender, { text: 'after' })
  world.answer = ({ text }) => (text === 'poison' ? null : ACCEPTED)
  let worker = await world.startWorker('worker-0' as WorkerId)
  await world.pass(1_000)
  for (const [index, evidence] of found.entries()) {
    assert.equal(world.calls.length, index + 1)
    worker.crash()
    world.evidence = evidence
    worker = await world.startWorker(`worker-${index + 1}` as WorkerId)
    await world.pass(TAKEN_OVER_MS)
  }
  const { administration } = world.storage
  const [timeline, next] = [await administration.explainMessage(poison), await administration.explainMessage(after)]
  await world.close()
  const { state, reason } = timeline.message
  return { state, reason, words: timeline.reasonWords, after: next.message.state }
}
