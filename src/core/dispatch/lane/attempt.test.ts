import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../../test/conformance/hand-clock.ts'
import type { AccountId, ConnectionId, MessageId } from '../../ids.ts'
import type { Channel, Handover, Outcome } from '../../ports/channel.ts'
import type { JournalEvent } from '../../ports/journal.ts'
import { ChannelCall, requestEvidence } from './attempt.ts'

const BUDGET_MS = 10_000
const GRACE_MS = 1_000
const ACCEPTED: Outcome = { kind: 'accepted', networkId: 'net-1' }

describe('a call to a channel', () => {
  it('ends with what the channel says', async () => {
    const { run } = createCall(() => Promise.resolve(ACCEPTED))

    assert.deepEqual(await run(), ACCEPTED)
  })

  it('is aborted when its budget is over, and then returns its own result', async () => {
    const { call, clock, run } = createCall(
      (_, signal) =>
        new Promise((resolve) =>
          signal.addEventListener('abort', () => resolve({ kind: 'unknown', words: 'aborted' })),
        ),
    )
    const outcome = run()

    await clock.pass(BUDGET_MS - 1)
    call.sweep()
    await clock.pass(1)
    call.sweep()

    assert.deepEqual(await outcome, { kind: 'unknown', words: 'aborted' })
  })

  it('G5: has an unknown result when the channel does not stop within its grace period', async () => {
    const { call, clock, run } = createCall(() => new Promise(() => {}))
    let ended: Outcome | null = null
    void run().then((outcome) => {
      ended = outcome
    })

    call.abort()
    await clock.pass(GRACE_MS - 1)
    call.sweep()
    const before = ended
    await clock.pass(1)
    call.sweep()
    await clock.pass(0)

    assert.equal(before, null)
    assert.equal((ended as Outcome | null)?.kind, 'unknown')
  })

  it('does not restart its grace period when it is aborted twice', async () => {
    const { call, clock, run } = createCall(() => new Promise(() => {}))
    const outcome = run()

    call.abort()
    await clock.pass(GRACE_MS / 2)
    call.abort()
    await clock.pass(GRACE_MS / 2)
    call.sweep()

    assert.equal((await outcome).kind, 'unknown')
  })

  it('G6: lets the channel check the lease once more right before the wire', async () => {
    let holds = true
    const { clock, run } = createCall(
      (_, __, stillHolds) =>
        new Promise((resolve) => {
          clock.after(1_000, () => resolve(stillHolds() ? ACCEPTED : { kind: 'unknown', words: 'too late' }))
        }),
      () => holds,
    )
    const outcome = run()

    holds = false
    await clock.pass(1_000)

    assert.deepEqual(await outcome, { kind: 'unknown', words: 'too late' })
  })

  it('G5: has an unknown result when the channel throws, and records a fault', async () => {
    const { run, events } = createCall(() => Promise.reject(new Error('broken')))

    assert.equal((await run()).kind, 'unknown')
    assert.deepEqual(
      events.map(({ event }) => event),
      ['fault'],
    )
  })
})

describe('asking a channel for evidence', () => {
  const question = {
    messageId: 'm' as MessageId,
    accountId: 'a' as AccountId,
    connectionId: 'c' as ConnectionId,
    to: '15550100000',
    attemptNumber: 1,
    startedAt: 0,
  }

  it('takes what it says', async () => {
    const channel = {
      name: 'test',
      reconcile: () => Promise.resolve({ kind: 'not-sent', words: 'no trace' }),
    } as unknown as Channel

    assert.deepEqual(await requestEvidence(channel, question, { record: () => {} }), {
      kind: 'not-sent',
      words: 'no trace',
    })
  })

  it('has none yet when the channel throws, and that is a fault', async () => {
    const events: JournalEvent[] = []
    const channel = { name: 'test', reconcile: () => Promise.reject(new Error('broken')) } as unknown as Channel

    const evidence = await requestEvidence(channel, question, { record: (event) => events.push(event) })

    assert.deepEqual(evidence, { kind: 'nothing-yet' })
    assert.deepEqual(
      events.map(({ event }) => event),
      ['fault'],
    )
  })
})

function createCall(send: Channel['send'], stillHolds = () => true) {
  const clock = new HandClock()
  const events: JournalEvent[] = []
  const call = new ChannelCall(clock, BUDGET_MS, stillHolds)
  const channel = { name: 'test', send } as unknown as Channel
  const run = () => call.run(channel, {} as Handover, { record: (event) => events.push(event) })
  return { call, clock, run, events }
}
