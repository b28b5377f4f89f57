import assert from 'node:assert/strict'
import { it } from 'vitest'
import { HandClock, settle } from '../../../test/conformance/hand-clock.ts'
import { sendByWhatsApp } from './send.ts'

it('an attempt that is stopped while the number types ends at once, and keeps no process alive', async () => {
  const clock = new HandClock()
  const stopped = new AbortController()
  const parts = {
    clock,
    attempts: { begin: async () => false },
    contacts: { check: async () => null },
    lookups: { find: async () => ({ kind: 'found', jid: '15551234567@s.whatsapp.net' }) },
    refusals: {},
  } as unknown as Parameters<typeof sendByWhatsApp>[0]
  const session = { state: { socket: { show: () => {} }, contents: { keep: async () => {} } } }
  const handover = { to: '15551234567', settings: { typing: true }, content: { type: 'message', text: 'hello' } }
  const given = { handover, session } as unknown as Parameters<typeof sendByWhatsApp>[1]
  const sending = sendByWhatsApp(parts, given, { signal: stopped.signal, stillHolds: () => true })
  await settle()
  const before = clock.timers

  stopped.abort()
  const outcome = await sending

  assert.equal(outcome.kind, 'rejected')
  assert.deepEqual([before, clock.timers], [1, 0])
})
