import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { unseen } from '../../console/features/attention/attention-text.ts'
import { changesText, gapEffect } from '../../console/features/connections/connection-labels.ts'
import { auditFact } from '../../console/features/settings/audit-labels.ts'
import { tokenStatusOf } from '../../console/features/tokens/token-labels.ts'

const DAY_MS = 86_400_000

describe('the settings of a connection', () => {
  it('say what a gap comes to', () => {
    assert.equal(gapEffect(40_000, 10_000), 'One every 40 s to 50 s: about 80 an hour.')
    assert.equal(gapEffect(2_000, 0), 'One every 2.0 s: about 1,800 an hour.')
    assert.deepEqual([gapEffect(0, 0), gapEffect(null, 0)], [null, null])
  })

  it('name what is not saved', () => {
    assert.equal(changesText(['Least gap']), '1 change: least gap')
    assert.equal(changesText(['Least gap', 'Jitter']), '2 changes: least gap, jitter')
  })
})

describe('an entry of the audit log', () => {
  it('reads as people write', () => {
    assert.equal(auditFact('events', ['messaging.send_message']), 'events: Messaging > Send Message')
    assert.equal(auditFact('isOpen', true), 'is open: yes')
    assert.match(auditFact('expiresAt', Date.UTC(2026, 11, 3, 12)), /^expires: .*2026/)
  })
})

describe('a token', () => {
  it('expires soon in the last fifth of its life, and within seven days at most', () => {
    const lasting = (days: number, leftDays: number) => {
      const expiresAt = Date.now() + leftDays * DAY_MS
      return tokenStatusOf({ createdAt: expiresAt - days * DAY_MS, deletedAt: null, expiresAt })
    }
    assert.deepEqual(
      [lasting(7, 6.9), lasting(7, 1.3), lasting(7, 0.5), lasting(90, 8), lasting(90, 6)],
      ['active', 'ends-soon', 'ends-today', 'active', 'ends-soon'],
    )
  })
})

describe('what needs attention', () => {
  it('is what was not seen', () => {
    const item = { key: 'a', alarm: null, messages: null, latestAt: 1, maySee: true, seen: null }
    assert.deepEqual(unseen([item, { ...item, key: 'b', seen: { by: 'anna', at: 2 } }]), [item])
  })
})
