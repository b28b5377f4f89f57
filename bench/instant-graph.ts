import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Caller } from './caller.ts'
import { answerParent } from './child.ts'
import { LatencyHistogram } from './latency-histogram.ts'

/** Where callbacks go, and the secret that signs them. */
interface CallbackTarget {
  readonly port: number
  readonly path: string
  readonly appSecret: string
}

export interface CallbackFigures {
  readonly replies: number
  /** Replies other than 200. */
  readonly refused: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly longestMs: number
}

const KINDS = ['sent', 'delivered', 'read']
// The most callbacks under way at once. If none is free, the time of the next one already counts.
const SOCKETS = 64

let target: CallbackTarget | null = null
const idle: Caller[] = []
const due: { readonly request: Buffer; readonly sinceMs: number }[] = []
const latency = new LatencyHistogram()
let refused = 0
let taken = 0

/** A network that accepts every message at once, and sends three reports about it as soon as it has answered. */
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { to: string; biz_opaque_callback_data: string }
    const [, , phoneNumberId = ''] = (request.url ?? '').split('/')
    taken += 1
    const wamid = `wamid.bench-${taken}`
    const answer = JSON.stringify({ messaging_product: 'whatsapp', contacts: [], messages: [{ id: wamid }] })
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer)
    for (const kind of KINDS)
      callBack(phoneNumberId, { id: wamid, status: kind, biz_opaque_callback_data: body.biz_opaque_callback_data })
  })
})

function callBack(phoneNumberId: string, status: Readonly<Record<string, unknown>>): void {
  if (!target) return
  const now = { timestamp: String(Math.floor(Date.now() / 1000)), recipient_id: '15551234567' }
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '15550100000', phone_number_id: phoneNumberId },
    statuses: [{ ...status, ...now, pricing: { billable: true, pricing_model: 'PMP', category: 'utility' } }],
  }
  const entry = [{ id: '102290129340398', changes: [{ field: 'messages', value }] }]
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry })
  const head = [
    `POST ${target.path} HTTP/1.1`,
    'host: 127.0.0.1',
    'content-type: application/json',
    `x-hub-signature-256: sha256=${createHmac('sha256', target.appSecret).update(body).digest('hex')}`,
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  due.push({ request: Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`), sinceMs: performance.now() })
  sendDue()
}

function sendDue(): void {
  while (due.length > 0) {
    const caller = idle.pop()
    if (!caller) return
    const next = due.shift()
    if (next) caller.send(next.request, next.sinceMs)
  }
}

const calls = {
  async listen() {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return (server.address() as AddressInfo).port
  },
  async callBackTo(given: CallbackTarget) {
    const parts = {
      port: given.port,
      onReply: (caller: Caller, begunMs: number, status: number) => {
        latency.add(performance.now() - begunMs)
        if (status !== 200) refused += 1
        idle.push(caller)
        sendDue()
      },
      // The service closes connections that are idle between two rounds. Each round opens its own.
      onBroken: () => {},
    }
    for (const caller of idle.splice(0)) caller.close()
    idle.push(...(await Promise.all(Array.from({ length: SOCKETS }, () => Caller.open(parts)))))
    target = given
  },
  /** The figures of callbacks since the last call of this function. */
  takeFigures(): CallbackFigures {
    const figures = {
      replies: latency.total,
      refused,
      p50Ms: latency.percentileMs(0.5),
      p99Ms: latency.percentileMs(0.99),
      longestMs: latency.longestMs,
    }
    latency.clear()
    refused = 0
    return figures
  },
}
export type GraphCalls = typeof calls

process.once('SIGTERM', () => process.exit(0))
answerParent(calls)
