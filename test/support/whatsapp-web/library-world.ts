import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, vi } from 'vitest'
import { waitUntil } from '../black-box/wait-until.ts'
import type { BinaryNode } from './binary-node.ts'
import { LibraryClient } from './library-client.ts'
import { Simulator } from './simulator.ts'

export const RECIPIENT = '15551234567'
export const TO = `${RECIPIENT}@s.whatsapp.net`

/** A node on which one of the library's listeners rejects, and the library does not handle the rejection. */
export const BREAKS_THE_LIBRARY: BinaryNode = {
  tag: 'iq',
  attrs: { id: 'broken', type: 'set', from: 's.whatsapp.net' },
  content: [{ tag: 'pair-device', attrs: {}, content: [{ tag: 'ref', attrs: {} }] }],
}

export let simulator: Simulator
let lastNumber = 15_550_001_000

/** Starts a simulator for the tests of the suite. The library accepts its certificates. Each test must end without complaints. */
export function openSimulator(): void {
  beforeAll(async () => {
    // libsignal prints whole sessions with their keys.
    for (const method of ['log', 'info', 'warn', 'error'] as const)
      vi.spyOn(console, method).mockImplementation(() => {})
    simulator = await Simulator.start()
    simulator.library.WA_CERT_DETAILS.PUBLIC_KEY = simulator.rootKey.public
    simulator.phone(RECIPIENT)
  })

  afterAll(() => {
    vi.restoreAllMocks()
    return simulator?.close()
  })

  afterEach(() => {
    assert.deepEqual(simulator.takeComplaints(), [])
  })
}

interface Sent {
  readonly to?: string
  readonly text?: string
  readonly message?: object
  readonly additionalNodes?: object
}

export function until(what: string, condition: () => boolean, deadlineMs = 60_000): Promise<true> {
  return waitUntil(what, async () => condition(), { deadlineMs, everyMs: 2 })
}

export function newNumber(): string {
  lastNumber += 1
  return String(lastNumber)
}

/** A client that does not ask for tokens, like the channel's. */
export async function linked(number: string, options: object = {}): Promise<LibraryClient> {
  const client = await LibraryClient.link(simulator, number, options)
  await noteToken(client)
  return client
}

export function noteToken(client: LibraryClient, recipient = RECIPIENT): Promise<void> {
  const noted = { token: Buffer.alloc(0), senderTimestamp: Math.floor(Date.now() / 1000) }
  return client.socket.authState.keys.set({ tctoken: { [simulator.phone(recipient).lid]: noted } })
}

export function wireId(client: LibraryClient, name: string): string {
  const hash = createHash('sha256').update(`${client.creds.me?.id}:${name}`).digest('hex')
  return `3EB0${hash.slice(0, 18).toUpperCase()}`
}

export function relay(
  client: LibraryClient,
  name: string,
  { to = TO, text = name, message, additionalNodes }: Sent = {},
) {
  const content = message ?? { extendedTextMessage: { text } }
  return client.socket.relayMessage(to, content, { messageId: wireId(client, name), additionalNodes })
}

/** Sends a message. Resolves with the ack. */
export async function send(client: LibraryClient, name: string, sent: Sent = {}): Promise<BinaryNode> {
  const id = wireId(client, name)
  await relay(client, name, sent)
  await until(`the ack of ${name}`, () => client.acks.some(({ attrs }) => attrs['id'] === id))
  return client.acks.find(({ attrs }) => attrs['id'] === id)!
}

export function nextNode(client: LibraryClient, event: string): Promise<BinaryNode> {
  return new Promise((resolve) => client.socket.ws.on(event, resolve))
}

export async function end(client: LibraryClient): Promise<void> {
  await client.end()
  await client.ended
}

/** A cache of devices like the channel's: it keeps entries until it is emptied. */
export function deviceCache() {
  const entries = new Map<string, unknown>()
  return {
    get: async (key: string) => entries.get(key),
    set: async (key: string, value: unknown) => void entries.set(key, value),
    del: async (key: string) => void entries.delete(key),
    flushAll: () => entries.clear(),
  }
}
