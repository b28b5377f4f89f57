import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import type { ConnectionId } from '../../core/ids.ts'
import type { StoredSession } from './stored-session.ts'
import type { SocketOwner } from './thread/host.ts'
import type { SocketReceipt } from './thread/messages.ts'
import { unlinkFormer } from './unlink-former.ts'

const RECEIPT: SocketReceipt = { wireIds: ['3EB0'], kind: 'delivered', at: 1 }

describe('the device that was linked before', () => {
  it.each([
    ['has the receipts of what it sent kept before they are acknowledged, and is logged out', true],
    ['is kept for the next login when WhatsApp does not answer that it is logged out', false],
  ])('%s', async (_title, isAnswered) => {
    const events: unknown[] = []
    const receipts = { keep: async (...kept: unknown[]) => void events.push(kept) }
    const host = {
      open(_: unknown, owner: SocketOwner) {
        void owner.keepReceipt(RECEIPT).then(() => owner.changed({ kind: 'ready', device: '1', version: '2.3000.1' }))
        return { close: async (how: unknown) => events.push(how) > 0 && isAnswered }
      },
    }
    const stored = { readFormer: async () => '{}', forgetFormer: async () => void events.push('forgotten') }
    const parts = { host, clock: new HandClock(), receipts, url: '', versions: { choose: () => null } }

    await unlinkFormer(parts as unknown as Parameters<typeof unlinkFormer>[0], stored as unknown as StoredSession, {
      connectionId: 'con' as ConnectionId,
      stillHolds: () => true,
    })

    assert.deepEqual(events, [['con', RECEIPT], { logsOut: true }, ...(isAnswered ? ['forgotten'] : [])])
  })

  it('keeps no stopped process alive: its wait ends with the line, and it is kept for the next login', async () => {
    const events: unknown[] = []
    const owners: SocketOwner[] = []
    const host = {
      open(_: unknown, owner: SocketOwner) {
        owners.push(owner)
        return { close: async (how: unknown) => events.push(how) < 0 }
      },
    }
    const stored = { readFormer: async () => '{}', forgetFormer: async () => void events.push('forgotten') }
    const clock = new HandClock()
    const parts = { host, clock, receipts: {}, url: '', versions: { choose: () => null } }
    const unlinking = unlinkFormer(
      parts as unknown as Parameters<typeof unlinkFormer>[0],
      stored as unknown as StoredSession,
      { connectionId: 'con' as ConnectionId, stillHolds: () => true },
    )
    await settle()
    const before = clock.timers

    for (const owner of owners) owner.changed({ kind: 'closed', code: null, expiresInMs: null })
    await unlinking

    assert.deepEqual([before, clock.timers, events], [1, 0, [{ logsOut: false }]])
  })
})
