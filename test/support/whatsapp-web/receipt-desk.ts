import { type BinaryNode, bigEndian, element, secondsNow } from './binary-node.ts'
import type { LinkedDevice, Phone } from './phone.ts'

/** `sender`: the sender's own phone has the message. `read`: reported as delivered, and then as read. */
export type ReceiptLevel = 'none' | 'sender' | 'delivered' | 'read'

interface ReceiptManner {
  /** It comes once what this returns is fulfilled; null: at once. */
  readonly delay: (() => Promise<unknown>) | null
  readonly isTwice: boolean
  /** How many messages one receipt reports. It is sent when that many have been collected. */
  readonly perReceipt: number
  readonly isByLid: boolean
  /** True: this receipt comes only at the next login. */
  readonly isHeldBack: () => boolean
}

/** A message about which a receipt is sent. */
interface Reported {
  /** The device that sent it. */
  readonly device: LinkedDevice
  readonly sender: Phone
  readonly recipient: Phone
  readonly id: string
}

type Kind = 'sender' | 'delivered' | 'read'

const KINDS: Readonly<Record<ReceiptLevel, readonly Kind[]>> = {
  none: [],
  sender: ['sender'],
  delivered: ['delivered'],
  read: ['delivered', 'read'],
}

const PLAIN: ReceiptManner = { delay: null, isTwice: false, perReceipt: 1, isByLid: true, isHeldBack: () => false }

/** Reports to devices what became of their messages. */
export class ReceiptDesk {
  level: ReceiptLevel = 'read'
  readonly #push: (device: LinkedDevice, node: BinaryNode, isHeldBack: boolean) => void
  readonly #collected = new Map<string, string[]>()
  #manner = PLAIN

  constructor(push: (device: LinkedDevice, node: BinaryNode, isHeldBack: boolean) => void) {
    this.#push = push
  }

  /** Sets how receipts come from now on. What is left out returns to its default. */
  behave(manner: Partial<ReceiptManner>): void {
    this.#manner = { ...PLAIN, ...manner }
  }

  reportTaken(reported: Reported): void {
    for (const kind of KINDS[this.level]) this.#collect(kind, reported)
  }

  reportUnreadable({ device, recipient, id }: Reported): void {
    const content = [
      { tag: 'retry', attrs: { count: '1', id, t: secondsNow(), v: '1' } },
      element('registration', bigEndian(recipient.registrationId, 4)),
    ]
    const attrs = { from: recipient.jid, id, t: secondsNow(), type: 'retry' }
    this.#push(device, { tag: 'receipt', attrs, content }, false)
  }

  #collect(kind: Kind, reported: Reported): void {
    const key = `${reported.sender.number}:${reported.device.id} ${reported.recipient.number} ${kind}`
    const ids = [...(this.#collected.get(key) ?? []), reported.id]
    const isWhole = ids.length >= this.#manner.perReceipt
    this.#collected.set(key, isWhole ? [] : ids)
    if (isWhole) this.#send(reported.device, this.#receiptOf(kind, reported, ids))
  }

  #receiptOf(kind: Kind, { sender, recipient }: Reported, [id = '', ...others]: readonly string[]): BinaryNode {
    const { isByLid } = this.#manner
    const nameOf = (phone: Phone) => (isByLid ? phone.lid : phone.jid)
    const attrs = {
      id,
      t: secondsNow(),
      from: nameOf(kind === 'sender' ? sender : recipient),
      ...(kind === 'delivered' ? {} : { type: kind }),
      ...(kind === 'sender' ? { recipient: nameOf(recipient) } : {}),
    }
    const items = others.map((other) => ({ tag: 'item', attrs: { id: other } }))
    return { tag: 'receipt', attrs, ...(items.length > 0 ? { content: [element('list', items)] } : {}) }
  }

  #send(device: LinkedDevice, node: BinaryNode): void {
    const { delay, isTwice, isHeldBack } = this.#manner
    const push = () => {
      for (let times = isTwice ? 2 : 1; times > 0; times -= 1) this.#push(device, node, isHeldBack())
    }
    if (delay === null) push()
    else void delay().then(push)
  }
}
