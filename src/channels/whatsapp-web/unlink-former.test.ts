import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import type { ConnectionId } from '../../core/ids.ts'
import type { StoredSession } from './stored-session.ts'
import type { SocketOwner } from './thread/host.ts'
import type { SocketReceipt } from './thread/messages.ts'
import { unlinkFormer } from './unlink-former.ts'

const RECEIPT: SocketReceipt = { wireIds: ['3EB0'], kind: 'delivered', at: 1 }

describe('the device that was linked before', () => {
  it('has the receipts of what it sent kept before they are acknowledged, and is logged out', async () => {
    const events: unknown[] = []
    const receipts = { keep: async (...kept: unknown[]) => void events.push(kept) }
    const host = {
      open(_: unknown, owner: SocketOwner) {
        void owner.keepReceipt(RECEIPT).then(() => owner.changed({ kind: 'ready', device: '1', version: '2.3000.1' }))
        return { close: async (how: unknown) => void events.push(how) }
      },
    }
    const stored = { readFormer: async () => '{}', forgetFormer: async () => void events.push('forgotten') }
    const parts = { host, clock: new HandClock(), receipts, url: '', versions: { choose: () => null } }

    await unlinkFormer(parts as unknown as Parameters<typeof unlinkFormer>[0], stored as unknown as StoredSession, {
      connectionId: 'con' as ConnectionId,
      stillHolds: () => true,
    })

    assert.deepEqual(events, [['con', RECEIPT], { logsOut: true }, 'forgotten'])
  })
})
