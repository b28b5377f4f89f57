import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import type { PlainSpan } from './plain-span.ts'
import { SpanQueue } from './span-queue.ts'

const SPAN: PlainSpan = {
  traceId: '0197d2a412347abc9def000000000001',
  spanId: '00f067aa0ba902b7',
  parentSpanId: null,
  name: 'attempt',
  kind: 'client',
  startedAt: 0,
  endedAt: 1,
  isError: false,
  attributes: {},
  events: [],
  link: null,
}

/** A queue whose exporter answers when the test says so. */
function openQueue() {
  const ends: Record<string, number> = { exported: 0, refused: 0, dropped: 0 }
  const sent: { readonly count: number; readonly answer: (isTaken: boolean) => void }[] = []
  let closed = 0
  const queue = new SpanQueue({
    exporter: {
      send: (spans) => new Promise((resolve) => sent.push({ count: spans.length, answer: resolve })),
      close: () => {
        closed += 1
      },
    },
    onEnd: (end, count) => {
      ends[end] = (ends[end] ?? 0) + count
    },
  })
  const add = (count: number) => {
    for (let i = 0; i < count; i++) queue.add(SPAN)
  }
  return { queue, ends, sent, add, closed: () => closed }
}

describe('the queue of spans', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('exports after a second what few there are, and at once what fills a batch', async () => {
    const { sent, add } = openQueue()

    add(3)
    const atOnce = sent.length
    await vi.advanceTimersByTimeAsync(1_000)
    const later = sent.map(({ count }) => count)
    sent[0]?.answer(true)
    await vi.advanceTimersByTimeAsync(0)
    add(512)

    assert.equal(atOnce, 0)
    assert.deepEqual(later, [3])
    assert.equal(sent[1]?.count, 512)
  })

  it('holds a bounded number while the collector hangs, drops the others and counts them', async () => {
    const { ends, sent, add } = openQueue()

    add(512 + 8_192 + 100)

    assert.deepEqual(
      sent.map(({ count }) => count),
      [512],
    )
    assert.equal(ends['dropped'], 100)
  })

  it('goes on with what waits once the collector answers, one batch at a time', async () => {
    const { ends, sent, add } = openQueue()
    add(1_200)

    sent[0]?.answer(false)
    await vi.advanceTimersByTimeAsync(0)
    const afterFirst = sent.length
    sent[1]?.answer(true)
    await vi.advanceTimersByTimeAsync(1_000)
    sent[2]?.answer(true)
    await vi.advanceTimersByTimeAsync(0)

    assert.equal(afterFirst, 2)
    assert.deepEqual(ends, { exported: 688, refused: 512, dropped: 0 })
  })

  it('exports at the end what waits', async () => {
    const { queue, ends, sent, add, closed } = openQueue()
    add(600)

    const stopped = queue.stop(2_000)
    sent[0]?.answer(true)
    await vi.advanceTimersByTimeAsync(0)
    sent[1]?.answer(true)
    await stopped

    assert.deepEqual(ends, { exported: 600, refused: 0, dropped: 0 })
    assert.equal(closed(), 1)
  })

  it('ends after its time, however long the collector hangs, and takes nothing more', async () => {
    const { queue, ends, add, closed } = openQueue()
    add(600)

    const stopped = queue.stop(2_000)
    await vi.advanceTimersByTimeAsync(2_000)
    await stopped
    add(1)
    await queue.stop(2_000)

    assert.equal(ends['dropped'], 88 + 1)
    assert.equal(closed(), 1)
  })
})
