import { addressOf } from './find-recipient.ts'
import { userOf } from './jid.ts'
import type { Credentials, Library, LibrarySocket, StanzaNode } from './library.ts'
import { buildMessage } from './message.ts'
import type { MessageFields } from './messages.ts'
import { RECEIPT_EVENT } from './receipts.ts'
import { storedOnLine } from './stored-first.ts'
import type { HostCalls, StoredState } from './stored-state.ts'

interface RepeatsParts {
  readonly library: Library
  readonly socket: LibrarySocket
  readonly state: StoredState
  readonly credentials: Credentials
  readonly host: HostCalls
  /** What the host knows the socket by. */
  readonly id: number
}

const RETRY_TYPE = 'retry'
const MEDIA_FIELDS = ['image', 'video', 'audio', 'document']

/**
 * Answers devices that could not read a message: sends it again to that one device, then acknowledges the request. The library
 * no longer gets these receipts, because it would send the message to all devices of the recipient.
 */
export function answerRetries(parts: RepeatsParts): void {
  const { socket } = parts
  const theirs = socket.ws.listeners(RECEIPT_EVENT)
  for (const listener of theirs) socket.ws.off(RECEIPT_EVENT, listener)
  socket.ws.on(RECEIPT_EVENT, (receipt) => {
    if (receipt.attrs['type'] === RETRY_TYPE) return answer(parts, receipt)
    return Promise.all(theirs.map((listener) => listener(receipt)))
  })
}

/** What fails comes again with the next login, because it is not acknowledged. */
async function answer(parts: RepeatsParts, receipt: StanzaNode): Promise<void> {
  const { socket, host, id } = parts
  const wireId = receipt.attrs['id'] ?? ''
  try {
    if (await repeat(parts, receipt)) {
      const note = { wireIds: [wireId], kind: 'unreadable', at: null } as const
      if (!(await storedOnLine(socket, () => host.call('keepReceipt', id, note)))) return
    }
    await socket.sendNode(ackOf(receipt))
  } catch {
    // The line ended, storage was away, or WhatsApp did not answer.
  }
}

/** False when the device had it often enough, it is no message of ours, the device is another person’s, or the recipient is blocked. */
async function repeat(parts: RepeatsParts, receipt: StanzaNode): Promise<boolean> {
  const { socket, state, credentials, host, id } = parts
  const { id: wireId = '', from = '', participant } = receipt.attrs
  const device = participant ?? from
  const content = await host.call('findRepeat', id, wireId, device)
  const jid = content && (await addressOf(state, content.to))
  if (!content || !jid) return false
  if (!isOurs(credentials, device) && !(await isOf(jid, device, socket))) return false
  await openSession(parts, { receipt, device })
  const stanza = await stanzaFor(parts, { receipt, device, jid, fields: content.fields })
  // Asked and counted last. The keys of the device may have been waited for, and the recipient blocked meanwhile (G13). And a
  // line that has ended since must not use up one of the few times that the device is sent it.
  if (!socket.ws.isOpen) throw new Error('the line has ended')
  if (!(await host.call('mayRepeat', id, wireId, device))) return false
  await socket.sendNode(stanza)
  return true
}

interface Repeated {
  readonly receipt: StanzaNode
  readonly device: string
  /** The recipient's. */
  readonly jid: string
  readonly fields: MessageFields
}

/** Written by us, because the library would put a second ciphertext for the same device into it. */
async function stanzaFor(
  { library, socket, credentials }: RepeatsParts,
  { receipt, device, jid, fields }: Repeated,
): Promise<StanzaNode> {
  const wireId = receipt.attrs['id'] ?? ''
  const message = buildMessage({ library, credentials }, { wireId, fields })
  const isOwn = isOurs(credentials, device)
  const sealed = isOwn ? { deviceSentMessage: { destinationJid: jid, message } } : message
  const { type, ciphertext } = await socket.signalRepository.encryptMessage({
    jid: device,
    data: library.encodeWAMessage(sealed),
  })
  const mediaType = MEDIA_FIELDS.find((each) => `${each}Message` in fields)
  const count = childOf(receipt, RETRY_TYPE)?.attrs['count'] ?? '1'
  const enc = { v: '2', type, count, ...(mediaType && { mediatype: mediaType }) }
  return {
    tag: 'message',
    attrs: {
      id: wireId,
      to: device,
      type: mediaType ? 'media' : 'text',
      device_fanout: 'false',
      ...(isOwn && { recipient: jid }),
    },
    content: [
      { tag: 'enc', attrs: enc, content: ciphertext },
      { tag: 'device-identity', attrs: {}, content: library.encodeSignedDeviceIdentity(credentials.account, true) },
    ],
  }
}

function isOurs({ me }: Credentials, device: string): boolean {
  return [me?.id, me?.lid].some((own) => own && userOf(own) === userOf(device))
}

/** WhatsApp addresses a device by the number of the person, or by its own id of them. */
async function isOf(jid: string, device: string, { signalRepository }: LibrarySocket): Promise<boolean> {
  if (userOf(device) === userOf(jid)) return true
  const lid = await signalRepository.lidMapping.getLIDForPN(jid)
  return lid !== null && userOf(device) === userOf(lid)
}

function ackOf({ attrs: { id, from, participant, recipient } }: StanzaNode): StanzaNode {
  const attrs = { id, to: from, class: 'receipt', type: RETRY_TYPE }
  return { tag: 'ack', attrs: { ...attrs, ...(participant && { participant }), ...(recipient && { recipient }) } }
}

/** With the keys that the device sent along, or with new ones from WhatsApp. */
async function openSession(
  { library, socket }: RepeatsParts,
  { receipt, device }: { readonly receipt: StanzaNode; readonly device: string },
): Promise<void> {
  const session = library.extractE2ESessionFromRetryReceipt(receipt)
  if (session) await socket.signalRepository.injectE2ESession({ jid: device, session })
  else await socket.assertSessions([device], true)
}

function childOf({ content }: StanzaNode, tag: string): StanzaNode | undefined {
  return Array.isArray(content) ? (content as readonly StanzaNode[]).find((child) => child.tag === tag) : undefined
}
