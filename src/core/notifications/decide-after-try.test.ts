import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { PostEnd } from '../ports/guarded-post.ts'
import { decideAfterTry, MOST_TRIES, RETRY_DELAYS_MS } from './decide-after-try.ts'

const answered = (status: number, retryAfterMs: number | null = null): PostEnd => ({
  kind: 'answered',
  status,
  retryAfterMs,
  excerpt: '',
})
const check = (end: PostEnd, number = 1, jitter = 0.5) => decideAfterTry(end, { number, now: 0, jitter })

describe('what a try to post a notice comes to', () => {
  it.each([
    [200, 'delivered', 'done'],
    [204, 'delivered', 'done'],
    [299, 'delivered', 'done'],
    [301, 'redirected', 'retry'],
    [304, 'redirected', 'retry'],
    [400, 'refused_status', 'retry'],
    [404, 'refused_status', 'retry'],
    [410, 'gone', 'disable'],
    [500, 'refused_status', 'retry'],
  ])('takes %i for %s', (status, code, next) => {
    const checked = check(answered(status))

    assert.deepEqual([checked.code, checked.next.do, checked.status], [code, next, status])
  })

  it('waits longer each time, a fifth more or less, and gives up after the last', () => {
    const down: PostEnd = { kind: 'failed', code: 'unreachable', words: 'No' }
    const waits = (jitter: number) =>
      Array.from({ length: MOST_TRIES }, (_, at) => {
        const { next } = check(down, at + 1, jitter)
        return next.do === 'retry' ? next.at : null
      })

    assert.deepEqual(waits(0.5), [...RETRY_DELAYS_MS, null])
    assert.deepEqual(waits(0)[0], 4_000)
    assert.ok((waits(0.999)[0] ?? 0) <= 6_000)
  })

  it('waits as long as the receiver asks, up to an hour, and never shorter than it would', () => {
    const at = (retryAfterMs: number) => {
      const { next } = check(answered(503, retryAfterMs))
      return next.do === 'retry' ? next.at : null
    }

    assert.deepEqual([at(0), at(60_000), at(86_400_000)], [5_000, 60_000, 3_600_000])
  })
})
