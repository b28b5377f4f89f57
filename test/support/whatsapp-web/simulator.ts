import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type BinaryNode, childrenOf, element, secondsNow } from './binary-node.ts'
import { deviceNotification, newCompanion, tokenNotification } from './companion.ts'
import { DevicePairing } from './device-pairing.ts'
import {
  type ClientPayload,
  loadLibrary,
  loadWebSockets,
  type WebSocketServer,
  type WhatsAppLibrary,
} from './library.ts'
import { Line } from './line.ts'
import { MediaServer } from './media-server.ts'
import { MessageIntake } from './message-intake.ts'
import { newKeyPair } from './noise-responder.ts'
import { type LinkedDevice, Phone } from './phone.ts'
import { QueryDesk } from './query-desk.ts'

interface SimulatorParts {
  readonly http: Server
  readonly pages: string[]
  readonly webSockets: WebSocketServer
  readonly media: MediaServer
  /** All complaints, including those of its parts. */
  readonly complaints: string[]
}

/**
 * Simulates WhatsApp's server on loopback, as the library expects it. It checks everything it receives. Faults of a client and
 * unknown stanzas are added to `complaints`, and each test must end without any. It was never compared with the real server.
 */
export class Simulator {
  readonly library: WhatsAppLibrary
  readonly phones = new Map<string, Phone>()
  readonly lines = new Set<Line>()
  readonly complaints: string[]
  readonly media: MediaServer
  /** What clients requested: tag, namespace, type and first child of each stanza. */
  readonly requests: string[] = []
  readonly pairing = new DevicePairing(this)
  readonly messages = new MessageIntake(this)
  readonly queries = new QueryDesk(this)
  /** Logins of these numbers fail with this reason. */
  readonly refusedLogins = new Map<string, string>()
  /** Logins of clients with an older revision fail with reason 405. */
  leastRevision = 0
  /** The revision of the last login. */
  lastRevision = 0
  /** The revision that the page of WhatsApp Web names; null: there is no page. */
  namedRevision: number | null = null
  /** The paths that were requested over HTTP. */
  readonly pages: readonly string[]
  /** The numbers of devices that logged in while another line of theirs was open. */
  readonly secondLogins: string[] = []
  /** Called when a device has logged in. */
  onLogin: () => void = () => {}
  isCertificateForged = false
  /** True: every number is on WhatsApp, except those in `unregistered`. */
  isEveryoneRegistered = false
  readonly unregistered = new Set<string>()
  readonly rootKey = newKeyPair()
  readonly #intermediateKey = newKeyPair()
  readonly #staticKey = newKeyPair()
  readonly #http: Server
  readonly #webSockets: WebSocketServer
  #lastId = 0

  static async start({ port = 0 }: { readonly port?: number } = {}): Promise<Simulator> {
    const [library, { WebSocketServer }] = await Promise.all([loadLibrary(), loadWebSockets()])
    const http = createServer((request, response) => {
      pages.push(`${request.method} ${request.url}`)
      const isFound = request.url === '/sw.js' && simulator.namedRevision !== null
      response.writeHead(isFound ? 200 : 404).end(isFound ? `"client_revision":${simulator.namedRevision}` : '')
    })
    http.listen(port, '127.0.0.1')
    await once(http, 'listening')
    const complaints: string[] = []
    const pages: string[] = []
    const simulator = new Simulator(library, {
      http,
      pages,
      webSockets: new WebSocketServer({ server: http, path: '/ws/chat' }),
      media: await MediaServer.start((problem) => complaints.push(problem)),
      complaints,
    })
    return simulator
  }

  private constructor(library: WhatsAppLibrary, { http, webSockets, media, complaints, pages }: SimulatorParts) {
    this.pages = pages
    this.library = library
    this.media = media
    this.complaints = complaints
    this.#http = http
    this.#webSockets = webSockets
    webSockets.on('connection', (socket) => {
      const line = new Line({
        library,
        socket,
        staticKey: this.#staticKey,
        certificate: () => this.#certificate(),
        onLogin: (opened, clientStatic, payload) => this.#logIn(opened, clientStatic, payload),
        onNode: (opened, node) => this.#read(opened, node),
        onBroken: (opened, error) => {
          this.complain(`a line broke: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
          opened.terminate()
        },
      })
      this.lines.add(line)
      socket.on('close', () => this.lines.delete(line))
      socket.on('error', () => {})
    })
  }

  get url(): string {
    return `ws://127.0.0.1:${(this.#http.address() as AddressInfo).port}/ws/chat`
  }

  async close(): Promise<void> {
    for (const socket of this.#webSockets.clients) socket.terminate()
    this.#webSockets.close()
    this.#http.close()
    this.#http.closeAllConnections()
    this.media.close()
  }

  complain(problem: string): void {
    this.complaints.push(problem)
  }

  /** Returns and clears the complaints so far. */
  takeComplaints(): readonly string[] {
    return this.complaints.splice(0)
  }

  nextId(): string {
    this.#lastId += 1
    return `s${this.#lastId}`
  }

  /** The phone of a number. Registers the number if needed. */
  phone(number: string): Phone {
    const known = this.phones.get(number)
    if (known) return known
    const phone = new Phone(this.library, number)
    this.phones.set(number, phone)
    return phone
  }

  findPhone(jid: string): Phone | undefined {
    const [user = ''] = jid.split(/[@:]/)
    return jid.endsWith('@lid')
      ? [...this.phones.values()].find(({ lidUser }) => lidUser === user)
      : (this.phones.get(user) ?? this.#register(user))
  }

  /** The name of a device, the same for each of its addresses: its number and id. */
  nameOf(jid: string): string {
    const id = /:(\d+)@/.exec(jid)?.[1] ?? '0'
    return `${this.findPhone(jid)?.number ?? jid}:${id}`
  }

  #register(number: string): Phone | undefined {
    return this.isEveryoneRegistered && !this.unregistered.has(number) ? this.phone(number) : undefined
  }

  /** The line on which a number is logged in. */
  lineOf(number: string): Line | undefined {
    return [...this.lines].find(({ login }) => login?.phone.number === number)
  }

  /** Unlinks all devices of a number, as its owner does on the phone. */
  unlink(number: string): void {
    this.phone(number).devices.clear()
    for (const line of this.lines)
      if (line.login?.phone.number === number)
        line.endWith({
          tag: 'stream:error',
          attrs: { code: '401' },
          content: [{ tag: 'conflict', attrs: { type: 'device_removed' } }],
        })
  }

  /** Ends the line of a number with a stream error. */
  breakLine(number: string, code: string): void {
    this.lineOf(number)?.endWith({ tag: 'stream:error', attrs: { code } })
  }

  /** The owner of a number links one more device, or unlinks one; clients are notified. */
  addDevice(number: string): number {
    const phone = this.phone(number)
    const device = newCompanion(this.library, phone.nextDeviceId())
    phone.devices.set(device.id, device)
    this.#notifyOfDevice('add', phone, { deviceId: device.id })
    return device.id
  }

  removeDevice(number: string, id: number, { isByLid = false } = {}): void {
    const phone = this.phone(number)
    phone.devices.delete(id)
    this.#notifyOfDevice('remove', phone, { deviceId: id, isByLid })
  }

  /** A person who has written to a number gives it the token with which it may write back. */
  giveToken(from: string, number: string): void {
    const { jid } = this.phone(from)
    for (const device of this.phone(number).devices.values())
      this.push(device, tokenNotification(jid, { id: this.nextId(), token: randomBytes(16) }))
  }

  /** Sends a node to a device, now or when it connects again. */
  push(device: LinkedDevice, node: BinaryNode): void {
    this.keep(device, node)
    for (const line of this.lines) if (line.login?.device === device) line.send(node)
  }

  /** Sends a node to a device at its next login. */
  keep(device: LinkedDevice, node: BinaryNode): void {
    device.unacknowledged.push(node)
  }

  #notifyOfDevice(
    change: 'add' | 'remove',
    phone: Phone,
    changed: { readonly deviceId: number; readonly isByLid?: boolean },
  ): void {
    for (const { devices } of this.phones.values())
      for (const device of devices.values())
        this.push(device, deviceNotification(change, phone, { ...changed, id: this.nextId() }))
  }

  #certificate(): Uint8Array {
    const { CertChain } = this.library.proto
    const { Details } = CertChain.NoiseCertificate
    const intermediate = Details.encode({ serial: 1, issuerSerial: 0, key: this.#intermediateKey.public }).finish()
    const leaf = Details.encode({ serial: 2, issuerSerial: 1, key: this.#staticKey.public }).finish()
    const sign = (key: Buffer, details: Uint8Array) =>
      this.isCertificateForged ? randomBytes(64) : this.library.Curve.sign(key, details)
    return CertChain.encode({
      intermediate: { details: intermediate, signature: sign(this.rootKey.private, intermediate) },
      leaf: { details: leaf, signature: sign(this.#intermediateKey.private, leaf) },
    }).finish()
  }

  #logIn(line: Line, clientStatic: Buffer, payload: ClientPayload): void {
    this.lastRevision = payload.userAgent?.appVersion?.tertiary ?? 0
    const isTooOld = this.lastRevision < this.leastRevision
    if (!payload.username && !isTooOld) {
      this.pairing.begin(line, clientStatic, payload)
      return
    }
    const number = String(payload.username)
    const phone = this.phones.get(number)
    const device = phone?.devices.get(payload.device ?? 0)
    const isKnown = device?.noise.equals(clientStatic) ?? false
    const reason = this.refusedLogins.get(number) ?? (isTooOld ? '405' : isKnown ? null : '401')
    if (reason !== null || !phone || !device) {
      line.endWith({ tag: 'failure', attrs: { reason: reason ?? '401', location: 'sim' } })
      return
    }
    for (const other of this.lines) {
      if (other.login?.device !== device) continue
      this.secondLogins.push(number)
      replace(other)
    }
    line.login = { phone, device }
    line.send({ tag: 'success', attrs: { t: secondsNow(), lid: `${phone.lidUser}:${device.id}@lid`, location: 'sim' } })
    this.onLogin()
  }

  async #read(line: Line, node: BinaryNode): Promise<void> {
    const { xmlns, type } = node.attrs
    const [first] = childrenOf(node)
    this.requests.push([node.tag, xmlns, type, first && `<${first.tag}>`].filter(Boolean).join(' '))
    // Stanzas that were under way when the line was replaced may still arrive.
    if (line.isReplaced && node.tag !== 'message') return
    switch (node.tag) {
      case 'iq':
        return this.queries.answer(line, node)
      case 'message':
        return this.messages.take(line, node)
      case 'ack':
        return this.#acknowledge(line, node)
      case 'ib':
      case 'presence':
      case 'receipt':
      case 'chatstate':
        return
      default:
        this.complain(`the stanza ${node.tag} is not known`)
        line.send({ tag: 'stream:error', attrs: { code: '501' }, content: [element('not-acceptable')] })
    }
  }

  #acknowledge(line: Line, { attrs }: BinaryNode): void {
    const device = line.login?.device
    if (!device) {
      this.pairing.acknowledge(line, attrs)
      return
    }
    const isMeant = (node: BinaryNode) =>
      node.tag === attrs['class'] && ['id', 'type'].every((name) => node.attrs[name] === attrs[name])
    // Remove only one: the receipts of a repeated message have the same id and type.
    const index = device.unacknowledged.findIndex(isMeant)
    if (index >= 0) device.unacknowledged.splice(index, 1)
    else this.complain(`an ack of ${attrs['class']} ${attrs['id']}, which was not sent or is acknowledged already`)
  }
}

function replace(line: Line): void {
  line.login = null
  line.isReplaced = true
  line.endWith({ tag: 'stream:error', attrs: {}, content: [{ tag: 'conflict', attrs: { type: 'replaced' } }] })
}
