import assert from 'node:assert/strict'
import { it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import type { HeldLane } from '../../core/ports/channel.ts'
import { WebSession } from './session.ts'
import type { SessionParts } from './session-parts.ts'

it('a session that is closed while it is being unlinked stays closed for those who count sessions', async () => {
  const statuses: string[] = []
  const removed = Promise.withResolvers<void>()
  const parts = {
    store: { remove: () => removed.promise, writeStatus: async () => {} },
    host: { isInstalled: () => false },
    clock: new HandClock(),
    note: (event: { status: string }) => statuses.push(event.status),
  } as unknown as SessionParts
  const session = new WebSession({ connectionId: 'con_1', stillHolds: () => true } as unknown as HeldLane, parts)

  const unlinking = session.unlink()
  await settle()
  await session.close({ remove: false })
  removed.resolve()
  await unlinking

  assert.deepEqual(statuses, ['not-installed', 'closed'])
})

it.each([
  ['is ready, and no answer comes', { socket: {} }, 'unanswered'],
  ['cannot be reached', { name: 'connecting' }, 'connecting'],
  ['was unlinked on the phone before', { name: 'unlinked' }, null],
] as const)('says what WhatsApp knows of a device that is unlinked: the session %s', async (_, found, known) => {
  const parts = {
    store: { remove: async () => true, writeStatus: async () => {} },
    host: { isInstalled: () => false },
    clock: new HandClock(),
    note: () => {},
  } as unknown as SessionParts
  const session = new WebSession({ connectionId: 'con_1', stillHolds: () => true } as unknown as HeldLane, parts)
  session.whenReady = async () => found as never

  assert.equal(await session.unlink(), known)
})
