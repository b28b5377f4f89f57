import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { parseIpAddress } from '../../../src/core/media-address/ip-address.ts'

interface DnsAnswer {
  readonly a?: readonly string[]
  readonly aaaa?: readonly string[]
  /** A chain of aliases: the name stands for the first, each for the next, and the last has the addresses. */
  readonly aliases?: readonly string[]
  readonly rcode?: 'NXDOMAIN' | 'SERVFAIL' | 'REFUSED'
  readonly delayMs?: number
}

/** `silence`: the server never answers. A function answers each question anew, as a rebinding server does. */
type DnsBehaviour = DnsAnswer | 'silence' | ((question: number) => DnsAnswer | 'silence')

const TYPE_NUMBERS = { A: 1, CNAME: 5, AAAA: 28 } as const
const RCODES = { NXDOMAIN: 3, SERVFAIL: 2, REFUSED: 5 } as const

/** A DNS server on the loopback. It knows only the names that it was given. */
export class DnsServer {
  readonly #socket: Socket = createSocket('udp4')
  readonly #names = new Map<string, DnsBehaviour>()
  readonly #asked = new Map<string, number>()
  /** Every question, such as `A files.example.com`. */
  readonly questions: string[] = []

  async start(): Promise<void> {
    this.#socket.on('message', (query, from) => this.#answer(query, from))
    this.#socket.bind(0, '127.0.0.1')
    await once(this.#socket, 'listening')
  }

  get address(): string {
    return `127.0.0.1:${this.#socket.address().port}`
  }

  set(name: string, behaviour: DnsBehaviour): void {
    this.#names.set(name, behaviour)
  }

  async stop(): Promise<void> {
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()))
  }

  #answer(query: Buffer, from: RemoteInfo): void {
    const { name, type, end } = readQuestion(query)
    this.questions.push(`${type === TYPE_NUMBERS.A ? 'A' : type === TYPE_NUMBERS.AAAA ? 'AAAA' : type} ${name}`)
    const count = (this.#asked.get(`${type} ${name}`) ?? 0) + 1
    this.#asked.set(`${type} ${name}`, count)
    const behaviour = this.#names.get(name) ?? { rcode: 'NXDOMAIN' }
    const answer = typeof behaviour === 'function' ? behaviour(count) : behaviour
    if (answer === 'silence') return
    const reply = buildReply(query.subarray(0, end), { name, type, answer })
    const send = () => this.#socket.send(reply, from.port, from.address, () => {})
    if (answer.delayMs) setTimeout(send, answer.delayMs).unref()
    else send()
  }
}

function readQuestion(query: Buffer): { readonly name: string; readonly type: number; readonly end: number } {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += length + 1
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

interface Question {
  readonly name: string
  readonly type: number
  readonly answer: DnsAnswer
}

function buildReply(question: Buffer, { name, type, answer }: Question): Buffer {
  const aliases = answer.aliases ?? []
  const owner = aliases.at(-1) ?? name
  const addresses = type === TYPE_NUMBERS.A ? (answer.a ?? []) : type === TYPE_NUMBERS.AAAA ? (answer.aaaa ?? []) : []
  const records = [
    ...aliases.map((alias, index) => record(aliases[index - 1] ?? name, TYPE_NUMBERS.CNAME, encodeName(alias))),
    ...addresses.map((address) => record(owner, type, encodeAddress(address))),
  ]
  const header = Buffer.alloc(12)
  question.copy(header, 0, 0, 2)
  header.writeUInt16BE(0x8180 | (answer.rcode ? RCODES[answer.rcode] : 0), 2)
  header.writeUInt16BE(1, 4)
  header.writeUInt16BE(records.length, 6)
  return Buffer.concat([header, question.subarray(12), ...records])
}

function record(owner: string, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10)
  fixed.writeUInt16BE(type, 0)
  fixed.writeUInt16BE(1, 2)
  fixed.writeUInt16BE(data.length, 8)
  return Buffer.concat([encodeName(owner), fixed, data])
}

function encodeName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.from([label.length, ...Buffer.from(label, 'latin1')]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

function encodeAddress(text: string): Buffer {
  const words = parseIpAddress(text)?.words ?? []
  const bytes = Buffer.alloc(words.length * 4)
  for (const [index, word] of words.entries()) bytes.writeUInt32BE(word, index * 4)
  return bytes
}
