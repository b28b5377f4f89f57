import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { ToChild } from './child-messages.ts'
import { MetricsRelay } from './metrics-relay.ts'

let clock: HandClock
let relay: MetricsRelay
let sent: Map<number, ToChild[]>

beforeEach(() => {
  clock = new HandClock()
  relay = new MetricsRelay(clock)
  sent = new Map()
  for (const number of [1, 2, 3]) {
    sent.set(number, [])
    relay.join(number, (message) => void sent.get(number)?.push(message))
  }
})

function report(number: number) {
  const asked = sent.get(number)?.find(({ say }) => say === 'report-metrics')
  assert.ok(asked?.say === 'report-metrics')
  relay.hear(number, { say: 'report-metrics', question: asked.question, report: [{ from: number }] })
}

describe('the relay of metrics', () => {
  it('asks all others and answers once all have reported', () => {
    relay.hear(1, { say: 'ask-metrics', question: 7 })
    report(3)
    const early = sent.get(1)?.length
    report(2)

    assert.equal(early, 0)
    assert.deepEqual(sent.get(1), [{ say: 'metrics-of-others', question: 7, reports: [[{ from: 3 }], [{ from: 2 }]] }])
    assert.equal(clock.timers, 0)
  })

  it('does not wait for one that dies, nor longer than a second for one that is stuck', async () => {
    relay.hear(1, { say: 'ask-metrics', question: 1 })
    report(2)
    relay.leave(3)
    relay.hear(1, { say: 'ask-metrics', question: 2 })
    await clock.pass(1_000)

    assert.deepEqual(sent.get(1), [
      { say: 'metrics-of-others', question: 1, reports: [[{ from: 2 }]] },
      { say: 'metrics-of-others', question: 2, reports: [] },
    ])
  })

  it('answers one that is alone, and forgets one that died asking', async () => {
    relay.leave(2)
    relay.leave(3)
    relay.hear(1, { say: 'ask-metrics', question: 1 })

    assert.deepEqual(sent.get(1), [{ say: 'metrics-of-others', question: 1, reports: [] }])
  })
})
