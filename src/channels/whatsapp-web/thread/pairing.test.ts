import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'vitest'
import type { Credentials, LibrarySocket, StanzaNode } from './library.ts'
import type { PairingChange } from './messages.ts'
import { Pairing } from './pairing.ts'

const NUMBER = '15550100000'
const PARTS = ['link_code_pairing_wrapped_primary_ephemeral_pub', 'primary_identity_pub', 'link_code_pairing_ref']
const TYPED = node('notification', { type: 'link_code_companion_reg' }, [
  node(
    'link_code_companion_reg',
    { stage: 'primary_hello' },
    PARTS.map((part) => node(part)),
  ),
])
const ACCEPTED = node('iq', { id: '1' }, [
  node('pair-success', {}, [node('device', { jid: `${NUMBER}:1@s.whatsapp.net` })]),
])

describe('linking by a typed code', () => {
  it('is confirmed once the phone has accepted the device, and not when a code was typed, which may be mistyped', () => {
    const { ws, changes } = openPairing()
    ws.emit('CB:notification', TYPED)
    const typed = [...changes]

    ws.emit('CB:iq,,pair-success', ACCEPTED)

    assert.deepEqual([typed, changes], [[], [{ kind: 'confirmed' }]])
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
    { number: NUMBER, byCode: true },
  )
  return { ws, changes }
}

function node(tag: string, attrs: StanzaNode['attrs'] = {}, content: readonly StanzaNode[] = []): StanzaNode {
  return { tag, attrs, content }
}
