import { type BinaryNode, bytesOf, childOf, childrenOf, SERVER, secondsNow } from './binary-node.ts'
import type { Line } from './line.ts'
import { openFile, type ReceivedFile } from './media-reader.ts'
import type { Phone } from './phone.ts'
import { ReceiptDesk, type ReceiptLevel } from './receipt-desk.ts'
import type { Simulator } from './simulator.ts'
import { isSignedBy } from './xeddsa.ts'

/**
 * What happens to a message. `drop-before` and `drop-after` end the line before or after the message is accepted. `take-silently`
 * accepts it and sends no ack. `lose-silently` does neither. `unreadable` accepts it, but the recipient's phone cannot read it.
 * `stall` accepts it only once what this returns is fulfilled.
 */
type MessageFault =
  | 'drop-before'
  | 'drop-after'
  | 'take-silently'
  | 'lose-silently'
  | 'unreadable'
  | { readonly refuse: string }
  | { readonly stall: () => Promise<unknown> }

const TAKEN: ReadonlySet<MessageFault> = new Set(['drop-after', 'take-silently', 'unreadable'])

/** The code of a message that is encrypted for other devices than the recipient has. */
const WRONG_DEVICES = '479'
/** The code of a message to a person who does not know the sender, while such messages are locked. */
const FIRST_CONTACT_LOCKED = '463'

export interface SentMessage {
  readonly id: string
  /** The number of the sender. */
  readonly from: string
  readonly to: string
  /** The devices that the message is encrypted for. */
  readonly devices: readonly string[]
  readonly tags: readonly string[]
  /** Whether it reached the phones. */
  readonly isTaken: boolean
  /** When it was received, by the wall clock. */
  readonly at: number
}

type Sender = NonNullable<Line['login']>

/** Receives messages, checks them, delivers them to phones, and sends acks and receipts. */
export class MessageIntake {
  /** All received messages, including those not accepted. */
  readonly sent: SentMessage[] = []
  /** The ids of messages that were received again with the same content. */
  readonly repeats: string[] = []
  /** Called as soon as a message is received. */
  onMessage: () => void = () => {}
  /** Chooses the fault of a message for which no other was set; null: none. Not called for a repeat to one device. */
  chooseFault: () => MessageFault | null = () => null
  /** Called with each message after its fault was chosen. */
  onSent: (message: SentMessage) => void = () => {}
  /** Called when a recipient has decrypted a message and its file, if it has one. */
  onRead: (recipient: Phone, file: ReceivedFile | null) => void = () => {}
  readonly receiptDesk: ReceiptDesk
  /** Until when each number may not write to people who do not know it. */
  readonly lockedUntil = new Map<string, Date>()
  readonly #simulator: Simulator
  readonly #faults = new Map<string, MessageFault[]>()
  readonly #faultsOfRecipients = new Map<string, { readonly fault: MessageFault; readonly isOnce: boolean }>()
  /** Pairs of sender and recipient that have exchanged messages. */
  readonly #acquainted = new Set<string>()

  constructor(simulator: Simulator) {
    this.#simulator = simulator
    this.receiptDesk = new ReceiptDesk((device, node, isHeldBack) =>
      isHeldBack ? simulator.keep(device, node) : simulator.push(device, node),
    )
  }

  get receipts(): ReceiptLevel {
    return this.receiptDesk.level
  }

  set receipts(level: ReceiptLevel) {
    this.receiptDesk.level = level
  }

  /** Sets the faults of the next messages from a sender, one each. */
  failNext(number: string, ...faults: readonly MessageFault[]): void {
    this.#faults.set(number, [...(this.#faults.get(number) ?? []), ...faults])
  }

  /** Sets the fault of every message to a recipient, or with `isOnce` of the next one. Null removes it. */
  failTo(recipient: string, fault: MessageFault | null, { isOnce = false } = {}): void {
    if (fault) this.#faultsOfRecipients.set(recipient, { fault, isOnce })
    else this.#faultsOfRecipients.delete(recipient)
  }

  async take(line: Line, node: BinaryNode): Promise<void> {
    this.onMessage()
    const sender = line.login
    if (!sender) return this.#simulator.complain('a message came without a login')
    const { id = '', to = '' } = node.attrs
    const sealed = sealedOf(node)
    const devices = sealed.map(({ jid }) => jid)
    for (const jid of devices) this.#simulator.queries.noteSession(sender, jid)
    const isComplete = this.#check(sender, node, devices)
    const fault = this.#faultFor(sender.phone.number, node)
    const isStalled = typeof fault === 'object' && fault !== null && 'stall' in fault
    const isTaken = fault === null || isStalled || TAKEN.has(fault)
    const tags = childrenOf(node).map(({ tag }) => tag)
    const message = {
      id,
      from: sender.phone.number,
      to,
      devices,
      tags,
      isTaken,
      at: performance.timeOrigin + performance.now(),
    }
    this.sent.push(message)
    this.onSent(message)
    const problem = isComplete ? {} : { phash: '2:simulated' }
    const acknowledge = (error: object) =>
      line.send({ tag: 'ack', attrs: { id, from: to, class: 'message', t: secondsNow(), ...error } })
    if (isStalled) {
      // The line continues meanwhile.
      void fault
        .stall()
        .then(() => this.#bring(sender, node, { sealed, isReadable: true }))
        .then(() => acknowledge(problem))
      return
    }
    if (isTaken) await this.#bring(sender, node, { sealed, isReadable: fault !== 'unreadable' })
    if (fault === 'drop-before' || fault === 'drop-after') return line.terminate()
    if (fault === 'take-silently' || fault === 'lose-silently') return
    const isRefused = typeof fault === 'object' && fault !== null
    // The client will fetch the keys of these devices again.
    if (isRefused && fault.refuse === WRONG_DEVICES)
      for (const jid of devices) this.#simulator.queries.forgetSession(sender, jid)
    acknowledge(fault === null || fault === 'unreadable' ? problem : { error: fault.refuse })
  }

  #faultFor(sender: string, node: BinaryNode): MessageFault | null {
    const recipient = this.#simulator.findPhone(node.attrs['to'] ?? '')?.number ?? ''
    const ofSender = this.#faults.get(sender)?.shift()
    const ofRecipient = ofSender ? undefined : this.#faultsOfRecipients.get(recipient)
    if (ofRecipient?.isOnce) this.#faultsOfRecipients.delete(recipient)
    const chosen = ofSender ?? ofRecipient?.fault
    if (chosen) return chosen
    const isLocked = (this.lockedUntil.get(sender)?.getTime() ?? 0) > Date.now()
    if (isLocked && !this.#acquainted.has(`${sender} ${recipient}`)) return { refuse: FIRST_CONTACT_LOCKED }
    return isForOneDevice(node) ? null : this.chooseFault()
  }

  async #bring(
    sender: Sender,
    { attrs: { id = '', type: stanzaType } }: BinaryNode,
    { sealed, isReadable }: { readonly sealed: readonly Sealed[]; readonly isReadable: boolean },
  ): Promise<void> {
    for (const { jid, enc } of sealed) {
      const phone = this.#simulator.findPhone(jid)
      // Further linked devices are not simulated. Senders must only encrypt for them.
      if (!phone || /:\d+@/.test(jid)) continue
      const user = jid.endsWith('@lid') ? sender.phone.lidUser : sender.phone.number
      const from = `${user}:${sender.device.id}@${jid.endsWith('@lid') ? 'lid' : SERVER}`
      const type = enc.attrs['type'] === 'pkmsg' ? 'pkmsg' : 'msg'
      const canRead = isReadable || phone === sender.phone
      const isRead = canRead && (await phone.receive(from, id, { type, bytes: bytesOf(enc) }))
      const file = isRead ? this.#read(phone, id, stanzaType) : null
      if (phone === sender.phone) continue
      if (isRead) this.onRead(phone, file)
      this.#acquainted.add(`${sender.phone.number} ${phone.number}`)
      const reported = { device: sender.device, sender: sender.phone, recipient: phone, id }
      if (isRead) this.receiptDesk.reportTaken(reported)
      else this.receiptDesk.reportUnreadable(reported)
    }
  }

  #read(phone: Phone, id: string, stanzaType: string | undefined): ReceivedFile | null {
    this.#compare(phone, id)
    return this.#openFile(phone, id, stanzaType)
  }

  /** An id must always stand for the same message, because phones show each id once. */
  #compare(phone: Phone, id: string): void {
    const [first, ...others] = phone.inbox.filter((received) => received.id === id)
    const last = others.at(-1)
    if (!first || !last) return
    if (Buffer.from(first.bytes).equals(last.bytes)) this.repeats.push(id)
    else this.#simulator.complain(`message ${id}: it came again with another content`)
  }

  #openFile(phone: Phone, id: string, stanzaType: string | undefined): ReceivedFile | null {
    const message = phone.inbox.at(-1)?.message
    if (!message) return null
    try {
      const file = openFile(message.deviceSentMessage?.message ?? message, (path) =>
        this.#simulator.media.download(path),
      )
      if (file) phone.files.push(file)
      if ((file !== null) !== (stanzaType === 'media')) throw new Error(`its stanza has the type ${stanzaType}`)
      return file
    } catch (error) {
      this.#simulator.complain(`message ${id}: ${error instanceof Error ? error.message : String(error)}`)
      return null
    }
  }

  /** Checks a message. False if devices are missing. */
  #check(sender: Sender, node: BinaryNode, devices: readonly string[]): boolean {
    const { id, to = '', type = '' } = node.attrs
    const complain = (problem: string) => this.#simulator.complain(`message ${id}: ${problem}`)
    if (!['text', 'media'].includes(type)) complain(`it has the type ${type}`)
    this.#checkIdentity(sender, node, complain)
    const recipient = this.#simulator.findPhone(to)
    if (!recipient) {
      complain('to a number that is not registered')
      return true
    }
    if (isForOneDevice(node)) return true
    const wanted = [...devicesOf(recipient), ...devicesOf(sender.phone).filter((of) => of !== nameOf(sender))]
    const named = new Set(devices.map((jid) => this.#simulator.nameOf(jid)))
    const missing = wanted.filter((device) => !named.has(device))
    if (missing.length > 0) complain(`it left out ${missing.length} of ${wanted.length} devices`)
    return missing.length === 0
  }

  #checkIdentity(sender: Sender, node: BinaryNode, complain: (problem: string) => void): void {
    if (!sealedOf(node).some(({ enc }) => enc.attrs['type'] === 'pkmsg')) return
    const identity = childOf(node, 'device-identity')
    if (!identity) {
      complain('its first contact has no device-identity')
      return
    }
    const { details, accountSignatureKey, accountSignature } =
      this.#simulator.library.proto.ADVSignedDeviceIdentity.decode(bytesOf(identity))
    const signed = Buffer.concat([Buffer.from([6, 0]), details, sender.device.identity])
    if (!accountSignatureKey || !isSignedBy(accountSignatureKey, signed, accountSignature))
      complain('its device-identity is not signed by the account')
  }
}

interface Sealed {
  readonly jid: string
  readonly enc: BinaryNode
}

/** Such a message answers a device that could not read the first one. */
function isForOneDevice(node: BinaryNode): boolean {
  return childOf(node, 'enc') !== undefined
}

/** The encrypted content for each device. */
function sealedOf(node: BinaryNode): readonly Sealed[] {
  const participants = childrenOf(childOf(node, 'participants'), 'to').flatMap((to) => {
    const enc = childOf(to, 'enc')
    return enc ? [{ jid: to.attrs['jid'] ?? '', enc }] : []
  })
  const own = childOf(node, 'enc')
  return own ? [...participants, { jid: node.attrs['to'] ?? '', enc: own }] : participants
}

function devicesOf(phone: Phone): readonly string[] {
  return [0, ...phone.devices.keys()].map((id) => `${phone.number}:${id}`)
}

function nameOf({ phone, device }: Sender): string {
  return `${phone.number}:${device.id}`
}
