import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { TimelineEntry } from '../../../core/ports/administration.ts'
import { orderTimeline } from './timeline.ts'

const SECOND = 1_768_478_400_000

describe('G10: the order of moments', () => {
  it('leaves a report where its time says when that can be', () => {
    const derived = [
      entry('accepted', 0),
      entry('attempt-begun', 10),
      entry('attempt-accepted', 20),
      settled('PUBLISHED', 20),
    ]

    const entries = orderTimeline(derived, [entry('receipt-read', 3_000), entry('receipt-delivered', 2_000)])

    assert.deepEqual(shown(entries.slice(4)), [
      ['receipt-delivered', 2_000],
      ['receipt-read', 3_000],
    ])
    assert.deepEqual(entries.at(-1)?.facts, {})
  })

  it('puts reports of one second in the order of a life, whichever came first', () => {
    const derived = [entry('accepted', 100), entry('attempt-accepted', 400), settled('PUBLISHED', 400)]

    const entries = orderTimeline(derived, [
      entry('receipt-read', 0),
      entry('receipt-delivered', 0),
      entry('receipt-sent', 0),
    ])

    assert.deepEqual(shown(entries.slice(3)), [
      ['receipt-sent', 400],
      ['receipt-delivered', 400],
      ['receipt-read', 400],
    ])
  })

  it('puts a report before what was done because of it, when the network’s clock goes before ours', () => {
    const derived = [entry('accepted', 100), entry('attempt-accepted', 400), settled('PUBLISHED', 400)]

    const entries = orderTimeline(derived, [entry('receipt-failed', 5_000), entry('sent-again', 900)])

    assert.deepEqual(shown(entries.slice(3)), [
      ['receipt-failed', 899],
      ['sent-again', 900],
    ])
    assert.deepEqual(entries[3]?.facts, { networkTime: SECOND + 5_000 })
  })

  it('puts a report on a message with an unknown result after the entry that says so', () => {
    const derived = [
      entry('accepted', 100),
      entry('attempt-begun', 300),
      entry('attempt-unknown', 700),
      settled('UNCONFIRMED', 60_700),
    ]

    const entries = orderTimeline(derived, [entry('receipt-delivered', 2_000)])

    assert.deepEqual(shown(entries.slice(3)), [
      ['settled', 60_700],
      ['receipt-delivered', 60_700],
    ])
    assert.deepEqual(entries.at(-1)?.facts, { networkTime: SECOND + 2_000 })
  })

  it('shows no report before the acceptance, however far the network’s clock goes after ours', () => {
    const derived = [
      entry('accepted', 853),
      entry('attempt-begun', 860),
      entry('attempt-accepted', 2_660),
      settled('PUBLISHED', 2_660),
    ]
    const broken = entry('attempt-unknown', 870)

    const entries = orderTimeline(derived, [broken, entry('receipt-read', 0), entry('receipt-delivered', -4_000)])

    assert.deepEqual(shown(entries), [
      ['accepted', 853],
      ['attempt-begun', 860],
      ['attempt-unknown', 870],
      ['attempt-accepted', 2_660],
      ['settled', 2_660],
      ['receipt-delivered', 2_660],
      ['receipt-read', 2_660],
    ])
    assert.deepEqual(
      entries.slice(5).map(({ facts }) => facts['networkTime']),
      [SECOND - 4_000, SECOND],
    )
  })

  it('puts nothing before the acceptance where our own clock was set back', () => {
    const derived = [
      entry('accepted', 5_000),
      entry('attempt-begun', 100),
      entry('attempt-accepted', 400),
      settled('PUBLISHED', 400),
    ]

    assert.deepEqual(
      orderTimeline(derived, []).map(({ kind }) => kind),
      ['accepted', 'attempt-begun', 'attempt-accepted', 'settled'],
    )
  })

  it('keeps times that are reported to the millisecond', () => {
    const derived = [entry('accepted', 100), entry('attempt-accepted', 400), settled('PUBLISHED', 400)]

    assert.deepEqual(shown(orderTimeline(derived, [entry('receipt-delivered', 401)]).slice(3)), [
      ['receipt-delivered', 401],
    ])
  })
})

function entry(kind: string, afterMs: number, facts: TimelineEntry['facts'] = {}): TimelineEntry {
  return { at: SECOND + afterMs, kind, code: null, words: null, facts }
}

function settled(state: string, afterMs: number): TimelineEntry {
  return entry('settled', afterMs, { state })
}

function shown(entries: readonly TimelineEntry[]): readonly (readonly [string, number])[] {
  return entries.map(({ kind, at }) => [kind, at - SECOND] as const)
}
