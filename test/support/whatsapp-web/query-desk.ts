import {
  type BinaryNode,
  bigEndian,
  bytesOf,
  childOf,
  childrenOf,
  element,
  errorOf,
  numberOf,
  resultOf,
  SERVER,
  secondsNow,
} from './binary-node.ts'
import type { Line } from './line.ts'
import type { LinkedDevice, Phone } from './phone.ts'
import type { Simulator } from './simulator.ts'
import { isSignedBy } from './xeddsa.ts'

const KEY_TYPE = Buffer.from([5])
const NO_KEYS: readonly BinaryNode[] = [{ tag: 'error', attrs: { code: '406', text: 'not-acceptable' } }]

type Answer = (line: Line, query: BinaryNode, device: LinkedDevice) => void | Promise<void>

/** Answers the queries of clients. It refuses unknown queries and complains about them. */
export class QueryDesk {
  /** Queries with these words get no answer. Examples: `usync`, `encrypt key`. */
  readonly muted = new Set<string>()
  /** The number of one-time keys that the server reports; null: the true number. */
  preKeyCount: number | null = null
  readonly #simulator: Simulator
  /**
   * For each pair of asking device and asked device: the line on which keys were given. Null once a message encrypted with them
   * came.
   */
  readonly #given = new Map<string, Line | null>()
  readonly #issued = new Set<string>()
  readonly #answers: Readonly<Record<string, Answer>> = {
    'set md remove-companion-device': (line, query) => this.#removeDevice(line, query),
    'get encrypt count': (line, query, { preKeys }) => {
      const value = String(this.preKeyCount ?? preKeys.length)
      line.send(resultOf(query, [{ tag: 'count', attrs: { value } }]))
    },
    'get encrypt digest': (line, query) => line.send(resultOf(query, [element('digest')])),
    'set encrypt registration': (line, query, device) => this.#takeKeys({ line, query, device }),
    'set encrypt rotate': (line, query) => line.send(resultOf(query)),
    'set passive active': (line, query, device) => bringWaiting({ line, query, device }),
    'get encrypt key': (line, query, device) => this.#giveKeys({ line, query, device }),
    'get usync usync': (line, query) => this.#describeUsers(line, query),
    'get abt props': (line, query) => line.send(resultOf(query, [element('props')])),
    'get blocklist': (line, query) => line.send(resultOf(query, [element('list')])),
    'get privacy privacy': (line, query) => line.send(resultOf(query, [element('privacy')])),
    'set privacy tokens': (line, query, device) => this.#issueTokens({ line, query, device }),
    'set w:m media_conn': (line, query) => line.send(resultOf(query, [this.#simulator.media.description])),
    'get w:mex query': (line, query) => this.#describeLock(line, query),
  }

  constructor(simulator: Simulator) {
    this.#simulator = simulator
  }

  /** A message encrypted for this device was received, so the sender has stored the session with it. */
  noteSession(by: NonNullable<Line['login']>, jid: string): void {
    const pair = this.#pairOf(by, jid)
    if (this.#given.has(pair)) this.#given.set(pair, null)
  }

  /** The session with this device is useless, so its keys may be fetched once more. */
  forgetSession(by: NonNullable<Line['login']>, jid: string): void {
    this.#given.delete(this.#pairOf(by, jid))
  }

  async answer(line: Line, query: BinaryNode): Promise<void> {
    const { type, xmlns } = query.attrs
    const [first] = childrenOf(query)
    if (type === 'result') {
      if (first?.tag === 'pair-device-sign') this.#simulator.pairing.finish(line, query)
      return
    }
    if (type === 'error') return this.#simulator.pairing.refuse(line)
    if (this.muted.has(xmlns ?? '') || this.muted.has(`${xmlns} ${first?.tag}`)) return
    const asked = [type, xmlns, first?.tag].filter(Boolean).join(' ')
    if (asked === 'set md link_code_companion_reg') return this.#simulator.pairing.answerCodeRequest(line, query)
    // A device that is not linked yet sends this query too.
    if (asked === 'get w:p ping') return line.send(resultOf(query))
    const answer = this.#answers[asked]
    const device = line.login?.device
    if (answer && device) return answer(line, query, device)
    this.#simulator.complain(answer ? `the query ${asked} came before the login` : `the query ${asked} is not known`)
    line.send(errorOf(query, '501', 'feature-not-implemented'))
  }

  #removeDevice(line: Line, query: BinaryNode): void {
    if (line.login) line.login.phone.devices.delete(line.login.device.id)
    line.send(resultOf(query))
    line.terminate()
  }

  #takeKeys({ line, query, device }: { line: Line; query: BinaryNode; device: LinkedDevice }): void {
    const complain = (problem: string) => this.#simulator.complain(`keys of ${line.login?.phone.number}: ${problem}`)
    if (!bytesOf(childOf(query, 'identity')).equals(device.identity)) complain('of another identity')
    const signed = childOf(query, 'skey')
    const [value, signature] = [bytesOf(childOf(signed, 'value')), bytesOf(childOf(signed, 'signature'))]
    if (!isSignedBy(device.identity, Buffer.concat([KEY_TYPE, value]), signature)) complain('a wrong signature')
    device.signedPreKey = { id: numberOf(childOf(signed, 'id')), value, signature }
    device.registrationId = numberOf(childOf(query, 'registration'))
    for (const key of childrenOf(childOf(query, 'list'), 'key')) {
      const id = numberOf(childOf(key, 'id'))
      if (device.preKeyIds.has(id)) complain(`the id ${id} was used before`)
      device.preKeyIds.add(id)
      device.preKeys.push({ id, value: bytesOf(childOf(key, 'value')) })
    }
    line.send(resultOf(query))
  }

  async #giveKeys({ line, query, device }: { line: Line; query: BinaryNode; device: LinkedDevice }): Promise<void> {
    const users: BinaryNode[] = []
    const given: string[] = []
    for (const { attrs } of childrenOf(childOf(query, 'key'), 'user')) {
      const jid = attrs['jid'] ?? ''
      const pair = line.login && this.#pairOf(line.login, jid)
      const keys = await this.#keysOf(jid)
      if (keys && pair && this.#mustHave(pair, { line, device, jid }))
        this.#simulator.complain(`keys of ${jid} were fetched again`)
      if (keys && pair) given.push(pair)
      users.push({ tag: 'user', attrs: { jid }, content: keys ?? NO_KEYS })
    }
    // If one device is refused, the library discards the keys of the whole answer and has to ask again.
    if (given.length === users.length) for (const pair of given) this.#given.set(pair, line)
    line.send(resultOf(query, [element('list', users)]))
  }

  /**
   * Whether the client must have these keys. If it asked on an earlier line and has sent nothing since, it may have been killed
   * before it stored the session.
   */
  #mustHave(pair: string, { line, device, jid }: { line: Line; device: LinkedDevice; jid: string }): boolean {
    const given = this.#given.get(pair)
    const phone = this.#simulator.findPhone(jid)
    const isUnreadable = device.unacknowledged.some(
      ({ tag, attrs: { type, from = '' } }) =>
        tag === 'receipt' && type === 'retry' && this.#simulator.findPhone(from) === phone,
    )
    return given !== undefined && (given === null || given === line) && !isUnreadable
  }

  #pairOf({ phone, device }: NonNullable<Line['login']>, jid: string): string {
    return `${phone.number}:${device.id} ${this.#simulator.nameOf(jid)}`
  }

  /** Null if there is no such device. */
  async #keysOf(jid: string): Promise<readonly BinaryNode[] | null> {
    const phone = this.#simulator.findPhone(jid)
    const id = Number(/:(\d+)@/.exec(jid)?.[1] ?? 0)
    const keys = id === 0 ? await phone?.takeKeys() : takeKeysOf(phone?.devices.get(id))
    if (!keys) return null
    const { registrationId, identity, signedPreKey, preKey } = keys
    return [
      element('registration', bigEndian(registrationId, 4)),
      element('type', KEY_TYPE),
      element('identity', identity),
      element('skey', [
        element('id', bigEndian(signedPreKey.id, 3)),
        element('value', signedPreKey.value),
        element('signature', signedPreKey.signature),
      ]),
      ...(preKey ? [element('key', [element('id', bigEndian(preKey.id, 3)), element('value', preKey.value)])] : []),
    ]
  }

  #describeUsers(line: Line, query: BinaryNode): void {
    const usync = childOf(query, 'usync')
    const wanted = childrenOf(childOf(usync, 'query')).map(({ tag }) => tag)
    const users = childrenOf(childOf(usync, 'list'), 'user').flatMap((user) => {
      const number = bytesOf(childOf(user, 'contact')).toString().replace('+', '')
      const jid = user.attrs['jid'] ?? `${number}@${SERVER}`
      const phone = this.#simulator.findPhone(jid)
      return phone ? [describeUser(phone, { jid, wanted })] : wanted.includes('contact') ? [unknownUser(number)] : []
    })
    const results = element(
      'result',
      wanted.map((tag) => element(tag)),
    )
    line.send(
      resultOf(query, [{ tag: 'usync', attrs: { ...usync?.attrs }, content: [results, element('list', users)] }]),
    )
  }

  #describeLock(line: Line, query: BinaryNode): void {
    const until = this.#simulator.messages.lockedUntil.get(line.login?.phone.number ?? '')
    line.send(resultOf(query, [element('result', timelock(until))]))
  }

  #issueTokens({ line, query, device }: { line: Line; query: BinaryNode; device: LinkedDevice }): void {
    for (const { attrs } of childrenOf(childOf(query, 'tokens'), 'token')) {
      const once = `${line.login?.phone.number}:${device.id} ${attrs['jid']}`
      if (this.#issued.has(once)) this.#simulator.complain(`a token for ${attrs['jid']} was asked for again`)
      this.#issued.add(once)
    }
    line.send(resultOf(query, [element('tokens')]))
  }
}

function bringWaiting({ line, query, device }: { line: Line; query: BinaryNode; device: LinkedDevice }): void {
  line.send(resultOf(query))
  for (const node of device.unacknowledged) line.send({ ...node, attrs: { ...node.attrs, offline: '0' } })
  const count = String(device.unacknowledged.length)
  line.send({ tag: 'ib', attrs: { from: SERVER }, content: [{ tag: 'offline', attrs: { count } }] })
}

function takeKeysOf(device: LinkedDevice | undefined) {
  if (!device?.signedPreKey) return undefined
  const { registrationId, identity, signedPreKey } = device
  return { registrationId, identity, signedPreKey, preKey: device.preKeys.shift() }
}

function unknownUser(number: string): BinaryNode {
  const contact = { tag: 'contact', attrs: { type: 'out' }, content: Buffer.from(`+${number}`) }
  return { tag: 'user', attrs: {}, content: [contact] }
}

function describeUser(phone: Phone, { jid, wanted }: { jid: string; wanted: readonly string[] }): BinaryNode {
  const devices = [...phone.devices.keys()].map((id) => ({
    tag: 'device',
    attrs: { id: String(id), 'key-index': String(id) },
  }))
  const known: Readonly<Record<string, BinaryNode>> = {
    contact: { tag: 'contact', attrs: { type: 'in' }, content: Buffer.from(`+${phone.number}`) },
    lid: { tag: 'lid', attrs: { val: phone.lid } },
    devices: element('devices', [
      element('device-list', [{ tag: 'device', attrs: { id: '0' } }, ...devices]),
      { tag: 'key-index-list', attrs: { ts: secondsNow() } },
    ]),
  }
  const content = wanted.flatMap((tag) => known[tag] ?? [])
  return { tag: 'user', attrs: { jid: jid.endsWith('@lid') ? phone.lid : phone.jid }, content }
}

/** Describes whether writing to people who do not know the number is locked. */
function timelock(until: Date | undefined): Buffer {
  const lock =
    until !== undefined && until.getTime() > Date.now()
      ? {
          is_active: true,
          time_enforcement_ends: String(Math.floor(until.getTime() / 1000)),
          enforcement_type: 'WEB_COMPANION_ONLY',
        }
      : { is_active: false }
  return Buffer.from(JSON.stringify({ data: { xwa2_fetch_account_reachout_timelock: lock } }))
}
