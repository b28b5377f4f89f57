import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'vitest'
import type { Credentials, LibrarySocket, StanzaNode } from './library.ts'
import type { PairingChange } from './messages.ts'
import { Pairing } from './pairing.ts'

const PARTS = ['link_code_pairing_wrapped_primary_ephemeral_pub', 'primary_identity_pub', 'link_code_pairing_ref']

describe('linking by a typed code', () => {
  it('is confirmed once the code was typed, and not by an early notification that lacks a part', () => {
    const { ws, changes } = openPairing()
    for (const missing of PARTS) ws.emit('CB:notification', helloWith(PARTS.filter((part) => part !== missing)))
    const early = [...changes]

    ws.emit('CB:notification', helloWith(PARTS))

    assert.deepEqual([early, changes], [[], [{ kind: 'confirmed' }]])
  })
})

function openPairing() {
  const [ws, ev] = [new EventEmitter(), new EventEmitter()]
  const changes: PairingChange[] = []
  new Pairing(
    {
      socket: { ws, ev } as unknown as LibrarySocket,
      credentials: {} as Credentials,
      report: (change) => changes.push(change),
    },
    { number: '15550100000', byCode: true },
  )
  return { ws, changes }
}

function helloWith(parts: readonly string[]): StanzaNode {
  const content = parts.map((tag) => ({ tag, attrs: {}, content: Buffer.from('…') }))
  const code = { tag: 'link_code_companion_reg', attrs: { stage: 'primary_hello' }, content }
  return { tag: 'notification', attrs: { type: 'link_code_companion_reg' }, content: [code] }
}
