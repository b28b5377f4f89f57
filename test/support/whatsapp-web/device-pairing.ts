import { randomBytes } from 'node:crypto'
import { type BinaryNode, bytesOf, childOf, element, errorOf, resultOf, SERVER, secondsNow } from './binary-node.ts'
import type { ClientPayload, PairingData } from './library.ts'
import type { Line, WaitingDevice } from './line.ts'
import type { Phone } from './phone.ts'
import type { Simulator } from './simulator.ts'
import { isSignedBy } from './xeddsa.ts'

const CODES = 6
const LINK = 'https://wa.me/settings/linked_devices#'
const KEY_TYPE = Buffer.from([5])
// The browsers and systems that a phone knows. It accepts no code from others.
const PLATFORM = /^(?:Chrome|Edge|Firefox|Opera|Safari) \((?:Mac OS|Ubuntu|Windows)\)$/

/** A code that a device asked for, to be typed into the phone. */
interface CodeRequest {
  readonly number: string
  readonly ref: string
  readonly line: Line
  readonly wrapped: Buffer
  readBundle?: (bundle: Buffer, identity: Buffer) => Buffer | null
}

/** Links devices to phones, by a QR code or by a code that is typed. */
export class DevicePairing {
  /** The server refuses to give out a code. */
  isCodeRefused = false
  /** The first code that a device shows cannot be scanned. The device is notified, and must show a code with another secret. */
  needsNewSecret = false
  /** Called when a phone notices that the typed code is not the one that the device shows. The owner may type again. */
  onMistyped: () => void = () => {}
  /** Called when a phone has accepted a device, which must then sign. */
  onAccept: () => void = () => {}
  /** Called when a device has been linked. */
  onFinish: (phone: Phone, deviceId: number) => void = () => {}
  readonly #simulator: Simulator
  readonly #codeRequests: CodeRequest[] = []

  constructor(simulator: Simulator) {
    this.#simulator = simulator
  }

  /** Offers codes to a device that connects without a login. */
  begin(line: Line, noise: Buffer, { devicePairingData }: ClientPayload): void {
    if (!devicePairingData) {
      this.#simulator.complain('a login names neither a device nor what to link')
      return
    }
    this.#checkKeys(devicePairingData)
    const refs = Array.from({ length: CODES }, () => `2@${randomBytes(24).toString('base64')}`)
    const { eRegid, eIdent, eSkeyId, eSkeyVal, eSkeySig } = devicePairingData
    line.waiting = { eRegid, eIdent, eSkeyId, eSkeyVal, eSkeySig, noise, refs }
    line.send({
      tag: 'iq',
      attrs: { from: SERVER, type: 'set', id: this.#simulator.nextId(), xmlns: 'md' },
      content: [
        element(
          'pair-device',
          refs.map((ref) => element('ref', Buffer.from(ref))),
        ),
      ],
    })
  }

  /** The owner of a number scans the code that a device shows. */
  scan(number: string, qr: string): void {
    if (!qr.startsWith(LINK)) throw new Error('the code does not begin with the link')
    const [ref = '', noise = '', identity = '', advSecret = ''] = qr.slice(LINK.length).split(',')
    const line = [...this.#simulator.lines].find(({ waiting }) => waiting?.refs.includes(ref))
    if (!line?.waiting) throw new Error('no device shows this code any more')
    if (!Buffer.from(noise, 'base64').equals(line.waiting.noise)) throw new Error('the code names another noise key')
    if (!Buffer.from(identity, 'base64').equals(line.waiting.eIdent)) throw new Error('the code names another identity')
    if (this.needsNewSecret && [undefined, advSecret].includes(line.waiting.refusedSecret)) {
      line.waiting.refusedSecret = advSecret
      if (!line.waiting.refresh) this.#notifyOfRefresh(line)
      throw new Error('the phone could not link the device: its code holds a secret that is not valid any more')
    }
    this.#accept(line, this.#simulator.phone(number), Buffer.from(advSecret, 'base64'))
  }

  /** The owner of a number types the code that a device asked for. */
  typeCode(number: string, code: string): void {
    const request = this.#codeRequestFor(number)
    const phone = this.#simulator.phone(number)
    const { wrappedEphemeral, readBundle } = phone.answerCode(code, request.wrapped)
    request.readBundle = readBundle
    this.#hello(request, [
      element('link_code_pairing_wrapped_primary_ephemeral_pub', wrappedEphemeral),
      element('primary_identity_pub', phone.identity),
      element('link_code_pairing_ref', Buffer.from(request.ref)),
    ])
  }

  /** The owner of a number opens the page for typing a code on the phone, and has not typed anything yet. */
  openCodePage(number: string): void {
    const request = this.#codeRequestFor(number)
    this.#hello(request, [element('link_code_pairing_ref', Buffer.from(request.ref))])
  }

  #codeRequestFor(number: string): CodeRequest {
    const request = this.#codeRequests.findLast((asked) => asked.number === number)
    if (!request) throw new Error(`no device asked for a code for ${number}`)
    return request
  }

  #hello({ line }: CodeRequest, content: readonly BinaryNode[]): void {
    const hello = { tag: 'link_code_companion_reg', attrs: { stage: 'primary_hello' }, content }
    line.send(notification('link_code_companion_reg', this.#simulator.nextId(), hello))
  }

  /** Notifies the device that shows a code that its secret is no longer valid. */
  refreshSecret(): void {
    const line = [...this.#simulator.lines].find(({ waiting }) => waiting !== null)
    if (line) this.#notifyOfRefresh(line)
  }

  /** Takes an ack from a device that is not linked yet. */
  acknowledge({ waiting }: Line, { id, type }: BinaryNode['attrs']): void {
    if (waiting?.refresh && waiting.refresh.id === id && type === 'companion_reg_refresh')
      waiting.refresh.isAcknowledged = true
  }

  answerCodeRequest(line: Line, query: BinaryNode): void {
    const asked = childOf(query, 'link_code_companion_reg')
    if (asked?.attrs['stage'] !== 'companion_hello') {
      this.#finishCode(line, query, asked)
      return
    }
    if (this.isCodeRefused || !PLATFORM.test(bytesOf(childOf(asked, 'companion_platform_display')).toString())) {
      line.send(errorOf(query, '400', 'bad-request'))
      return
    }
    if (!bytesOf(childOf(asked, 'companion_server_auth_key_pub')).equals(line.waiting?.noise ?? Buffer.alloc(0)))
      this.#simulator.complain('a code was asked for with another noise key')
    const [number = ''] = (asked.attrs['jid'] ?? '').split('@')
    const ref = randomBytes(16).toString('hex')
    const wrapped = bytesOf(childOf(asked, 'link_code_pairing_wrapped_companion_ephemeral_pub'))
    this.#codeRequests.push({ number, ref, line, wrapped })
    const answer = element('link_code_companion_reg', [element('link_code_pairing_ref', Buffer.from(ref))])
    line.send(resultOf(query, [answer]))
  }

  /** The device refuses to sign, so it is not linked. */
  refuse(line: Line): void {
    delete line.waiting?.accepted
    line.terminate()
  }

  /** The device has signed, so it is linked and must log in again. */
  finish(line: Line, result: BinaryNode): void {
    const { waiting } = line
    const accepted = waiting?.accepted
    if (!waiting || !accepted) {
      this.#simulator.complain('a device signed that no phone had accepted')
      return
    }
    if (waiting.refresh && !waiting.refresh.isAcknowledged)
      this.#simulator.complain('the device did not acknowledge that its secret is not valid any more')
    const { phone, id, details } = accepted
    const identity = childOf(childOf(result, 'pair-device-sign'), 'device-identity')
    const { deviceSignature, accountSignatureKey } = this.#simulator.library.proto.ADVSignedDeviceIdentity.decode(
      bytesOf(identity),
    )
    const signed = Buffer.concat([Buffer.from([6, 1]), details, waiting.eIdent, phone.identity])
    if (!deviceSignature || !isSignedBy(waiting.eIdent, signed, deviceSignature))
      this.#simulator.complain('the signature of the device is wrong')
    if (accountSignatureKey?.length) this.#simulator.complain('the device sent the key of the account back')
    if (identity?.attrs['key-index'] !== String(id)) this.#simulator.complain('the device names another key index')
    phone.devices.set(id, {
      id,
      noise: waiting.noise,
      identity: Buffer.from(waiting.eIdent),
      registrationId: Buffer.from(waiting.eRegid).readUInt32BE(),
      signedPreKey: null,
      preKeys: [],
      preKeyIds: new Set(),
      unacknowledged: [],
    })
    this.onFinish(phone, id)
    line.endWith({ tag: 'stream:error', attrs: { code: '515' } })
  }

  #notifyOfRefresh(line: Line): void {
    const id = this.#simulator.nextId()
    if (line.waiting) line.waiting.refresh = { id, isAcknowledged: false }
    line.send(notification('companion_reg_refresh', id, element('companion_reg_refresh')))
  }

  #finishCode(line: Line, query: BinaryNode, answer: BinaryNode | undefined): void {
    const ref = bytesOf(childOf(answer, 'link_code_pairing_ref')).toString()
    const request = this.#codeRequests.find((asked) => asked.ref === ref)
    if (!request?.readBundle) {
      this.#simulator.complain('a code was answered that no phone had typed')
      return
    }
    const identity = bytesOf(childOf(answer, 'companion_identity_public'))
    if (!identity.equals(line.waiting?.eIdent ?? Buffer.alloc(0)))
      this.#simulator.complain('a code was answered with another identity')
    const bundle = bytesOf(childOf(answer, 'link_code_pairing_wrapped_key_bundle'))
    line.send(resultOf(query))
    const advSecret = request.readBundle(bundle, identity)
    if (advSecret) this.#accept(line, this.#simulator.phone(request.number), advSecret)
    else this.onMistyped()
  }

  #accept(line: Line, phone: Phone, advSecret: Buffer): void {
    const waiting = line.waiting as WaitingDevice
    const { id, details, blob } = phone.acceptDevice(waiting.eIdent, advSecret)
    waiting.accepted = { phone, id, details }
    line.send({
      tag: 'iq',
      attrs: { from: SERVER, type: 'set', id: this.#simulator.nextId() },
      content: [
        element('pair-success', [
          element('device-identity', blob),
          { tag: 'device', attrs: { jid: `${phone.number}:${id}@${SERVER}`, lid: `${phone.lidUser}:${id}@lid` } },
          { tag: 'platform', attrs: { name: 'android' } },
        ]),
      ],
    })
    this.onAccept()
  }

  #checkKeys({ eIdent, eSkeyVal, eSkeySig }: PairingData): void {
    if (!isSignedBy(eIdent, Buffer.concat([KEY_TYPE, eSkeyVal]), eSkeySig))
      this.#simulator.complain('the signed key of a new device has a wrong signature')
  }
}

function notification(type: string, id: string, child: BinaryNode): BinaryNode {
  return { tag: 'notification', attrs: { from: SERVER, type, id, t: secondsNow() }, content: [child] }
}
