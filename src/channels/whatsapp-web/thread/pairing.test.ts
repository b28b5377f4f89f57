import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it } from 'vitest'
import type { Credentials, LibrarySocket, StanzaNode } from './library.ts'
import type { PairingChange } from './messages.ts'
import { isSameNumber, Pairing } from './pairing.ts'

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

describe('two numbers are the same', () => {
  it.each([
    ['15550001000', '15550001000', true],
    ['15550001000', '15550001001', false],
    ['5511987654321', '551187654321', true],
    ['5511987654321', '551187654322', false],
    ['5215512345678', '525512345678', true],
    ['5491123456789', '541123456789', true],
    // Only where the digit is optional.
    ['4917012345678', '491712345678', false],
  ])('%s and %s: %s', (one, other, isSame) => {
    assert.equal(isSameNumber(one, other), isSame)
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
