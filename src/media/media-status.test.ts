import { describe, expect, it } from 'vitest'
import { checkStatus, MAX_RETRY_AFTER_MS, parseRetryAfter } from './media-status.ts'

describe('checkStatus', () => {
  it.each([200, 203])('lets %d pass', (status) => {
    expect(checkStatus({ host: 'files.test', status, retryAfter: null, date: null })).toBeNull()
  })

  it('says which status it was', () => {
    expect(checkStatus({ host: 'files.test', status: 404, retryAfter: '5', date: null })?.failure).toEqual({
      kind: 'failed',
      code: 'media_status',
      mayPass: false,
      words: 'files.test answered 404 (not found).',
      retryAfterMs: null,
    })
  })
})

describe('parseRetryAfter', () => {
  const date = 'Wed, 21 Oct 2026 07:28:00 GMT'

  it.each([
    ['0', null, 0],
    ['120', null, 120_000],
    [' 3 ', null, 3000],
    ['999999999999', null, MAX_RETRY_AFTER_MS],
    ['Wed, 21 Oct 2026 07:28:30 GMT', date, 30_000],
    ['Wed, 21 Oct 2026 09:28:30 GMT', date, MAX_RETRY_AFTER_MS],
    ['Wed, 21 Oct 2026 07:00:00 GMT', date, 0],
    ['Wed, 21 Oct 2026 07:28:30 GMT', null, null],
    ['Wed, 21 Oct 2026 07:28:30 GMT', 'yesterday', null],
    ['-5', date, null],
    ['1.5', date, null],
    ['soon', date, null],
    ['', date, null],
    [null, date, null],
  ])('reads %j beside the date %j as %j', (retryAfter, beside, expected) => {
    expect(parseRetryAfter(retryAfter, beside)).toBe(expected)
  })
})
