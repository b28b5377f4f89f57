import assert from 'node:assert/strict'
import { it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import type { HeldLane } from '../../core/ports/channel.ts'
import type { OpenedSession } from '../../core/ports/session-store.ts'
import { type SessionParts, WebSession } from './session.ts'

it('a session that is closed while it is being unlinked stays closed for those who count sessions', async () => {
  const statuses: string[] = []
  const opened = Promise.withResolvers<OpenedSession | null>()
  const parts = {
    store: { open: () => opened.promise, writeStatus: async () => {} },
    host: { isInstalled: () => false },
    clock: new HandClock(),
    note: (event: { status: string }) => statuses.push(event.status),
  } as unknown as SessionParts
  const session = new WebSession({ connectionId: 'con_1', stillHolds: () => true } as unknown as HeldLane, parts)

  const unlinking = session.unlink()
  await settle()
  await session.close({ remove: false })
  opened.resolve(null)
  await unlinking

  assert.deepEqual(statuses, ['not-installed', 'closed'])
})
