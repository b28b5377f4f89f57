import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, it } from 'vitest'
import { skipNote } from '../black-box/skip-note.ts'
import { type BinaryNode, SERVER } from './binary-node.ts'
import { whyNoLibrary } from './library.ts'
import { ClientState, LibraryClient } from './library-client.ts'
import {
  end,
  linked,
  newNumber,
  noteToken,
  openSimulator,
  relay,
  send,
  simulator,
  until,
  wireId,
} from './library-world.ts'
import { isSignedBy } from './xeddsa.ts'

const REASON = whyNoLibrary()

describe.skipIf(REASON)(`the simulator of WhatsApp Web${skipNote(REASON)}`, () => {
  openSimulator()

  it('checks signatures independently of the library', () => {
    const { Curve } = simulator.library
    const { private: privateKey, public: publicKey } = Curve.generateKeyPair()
    const message = Buffer.from('message')
    const signature = Curve.sign(privateKey, message)
    const changed = Buffer.from(signature)
    changed[10] = (changed[10] ?? 0) ^ 1

    assert.equal(isSignedBy(publicKey, message, signature), true)
    assert.equal(isSignedBy(publicKey, message, changed), false)
    assert.equal(isSignedBy(publicKey, Buffer.from('other'), signature), false)
  })

  it('complains of a connection with other first bytes', async () => {
    const socket = new WebSocket(simulator.url)
    await once(socket, 'open')
    const closed = once(socket, 'close')

    socket.send(Buffer.from('GET / HTTP/1.1'))

    await closed
    assert.match(simulator.takeComplaints().join(), /^a line broke: Error: the header is wrong/)
  })

  it('refuses a login with another key than the one that was linked', async () => {
    const client = await linked(newNumber())
    await end(client)
    const state = new ClientState(simulator.library, client.state.rows)
    state.writeCredentials({ ...client.creds, noiseKey: simulator.library.Curve.generateKeyPair() })

    const { code } = await new LibraryClient(simulator, state).ended

    assert.equal(code, 401)
  })

  it('complains of keys that a device fetches again on the same line, or after it has used them', async () => {
    const [used, unused] = [simulator.phone(newNumber()).jid, simulator.phone(newNumber()).jid]
    const client = await linked(newNumber())
    await noteToken(client, numberIn(used))
    await send(client, 'used', { to: used })
    await client.socket.assertSessions([unused], true)
    const first = simulator.takeComplaints()

    await client.socket.assertSessions([unused], true)
    const onTheSameLine = simulator.takeComplaints()
    await end(client)
    const next = await LibraryClient.logIn(simulator, client.state)
    await next.socket.assertSessions([unused], true)
    const unusedOnTheNext = simulator.takeComplaints()
    await next.socket.assertSessions([used], true)
    const usedOnTheNext = simulator.takeComplaints()
    await end(next)

    assert.deepEqual([first, unusedOnTheNext], [[], []])
    for (const [complaint = ''] of [onTheSameLine, usedOnTheNext]) assert.match(complaint, /were fetched again$/)
  })

  it('accepts repeated fetches of keys whose answer refused another device, because the library discards such answers', async () => {
    const { jid } = simulator.phone(newNumber())
    const gone = jid.replace('@', ':1@')
    const client = await linked(newNumber())
    await noteToken(client, numberIn(jid))
    await assert.rejects(client.socket.assertSessions([jid, gone], true))
    await client.socket.assertSessions([jid], true)
    const afterRefusal = simulator.takeComplaints()

    await client.socket.assertSessions([jid], true)

    assert.deepEqual(afterRefusal, [])
    assert.match(simulator.takeComplaints().join(), /were fetched again$/)
    await end(client)
  })

  it('records a repeated message, and complains if its content differs', async () => {
    const client = await linked(newNumber())
    const id = wireId(client, 'one')
    await send(client, 'one', { text: 'once' })

    await relay(client, 'one', { text: 'once' })
    await until('the repeat', () => simulator.messages.repeats.includes(id))
    const complaints = simulator.takeComplaints()
    await relay(client, 'one', { text: 'something else' })
    // Complaints for both phones: the recipient's and the sender's own.
    await until('two complaints', () => simulator.complaints.length === 2)

    assert.deepEqual(complaints, [])
    const complaint = `message ${id}: it came again with another content`
    assert.deepEqual(simulator.takeComplaints(), [complaint, complaint])
    await end(client)
  })

  const OF = { to: SERVER, id: 'test-1' }
  const KEYS: BinaryNode = {
    tag: 'iq',
    attrs: { ...OF, type: 'set', xmlns: 'encrypt' },
    content: [
      { tag: 'registration', attrs: {}, content: Buffer.alloc(4) },
      { tag: 'identity', attrs: {}, content: Buffer.alloc(32) },
      {
        tag: 'list',
        attrs: {},
        content: [{ tag: 'key', attrs: {}, content: [{ tag: 'id', attrs: {}, content: Buffer.from([0, 0, 1]) }] }],
      },
      { tag: 'skey', attrs: {}, content: [] },
    ],
  }

  it.each<[string, BinaryNode, RegExp]>([
    [
      'a query that it does not know',
      { tag: 'iq', attrs: { ...OF, type: 'get', xmlns: 'telex' } },
      /get telex is not known/,
    ],
    ['a stanza that it does not know', { tag: 'telegram', attrs: OF }, /the stanza telegram is not known/],
    ['an ack of what was not sent', { tag: 'ack', attrs: { ...OF, class: 'receipt' } }, /an ack of receipt test-1/],
    ['keys of another identity', KEYS, /of another identity/],
    ['keys whose signature is wrong', KEYS, /a wrong signature/],
    ['keys with an id that was used before', KEYS, /the id 1 was used before/],
    [
      'a message for no device',
      { tag: 'message', attrs: { ...OF, to: '15551234567@s.whatsapp.net', type: 'text' } },
      /it left out 2 of 2/,
    ],
    [
      'a message of another type',
      { tag: 'message', attrs: { ...OF, to: '15551234567@s.whatsapp.net', type: 'poem' } },
      /it has the type poem/,
    ],
  ])('complains of %s', async (_, node, complaint) => {
    const client = await linked(newNumber())
    const before = simulator.complaints.length

    await client.socket.sendNode(node)

    await until('the complaint', () => simulator.complaints.length > before)
    assert.match(simulator.takeComplaints().join(), complaint)
    await end(client)
  })
})

function numberIn(jid: string): string {
  return jid.split('@')[0] ?? ''
}
