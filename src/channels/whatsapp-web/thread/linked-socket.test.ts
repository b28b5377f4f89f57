import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import { describe, it, onTestFinished } from 'vitest'
import { deadlineIn } from './deadline.ts'
import type { Library } from './library.ts'
import { LinkedSocket } from './linked-socket.ts'
import type { PairingOptions } from './messages.ts'
import { ACK_EVENT } from './relay.ts'
import type { HostCalls } from './stored-state.ts'

const NUMBER = '15550100000'

describe('a line to WhatsApp', () => {
  it('gives the library three minutes for each QR code while another code is being typed, because it would end with them', () => {
    const [typed, scanned, login] = [
      open({ number: NUMBER, byCode: true }),
      open({ number: NUMBER, byCode: false }),
      open(),
    ]

    assert.equal(typed.options['qrTimeout'], 180_000)
    assert.ok(!('qrTimeout' in scanned.options) && !('qrTimeout' in login.options))
  })

  it('keeps acks from the library, which would ask for a token after a 463', () => {
    const { ws } = open()

    assert.equal(ws.listenerCount(ACK_EVENT), 0)
  })
})

/** With a library that only notes what it is given. */
function open(pairing?: PairingOptions) {
  const [ws, ev] = [new EventEmitter(), new EventEmitter()]
  ws.on(ACK_EVENT, () => {})
  let options: Readonly<Record<string, unknown>> = {}
  const library = {
    initAuthCreds: () => ({}),
    makeWASocket(given: typeof options) {
      options = given
      return { ws, ev }
    },
    DEFAULT_CONNECTION_CONFIG: { version: [2, 3000, 1] },
  } as unknown as Library
  const host = { call: async () => null } as unknown as HostCalls
  const given = { url: 'ws://127.0.0.1:1', credentials: null, version: null, ...(pairing && { pairing }) }
  new LinkedSocket({ library, host, id: 1, options: given, onClosed: () => {} }, deadlineIn(1_000))
  onTestFinished(() => void ev.emit('connection.update', { connection: 'close' }))
  return { ws, options }
}
