import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it, onTestFinished } from 'vitest'
import packages from '../../extras/whatsapp-web/package.json' with { type: 'json' }
import type { LibrarySocket } from '../../src/channels/whatsapp-web/thread/library.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { childOf, SERVER } from '../support/whatsapp-web/binary-node.ts'
import { installedVersion, LIBRARY, whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { LibraryClient } from '../support/whatsapp-web/library-client.ts'
import {
  end,
  newNumber,
  nextNode,
  openSimulator,
  RECIPIENT,
  simulator,
  TO,
  until,
} from '../support/whatsapp-web/library-world.ts'

// The channel relies on what this version does. If a new version behaves differently, the titles say what to change.

const REASON = whyNoLibrary()

/** All members of a socket that the channel uses. */
const CALLED: Readonly<Record<keyof LibrarySocket, true>> = {
  ev: true,
  ws: true,
  authState: true,
  signalRepository: true,
  serverProps: true,
  onWhatsApp: true,
  executeUSyncQuery: true,
  assertSessions: true,
  issuePrivacyTokens: true,
  relayMessage: true,
  sendNode: true,
  refreshMediaConn: true,
  requestPairingCode: true,
  sendPresenceUpdate: true,
  fetchAccountReachoutTimelock: true,
  query: true,
  end: true,
}

describe.skipIf(REASON)(`${LIBRARY.name} ${LIBRARY.version}, against the simulator,${skipNote(REASON)}`, () => {
  openSimulator()

  it('is the version that the channel installs, and has all members that the channel uses', async () => {
    const client = await LibraryClient.link(simulator, newNumber())

    const missing = Object.keys(CALLED).filter((name) => !(name in client.socket))

    assert.deepEqual(
      [installedVersion(), packages.dependencies.baileys, missing],
      [LIBRARY.version, LIBRARY.version, []],
    )
    await end(client)
  })

  describe('with the wrapper of libsignal', () => {
    it('refuses a wrong signature', () => {
      const { Curve } = simulator.library
      // In these rounds each byte of the signature is changed once, and both signs of the key's Edwards point occur.
      for (let byte = 0; byte < 64; byte += 1) {
        const keys = Curve.generateKeyPair()
        const message = Buffer.from('text')
        const signature = Curve.sign(keys.private, message)
        const changed = Buffer.from(signature)
        changed[byte] = (changed[byte] ?? 0) ^ 1

        assert.equal(Curve.verify(keys.public, message, signature), true)
        assert.equal(Curve.verify(keys.public, message, changed), false, `byte ${byte}`)
        assert.equal(Curve.verify(Curve.generateKeyPair().public, message, signature), false)
      }
    })

    it('ends a connection with forged certificates', async () => {
      simulator.isCertificateForged = true
      onTestFinished(() => {
        simulator.isCertificateForged = false
      })
      const client = new LibraryClient(simulator)

      const first = await Promise.race([client.nextCode().then(() => 'a code was shown'), client.ended])

      assert.notEqual(first, 'a code was shown')
    })
  })

  describe('links a device', () => {
    it('by a QR code, and ends the line with 515', async () => {
      const client = new LibraryClient(simulator)
      simulator.pairing.scan(newNumber(), await client.nextCode())

      assert.equal((await client.ended).code, 515)
    })

    it('by a code typed into the phone', async () => {
      const client = new LibraryClient(simulator)
      const number = newNumber()
      await client.nextCode()
      const taken = nextNode(client, 'CB:iq,type:result,link_code_companion_reg')
      const code = await client.socket.requestPairingCode(number)
      await taken

      simulator.pairing.typeCode(number, code)

      assert.equal((await client.ended).code, 515)
      await end(await LibraryClient.logIn(simulator, client.state))
    })

    it('and returns a typed code before the server has answered, so a refused code is not recognised', async () => {
      const client = new LibraryClient(simulator)
      await client.nextCode()
      simulator.pairing.isCodeRefused = true
      onTestFinished(() => {
        simulator.pairing.isCodeRefused = false
      })
      const refused = nextNode(client, 'CB:iq,type:error')

      const code = await client.socket.requestPairingCode(newNumber())

      assert.match(code, /^\w{8}$/)
      assert.equal(childOf(await refused, 'error')?.attrs['code'], '400')
      await end(client)
    })

    it('and gets no typed code unless it claims to be a browser', async () => {
      const client = new LibraryClient(simulator, undefined, { browser: ['Windows', 'Nuncio', '1'] })
      await client.nextCode()
      const refused = nextNode(client, 'CB:iq,type:error')

      await client.socket.requestPairingCode(newNumber())

      assert.equal(childOf(await refused, 'error')?.attrs['code'], '400')
      await end(client)
    })

    it('and ends the line with 408 when the QR codes run out, even if a code can still be typed, so they must last long', async () => {
      const client = new LibraryClient(simulator, undefined, { qrTimeout: 300 })
      await client.nextCode()
      const taken = nextNode(client, 'CB:iq,type:result,link_code_companion_reg')
      await client.socket.requestPairingCode(newNumber())
      await taken

      assert.equal((await client.ended).code, 408)
    })

    it('and tries to log in after a code that was never typed, so unfinished credentials must be deleted', async () => {
      const client = new LibraryClient(simulator)
      await client.nextCode()
      await client.socket.requestPairingCode(newNumber())
      await until('credentials', () => client.state.rows.has('creds'))
      await end(client)

      const { code } = await new LibraryClient(simulator, client.state).ended

      assert.equal(code, 401)
    })

    it('and before it is linked neither acknowledges a notification nor replaces a withdrawn secret', async () => {
      const client = new LibraryClient(simulator)
      const shown = await client.nextCode()
      const before = simulator.requests.length
      const notified = nextNode(client, 'CB:notification')
      simulator.pairing.refreshSecret()
      await notified

      assert.equal(client.creds.advSecretKey, shown.split(',')[3])
      simulator.pairing.scan(newNumber(), shown)
      await client.ended
      assert.deepEqual(
        simulator.requests.slice(before).filter((request) => request.startsWith('ack')),
        [],
      )
      assert.match(simulator.takeComplaints().join(), /did not acknowledge that its secret is not valid any more/)
    })

    it('with a new secret after the phone refuses the first one, if the channel acknowledges the notification', async () => {
      simulator.pairing.needsNewSecret = true
      onTestFinished(() => {
        simulator.pairing.needsNewSecret = false
      })
      const client = new LibraryClient(simulator)
      const number = newNumber()
      const shown = await client.nextCode()
      const notified = nextNode(client, 'CB:notification')
      assert.throws(() => simulator.pairing.scan(number, shown), /could not link the device/)
      const { attrs } = await notified
      assert.throws(() => simulator.pairing.scan(number, shown), /could not link the device/)

      client.creds.advSecretKey = randomBytes(32).toString('base64')
      await client.socket.sendNode({
        tag: 'ack',
        attrs: { id: attrs['id'] ?? '', to: SERVER, class: 'notification', type: 'companion_reg_refresh' },
      })
      simulator.pairing.scan(number, shown.split(',').with(3, client.creds.advSecretKey).join(','))

      assert.equal((await client.ended).code, 515)
      await end(await LibraryClient.logIn(simulator, client.state))
    })
  })

  describe('ends a line', () => {
    it.each(['402', '403', '405', '409', '500', '503'])('with the code of the refused login: %s', async (reason) => {
      const number = newNumber()
      const client = await LibraryClient.link(simulator, number)
      await end(client)
      simulator.refusedLogins.set(number, reason)

      const { code } = await new LibraryClient(simulator, client.state).ended

      assert.equal(code, Number(reason))
    })

    it('with 440 when the same device logs in elsewhere, and with 401 when it was unlinked', async () => {
      const number = newNumber()
      const first = await LibraryClient.link(simulator, number)
      const second = await LibraryClient.logIn(simulator, first.state)
      const replaced = await first.ended
      simulator.unlink(number)
      const unlinked = await second.ended

      assert.deepEqual([replaced.code, unlinked.code], [440, 401])
    })

    it('when it is logged out, and the device is unlinked', async () => {
      const number = newNumber()
      const client = await LibraryClient.link(simulator, number)
      const before = simulator.phone(number).devices.size

      await client.socket.logout()

      await client.ended
      assert.deepEqual([before, simulator.phone(number).devices.size], [1, 0])
    })

    it('at once when its WebSocket is terminated, even if the peer is dead', async () => {
      const number = newNumber()
      const client = await LibraryClient.link(simulator, number)
      const line = simulator.lineOf(number)
      assert.ok(line)
      line.isFrozen = true

      client.socket.ws.socket.terminate()

      assert.equal((await client.ended).code, 428)
    })
  })

  describe('looks up a number', () => {
    it('and leaves it out if it is not registered, but returns undefined if there was no answer', async () => {
      const client = await LibraryClient.link(simulator, newNumber())
      const [known, unknown] = [
        await client.socket.onWhatsApp(RECIPIENT),
        await client.socket.onWhatsApp('19990000000'),
      ]
      simulator.queries.muted.add('usync')
      onTestFinished(() => void simulator.queries.muted.delete('usync'))
      await end(client)
      const again = await LibraryClient.logIn(simulator, client.state, { defaultQueryTimeoutMs: 300 })
      const unanswered = await again.socket.onWhatsApp(RECIPIENT)

      assert.deepEqual(known, [{ jid: TO, exists: true }])
      assert.deepEqual(unknown, [])
      assert.equal(unanswered, undefined)
      await end(again)
    })
  })
})
