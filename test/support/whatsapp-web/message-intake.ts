import { type BinaryNode, bigEndian, bytesOf, childOf, childrenOf, SERVER, secondsNow } from './binary-node.ts'
import type { Line } from './line.ts'
import type { LinkedDevice, Phone } from './phone.ts'
import type { Simulator } from './simulator.ts'
import { isSignedBy } from './xeddsa.ts'

/**
 * What happens to a message: `drop-before` ends the line before it is taken, `drop-after` once it is, `take-silently` takes it
 * without an ack, `lose-silently` does neither.
 */
type MessageFault = 'drop-before' | 'drop-after' | 'take-silently' | 'lose-silently' | { readonly refuse: string }

interface SentMessage {
  readonly id: string
  readonly to: string
  /** The devices that it was encrypted for. */
  readonly devices: readonly string[]
  readonly tags: readonly string[]
  /** Whether it reached the phones. */
  readonly isTaken: boolean
}

type Sender = NonNullable<Line['login']>

/** Takes messages, checks them, brings them to phones, and sends acks and receipts. */
export class MessageIntake {
  /** All that came, also what was not taken. */
  readonly sent: SentMessage[] = []
  /** The ids of messages that came again with the same content. */
  readonly repeats: string[] = []
  /** Called as soon as a message has come. */
  onMessage: () => void = () => {}
  receipts: 'none' | 'delivered' | 'read' = 'read'
  readonly #simulator: Simulator
  readonly #faults = new Map<string, MessageFault[]>()

  constructor(simulator: Simulator) {
    this.#simulator = simulator
  }

  /** For the next messages of a sender, one each. */
  failNext(number: string, ...faults: readonly MessageFault[]): void {
    this.#faults.set(number, [...(this.#faults.get(number) ?? []), ...faults])
  }

  async take(line: Line, node: BinaryNode): Promise<void> {
    this.onMessage()
    const sender = line.login
    if (!sender) return this.#simulator.complain('a message came without a login')
    const { id = '', to = '' } = node.attrs
    const sealed = sealedOf(node)
    const devices = sealed.map(({ jid }) => jid)
    const isComplete = this.#check(sender, node, devices)
    const fault = this.#faults.get(sender.phone.number)?.shift() ?? null
    const isTaken = fault === null || fault === 'drop-after' || fault === 'take-silently'
    this.sent.push({ id, to, devices, tags: childrenOf(node).map(({ tag }) => tag), isTaken })
    if (isTaken) await this.#bring(sender, id, sealed)
    if (fault === 'drop-before' || fault === 'drop-after') return line.terminate()
    if (fault === 'take-silently' || fault === 'lose-silently') return
    const problem = fault ? { error: fault.refuse } : isComplete ? {} : { phash: '2:simulated' }
    line.send({ tag: 'ack', attrs: { id, from: to, class: 'message', t: secondsNow(), ...problem } })
  }

  async #bring(sender: Sender, id: string, sealed: readonly Sealed[]): Promise<void> {
    for (const { jid, enc } of sealed) {
      const phone = this.#simulator.findPhone(jid)
      // Other linked devices are not simulated: they only have to be thought of.
      if (!phone || /:\d+@/.test(jid)) continue
      const user = jid.endsWith('@lid') ? sender.phone.lidUser : sender.phone.number
      const from = `${user}:${sender.device.id}@${jid.endsWith('@lid') ? 'lid' : SERVER}`
      const type = enc.attrs['type'] === 'pkmsg' ? 'pkmsg' : 'msg'
      const isRead = await phone.receive(from, id, { type, bytes: bytesOf(enc) })
      if (isRead) this.#compare(phone, id)
      if (phone !== sender.phone) this.#report(sender.device, phone, { id, isRead })
    }
  }

  /** The same id must stand for the same message for ever, because phones show it once. */
  #compare(phone: Phone, id: string): void {
    const [first, ...others] = phone.inbox.filter((received) => received.id === id)
    const last = others.at(-1)
    if (!first || !last) return
    if (Buffer.from(first.bytes).equals(last.bytes)) this.repeats.push(id)
    else this.#simulator.complain(`message ${id}: it came again with another content`)
  }

  #report(device: LinkedDevice, phone: Phone, { id, isRead }: { id: string; isRead: boolean }): void {
    const attrs = { from: isRead ? phone.lid : phone.jid, id, t: secondsNow() }
    if (!isRead) {
      const retry = { tag: 'retry', attrs: { count: '1', id, t: secondsNow(), v: '1' } }
      const registration = { tag: 'registration', attrs: {}, content: bigEndian(phone.registrationId, 4) }
      const content = [retry, registration]
      this.#simulator.push(device, { tag: 'receipt', attrs: { ...attrs, type: 'retry' }, content })
      return
    }
    if (this.receipts === 'none') return
    this.#simulator.push(device, { tag: 'receipt', attrs })
    if (this.receipts === 'read') this.#simulator.push(device, { tag: 'receipt', attrs: { ...attrs, type: 'read' } })
  }

  /** False when devices were left out. */
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
    // The answer to a retry is for one device.
    if (childOf(node, 'enc')) return true
    const wanted = [...devicesOf(recipient), ...devicesOf(sender.phone).filter((of) => of !== nameOf(sender))]
    const named = new Set(devices.map((jid) => this.#plainName(jid)))
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

  #plainName(jid: string): string {
    const id = /:(\d+)@/.exec(jid)?.[1] ?? '0'
    return `${this.#simulator.findPhone(jid)?.number ?? jid}:${id}`
  }
}

interface Sealed {
  readonly jid: string
  readonly enc: BinaryNode
}

/** What the message holds for each device. */
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
