import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { forPeople } from './for-people.ts'

describe('what tables hold', () => {
  it('is printed with names and moments as people read them, at any depth', () => {
    const row = {
      accepted_at: 0,
      settled_at: null,
      wait_until: 1_000,
      since: 2_000,
      attempts: 2,
      format: 3,
      took_us: 40,
      timeline: [{ at: 1_500, network_id: 'wamid.1' }],
    }

    assert.deepEqual(forPeople(row), {
      acceptedAt: '1970-01-01T00:00:00.000Z',
      settledAt: null,
      waitUntil: '1970-01-01T00:00:01.000Z',
      since: '1970-01-01T00:00:02.000Z',
      attempts: 2,
      format: 3,
      tookUs: 40,
      timeline: [{ at: '1970-01-01T00:00:01.500Z', networkId: 'wamid.1' }],
    })
  })
})
