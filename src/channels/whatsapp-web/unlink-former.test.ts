import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import type { ConnectionId } from '../../core/ids.ts'
import { LoginTurns } from './login-turns.ts'
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
    const parts = { host, logins: { take: async () => () => {} }, clock: new HandClock(), receipts, url: '' }

    await unlinkFormer(parts as unknown as Parameters<typeof unlinkFormer>[0], stored as unknown as StoredSession, {
      connectionId: 'con' as ConnectionId,
      stillHolds: () => true,
    })

    assert.deepEqual(events, [['con', RECEIPT], { logsOut: true }, ...(isAnswered ? ['forgotten'] : [])])
  })

  it('logs in when it is its turn, which lasts until it is logged out, and not at all once the lane is another worker’s', async () => {
    const events: string[] = []
    const turns = new LoginTurns({ mostAtOnce: 1, mostASecond: 9, clock: new HandClock() })
    const host = {
      open(_: unknown, owner: SocketOwner) {
        events.push('login')
        owner.changed({ kind: 'ready', device: '1', version: '2.3000.1' })
        return { close: async () => events.push('logged out') > 0 }
      },
    }
    const stored = { readFormer: async () => '{}', forgetFormer: async () => {} }
    const parts = { host, logins: turns, clock: new HandClock(), receipts: {}, url: '' }
    const unlink = (stillHolds: boolean) =>
      unlinkFormer(parts as unknown as Parameters<typeof unlinkFormer>[0], stored as unknown as StoredSession, {
        connectionId: 'con' as ConnectionId,
        stillHolds: () => stillHolds,
      })

    const endOther = await turns.take()
    const unlinking = [unlink(true), unlink(false)]
    await settle()
    events.push('the turn of another ends')
    endOther()
    const next = turns.take().then(() => events.push('the next turn'))
    await Promise.all([...unlinking, next])

    assert.deepEqual(events, ['the turn of another ends', 'login', 'logged out', 'the next turn'])
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
    const parts = { host, logins: { take: async () => () => {} }, clock, receipts: {}, url: '' }
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
