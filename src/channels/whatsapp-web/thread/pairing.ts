import { randomBytes } from 'node:crypto'
import { isSameNumber } from '../../../core/number-spellings.ts'
import type { ConnectionUpdate, Credentials, LibrarySocket, StanzaNode } from './library.ts'
import type { PairingChange, PairingOptions } from './messages.ts'

const SERVER = 's.whatsapp.net'
const ACCEPTED_EVENT = 'CB:iq,,pair-success'
const FIRST_QR_LASTS_MS = 60_000
const QR_LASTS_MS = 20_000
/** How long a code that is typed can be used. */
export const CODE_LASTS_MS = 180_000
const SECRET_BYTES = 32
/** Where the secret stands in the text of a QR code, whose parts commas separate. */
const SECRET_PART = 3

interface PairingParts {
  readonly socket: LibrarySocket
  readonly credentials: Credentials
  readonly report: (change: PairingChange) => void
}

/** Links a device to a phone: shows codes until the phone has used one, and signs only for the right number. */
export class Pairing {
  readonly #parts: PairingParts
  readonly #options: PairingOptions
  #codes = 0
  #shown = 0
  /** The text of the QR code that is shown. */
  #qr: string | null = null
  #shownAt = 0
  /** A code was asked for, and WhatsApp has not answered. */
  #isAsked = false

  constructor(parts: PairingParts, options: PairingOptions) {
    this.#parts = parts
    this.#options = options
    const { ws, ev } = parts.socket
    ws.on('CB:iq,type:set,pair-device', (node) => {
      this.#codes = childrenOf(childOf(node, 'pair-device'), 'ref').length
    })
    ev.on('connection.update', (update) => this.#follow(update))
    ws.on('CB:notification', (node) => this.#notified(node))
    ws.on('CB:iq,type:result,link_code_companion_reg', () => this.#showCode())
    ws.on('CB:iq,type:error', (node) => this.#refused(node))
    const theirs = ws.listeners(ACCEPTED_EVENT)
    for (const listener of theirs) ws.off(ACCEPTED_EVENT, listener)
    ws.on(ACCEPTED_EVENT, (node) => {
      if (this.#isRightPhone(node)) for (const listener of theirs) listener(node)
    })
  }

  #follow({ qr }: ConnectionUpdate): void {
    if (qr === undefined) return
    this.#shown += 1
    if (!this.#options.byCode) {
      this.#qr = qr
      this.#shownAt = Date.now()
      this.#showQr()
    } else if (this.#shown === 1) this.#requestCode()
  }

  #showQr(): void {
    if (this.#qr === null) return
    const validMs = this.#shown === 1 ? FIRST_QR_LASTS_MS : QR_LASTS_MS
    const left = Math.max(0, this.#shownAt + validMs - Date.now())
    // The library goes on with the secret that it began with.
    const text = this.#qr.split(',').with(SECRET_PART, this.#parts.credentials.advSecretKey).join(',')
    this.#parts.report({ kind: 'code', text, number: this.#shown, of: this.#codes, validMs: left })
  }

  #requestCode(): void {
    this.#isAsked = true
    // When the line has ended, that is reported.
    this.#parts.socket.requestPairingCode(this.#options.number).catch(() => {})
  }

  /** WhatsApp has taken the code. The library gives it out before that, and a refused one is the same. */
  #showCode(): void {
    const text = this.#parts.credentials.pairingCode
    // The answer to what the typed code has begun has the same form.
    if (!this.#isAsked || text === undefined) return
    this.#isAsked = false
    this.#parts.report({ kind: 'code', text, number: 1, of: 1, validMs: CODE_LASTS_MS })
  }

  #refused(node: StanzaNode): void {
    if (!this.#isAsked) return
    this.#isAsked = false
    this.#parts.report({ kind: 'code-refused', code: childOf(node, 'error')?.attrs['code'] ?? '' })
  }

  #notified(node: StanzaNode): void {
    const { type } = node.attrs
    if (type === 'companion_reg_refresh' || childOf(node, 'pair-device-rotate-qr')) this.#renewSecret(node)
  }

  /** The phone refuses the secret of the codes so far. The library neither acknowledges that nor makes another one. */
  #renewSecret({ attrs }: StanzaNode): void {
    const { socket, credentials } = this.#parts
    credentials.advSecretKey = randomBytes(SECRET_BYTES).toString('base64')
    this.#showQr()
    const ack = { id: attrs['id'], to: SERVER, class: 'notification', type: attrs['type'] }
    void socket.sendNode({ tag: 'ack', attrs: ack }).catch(() => {})
  }

  /**
   * The phone asks this device to sign. Until then nothing is linked, and a code that was typed stays shown: only the phone finds
   * out that it was mistyped, and lets it be typed again.
   */
  #isRightPhone(node: StanzaNode): boolean {
    const { report } = this.#parts
    const jid = childOf(childOf(node, 'pair-success'), 'device')?.attrs['jid'] ?? ''
    const [number = ''] = jid.split(/[:@]/)
    const isRight = isSameNumber(number, this.#options.number)
    if (isRight) report({ kind: 'confirmed' })
    else void this.#refuse(node).then(() => report({ kind: 'other-number', lastDigits: number.slice(-2) }))
    return isRight
  }

  /** So that the phone need not wait. It resolves also when the line has ended. */
  async #refuse({ attrs }: StanzaNode): Promise<void> {
    const content = [{ tag: 'error', attrs: { code: '500', text: 'internal-server-error' } }]
    const answer = { tag: 'iq', attrs: { to: SERVER, type: 'error', id: attrs['id'] }, content }
    await this.#parts.socket.sendNode(answer).catch(() => {})
  }
}

function childrenOf(node: StanzaNode | undefined, tag: string): readonly StanzaNode[] {
  return Array.isArray(node?.content)
    ? (node.content as readonly StanzaNode[]).filter((child) => child.tag === tag)
    : []
}

function childOf(node: StanzaNode | undefined, tag: string): StanzaNode | undefined {
  return childrenOf(node, tag)[0]
}
