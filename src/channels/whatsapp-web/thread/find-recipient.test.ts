import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { findRecipient, type Opened } from './find-recipient.ts'
import { userOf } from './jid.ts'
import { SharedWork } from './shared-work.ts'

const OWN = '15550001000@s.whatsapp.net'
const RECIPIENTS = ['15551234567', '15551234568', '15551234569']

describe('recipients that are looked up at the same time', () => {
  it('have the devices of our own number looked up once, because each look-up may take one-time keys of them', async () => {
    const { asked, find } = open()

    const found = await Promise.all(RECIPIENTS.map(find))

    assert.deepEqual(
      found.map(({ kind }) => kind),
      ['found', 'found', 'found'],
    )
    assert.deepEqual([asked.length, new Set(asked)], [4, new Set([OWN, ...RECIPIENTS.map((number) => jidOf(number))])])
  })

  it('are not written to when our own devices were not named, and the next look-up asks for them again', async () => {
    const world = open()
    world.unanswered.add(OWN)
    const first = await Promise.all(RECIPIENTS.map(world.find))
    world.unanswered.delete(OWN)

    const second = await world.find(RECIPIENTS[0]!)

    assert.deepEqual(
      first.map(({ kind }) => kind),
      ['unanswered', 'unanswered', 'unanswered'],
    )
    assert.equal(second.kind, 'found')
  })

  it('are not written to when none of their devices were named', async () => {
    const { unanswered, find } = open()
    unanswered.add(jidOf(RECIPIENTS[0]!))

    assert.deepEqual(await find(RECIPIENTS[0]!), { kind: 'unanswered' })
  })
})

it('fetches no keys of this device itself, also when it is among the devices that a notification added', async () => {
  const { asserted, find, fresh } = open()
  fresh.set(userOf(OWN), [0, 1])

  await find(RECIPIENTS[0]!)

  assert.deepEqual(asserted[0], [OWN])
})

function jidOf(number: string, _server?: string, device = 0): string {
  return `${number}${device === 0 ? '' : `:${device}`}@s.whatsapp.net`
}

class FakeUser {
  withId(jid: string): { readonly jid: string } {
    return { jid }
  }
}

class FakeQuery {
  jid = ''

  withContext = () => this
  withDeviceProtocol = () => this
  withLIDProtocol = () => this

  withUser({ jid }: { readonly jid: string }): this {
    this.jid = jid
    return this
  }
}

function open() {
  const asked: string[] = []
  const asserted: (readonly string[])[] = []
  const fresh = new Map<string, readonly number[]>()
  const unanswered = new Set<string>()
  const library = {
    USyncQuery: FakeQuery,
    USyncUser: FakeUser,
    extractDeviceJids: (people: readonly { readonly id: string }[]) =>
      people.map(({ id }) => ({ user: userOf(id), server: 's.whatsapp.net', device: 0 })),
    jidEncode: jidOf,
  }
  const socket = {
    onWhatsApp: async (number: string) => [{ jid: jidOf(number), exists: true }],
    async executeUSyncQuery({ jid }: FakeQuery) {
      asked.push(jid)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return unanswered.has(jid) ? undefined : { list: [{ id: jid }] }
    },
    assertSessions: async (jids: readonly string[]) => void asserted.push(jids),
    issuePrivacyTokens: async () => undefined,
    signalRepository: { lidMapping: { getLIDForPN: async () => null, storeLIDPNMappings: async () => {} } },
  }
  const state = {
    get: async () => ({}),
    set: async () => {},
    readFreshDevices: async (user: string) =>
      fresh.get(user)?.map((device) => ({ user, server: 's.whatsapp.net', device })),
    keepDevices: async () => {},
  }
  const credentials = { me: { id: '15550001000:1@s.whatsapp.net' } }
  const parts = { library, socket, state, credentials, ownDevices: new SharedWork<Opened>() }
  return { asked, asserted, fresh, unanswered, find: (number: string) => findRecipient(parts as never, number) }
}
