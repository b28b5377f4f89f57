import assert from 'node:assert/strict'
import { it } from 'vitest'
import type { StanzaNode } from './library.ts'
import { answerRetries } from './repeats.ts'

const RECIPIENT = '15551234567'
const JID = `${RECIPIENT}@s.whatsapp.net`

it.each([
  { title: 'the recipient', device: `${RECIPIENT}:2@s.whatsapp.net`, isSent: true },
  { title: 'the recipient, by WhatsApp’s own id', device: '77001:2@lid', isSent: true },
  { title: 'our own number', device: '15550001000:3@s.whatsapp.net', isSent: true },
  { title: 'the recipient, who is blocked since its keys came', device: JID, isBlocked: true, isSent: false },
  { title: 'another person', device: '15559999999@s.whatsapp.net', isSent: false },
  { title: 'another person, by WhatsApp’s own id', device: '77009:1@lid', isSent: false },
])(
  'a device that asks for a message gets it: $isSent, when it is of $title',
  async ({ device, isBlocked = false, isSent }) => {
    const world = open({ isBlocked })

    await world.ask(device)

    assert.deepEqual(
      world.sent.map(({ tag }) => tag),
      isSent ? ['message', 'ack'] : ['ack'],
    )
    if (isBlocked) assert.deepEqual(world.asked.slice(-2), ['encryptMessage', 'mayRepeat'])
  },
)

it('a message that could not be sent again, because its line ended meanwhile, is not counted, and the device may ask again', async () => {
  const world = open({ endsWhileEncrypting: true })

  await world.ask(JID)

  assert.deepEqual(world.asked, ['findRepeat', 'encryptMessage'])
  assert.deepEqual(world.sent, [])
})

function open({ isBlocked = false, endsWhileEncrypting = false }) {
  const asked: string[] = []
  const sent: StanzaNode[] = []
  let ask: (receipt: StanzaNode) => unknown = () => {}
  const socket = {
    ws: {
      isOpen: true,
      listeners: () => [],
      on: (_: string, listener: typeof ask) => {
        ask = listener
      },
    },
    sendNode: async (node: StanzaNode) => sent.push(node),
    signalRepository: {
      lidMapping: { getLIDForPN: async () => '77001@lid' },
      injectE2ESession: async () => {},
      async encryptMessage() {
        asked.push('encryptMessage')
        if (endsWhileEncrypting) socket.ws.isOpen = false
        return { type: 'msg', ciphertext: Buffer.alloc(1) }
      },
    },
  }
  const library = {
    proto: {
      Message: { fromObject: () => ({}), encode: () => ({ finish: () => Buffer.alloc(0) }), decode: () => ({}) },
    },
    encodeWAMessage: () => Buffer.alloc(1),
    encodeSignedDeviceIdentity: () => Buffer.alloc(1),
    extractE2ESessionFromRetryReceipt: () => ({}),
  }
  answerRetries({
    library,
    socket,
    state: { get: async () => ({ [RECIPIENT]: { jid: JID, at: 0 } }) },
    credentials: {
      me: { id: '15550001000:1@s.whatsapp.net', lid: '77000:1@lid' },
      signedIdentityKey: { private: Buffer.alloc(32) },
    },
    host: {
      async call(method: string) {
        asked.push(method)
        if (method === 'mayRepeat') return !isBlocked
        return method === 'findRepeat' ? { to: RECIPIENT, fields: { extendedTextMessage: { text: 'hello' } } } : null
      },
    },
    id: 1,
  } as never)

  return {
    asked,
    sent,
    ask: async (device: string) => ask({ tag: 'receipt', attrs: { id: 'wire', from: device, type: 'retry' } }),
  }
}
