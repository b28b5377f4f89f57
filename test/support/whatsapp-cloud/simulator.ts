import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { createRandom, type Random } from '../black-box/random.ts'
import { CallFaults, type DrawnFault, digitsOf } from './call-faults.ts'
import { CallbackSender } from './callback-sender.ts'
import type { Json } from './check-send.ts'
import { type GraphAnswer, GraphApi, type GraphCall } from './graph-api.ts'
import { drawTraceId } from './graph-error.ts'
import type {
  CallbackPlan,
  FaultKind,
  FaultShare,
  Refusing,
  RequestKind,
  SeenRequest,
  SimulatedNumber,
  SimulatedTemplate,
  Simulator,
  SimulatorOptions,
} from './simulator-types.ts'

const LARGEST_BODY_BYTES = 110_000_000
const KEEP_ALIVE_MS = 75_000
const ACTS_ANYWAY: readonly FaultKind[] = [
  'drop-after',
  'half-answer',
  'hang-after',
  'no-code-after',
  'garbage',
  'no-id',
  'slow',
]

/** Starts a server on loopback that speaks the published Cloud API, for tests and for trying the service out. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const simulator = new CloudSimulator(options)
  await simulator.listen()
  return simulator
}

class CloudSimulator implements Simulator {
  readonly requests: SeenRequest[] = []
  readonly #options: SimulatorOptions
  readonly #now: () => number
  readonly #server: Server
  readonly #random: Random
  readonly #faults: CallFaults
  readonly #callbacks: CallbackSender
  readonly #api: GraphApi
  readonly #underWay: Record<RequestKind, number> = { messages: 0, media: 0, other: 0 }
  #isClosed = false

  constructor(options: SimulatorOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#random = createRandom(options.seed ?? 1)
    this.#faults = new CallFaults(this.#random)
    const onTry = options.onCallback ?? (() => {})
    this.#callbacks = new CallbackSender({ random: this.#random, now: this.#now, onTry })
    this.#api = new GraphApi({ now: this.#now, faults: this.#faults, callbacks: this.#callbacks })
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch(() => request.socket.destroy())
    })
  }

  async listen(): Promise<void> {
    // As large sites do, keeps idle connections longer than any client. Otherwise calls would meet connections that are being
    // closed.
    this.#server.keepAliveTimeout = KEEP_ALIVE_MS
    this.#server.listen(this.#options.port ?? 0, this.#options.host ?? '127.0.0.1')
    await once(this.#server, 'listening')
  }

  get url(): string {
    const { address, port } = this.#server.address() as AddressInfo
    return `http://${address}:${port}`
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#callbacks.stop()
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  addNumber(number: SimulatedNumber): void {
    this.#api.numbers.set(number.phoneNumberId, number)
  }

  changeNumber(phoneNumberId: string, change: Partial<SimulatedNumber>): void {
    this.#api.numbers.set(phoneNumberId, { ...this.#numberOf(phoneNumberId), ...change })
  }

  addTemplate(businessAccountId: string, template: SimulatedTemplate): void {
    this.#api.addTemplate(businessAccountId, template)
  }

  get sent() {
    return this.#api.sent
  }

  get uploads() {
    return this.#api.media.uploads
  }

  underWay(kind: RequestKind): number {
    return this.#underWay[kind]
  }

  openWindow(to: string): void {
    this.#api.closedWindows.delete(digitsOf(to))
  }

  closeWindow(to: string, reported: 'at-once' | 'by-callback' = 'at-once'): void {
    this.#api.closedWindows.set(digitsOf(to), reported)
  }

  fail(refusal: Refusing): void {
    this.#faults.refuse(refusal)
  }

  dropAfterActing(share: FaultShare): void {
    this.fault('drop-after', share)
  }

  dropBefore(share: FaultShare): void {
    this.fault('drop-before', share)
  }

  fault(kind: FaultKind, share: FaultShare): void {
    this.#faults.add(kind, share)
  }

  healAll(): void {
    this.#faults.clear()
  }

  deliverCallbacks(plan: CallbackPlan): void {
    this.#callbacks.plan(plan)
  }

  callbacksIdle(): Promise<void> {
    return this.#callbacks.idle()
  }

  get callbackTries() {
    return this.#callbacks.tries
  }

  async verifyCallback(phoneNumberId: string, url: string): Promise<boolean> {
    return (await this.challenge(phoneNumberId, url)).isRight
  }

  async challenge(phoneNumberId: string, url: string): Promise<{ isRight: boolean; status: number }> {
    const challenge = String(this.#random.between(100_000_000, 2_000_000_000))
    const query = new URLSearchParams({
      'hub.mode': 'subscribe',
      'hub.challenge': challenge,
      'hub.verify_token': this.#numberOf(phoneNumberId).verifyToken,
    })
    const response = await fetch(`${url}?${query}`, { redirect: 'manual' })
    const { status } = response
    return { isRight: (await response.text()) === challenge && status === 200, status }
  }

  receive({ phoneNumberId, from, text }: { phoneNumberId: string; from: string; text: string }): string {
    const number = this.#numberOf(phoneNumberId)
    const waId = digitsOf(from)
    const wamid = this.#api.drawWamid(waId)
    this.openWindow(waId)
    this.#callbacks.report(number, 'messages', {
      ...this.#callbacks.metadataOf(number),
      contacts: [{ profile: { name: 'A person' }, wa_id: waId }],
      messages: [
        {
          from: waId,
          id: wamid,
          timestamp: String(Math.floor(this.#now() / 1_000)),
          type: 'text',
          text: { body: text },
        },
      ],
    })
    return wamid
  }

  announce(phoneNumberId: string, field: string, value: Json): void {
    this.#callbacks.report(this.#numberOf(phoneNumberId), field, value)
  }

  #numberOf(phoneNumberId: string): SimulatedNumber {
    const number = this.#api.numbers.get(phoneNumberId)
    if (!number) throw new Error(`The simulator has no number ${phoneNumberId}`)
    return number
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = await readCall(request)
    const kind = kindOf(call)
    this.#underWay[kind] += 1
    try {
      await this.#finish(call, kind, response)
    } finally {
      this.#underWay[kind] -= 1
    }
  }

  async #finish(call: GraphCall, kind: RequestKind, response: ServerResponse): Promise<void> {
    const waId = recipientOf(call)
    const at = this.#now()
    const fault = this.#faults.drawFault({ kind, waId })
    const acts = fault === null || ACTS_ANYWAY.includes(fault.kind)
    const answer = acts ? await this.#api.handle(call, waId) : null
    if (this.#options.latencyMs) await wait(this.#options.latencyMs)
    const effective = isMoot(fault, answer) ? null : fault
    const status = await sendAnswer(response, answer, effective)
    const seen = {
      method: call.method,
      path: call.url.pathname + call.url.search.replace(/((?:access_token|appsecret_proof)=)[^&]*/g, '$1…'),
      ...{ kind, waId, status, at },
      code: codeOf(answer),
      fault: effective?.kind ?? null,
      acted: answer !== null && answer.status === 200,
    }
    this.requests.push(seen)
    this.#options.onRequest?.(seen)
  }
}

// A refused message was not accepted, so a fault after acceptance does not apply to it.
function isMoot(fault: DrawnFault | null, answer: GraphAnswer | null): boolean {
  return fault !== null && fault.kind !== 'slow' && answer !== null && answer.status !== 200
}

/** Applies the fault to the connection. Returns the status that the caller can have seen. */
async function sendAnswer(
  response: ServerResponse,
  answer: GraphAnswer | null,
  fault: DrawnFault | null,
): Promise<number | null> {
  const reset = () => void response.socket?.resetAndDestroy()
  switch (fault?.kind) {
    case 'drop-before':
    case 'drop-after':
      reset()
      return null
    case 'hang-before':
    case 'hang-after':
      return null
    case 'half-answer': {
      const whole = JSON.stringify(answer?.body)
      response.writeHead(answer?.status ?? 200, { 'content-type': 'application/json', 'content-length': whole.length })
      response.write(whole.slice(0, whole.length / 2), reset)
      return null
    }
    case 'no-code':
    case 'no-code-after':
      return write(response, { status: 503, type: 'text/html', text: '<html><body>Service Unavailable</body></html>' })
    case 'garbage':
      return write(response, { status: 200, type: 'application/json', text: '{"messaging_product":"wha' })
    case 'no-id':
      return write(response, { status: 200, type: 'application/json', text: '{"messaging_product":"whatsapp"}' })
    case 'slow':
      await wait(fault.delayMs)
      break
    default:
  }
  if (!answer) throw new Error('Nothing was done, so there is nothing to answer')
  if (answer.bytes) {
    response.writeHead(200, { 'content-type': answer.bytes.mime }).end(answer.bytes.body)
    return 200
  }
  return write(response, {
    status: answer.status,
    type: 'application/json; charset=UTF-8',
    text: JSON.stringify(answer.body),
  })
}

function write(
  response: ServerResponse,
  { status, type, text }: { status: number; type: string; text: string },
): number {
  response.writeHead(status, { 'content-type': type, 'x-fb-trace-id': drawTraceId() }).end(text)
  return status
}

async function readCall(request: IncomingMessage): Promise<GraphCall> {
  const parts: Buffer[] = []
  let sizeBytes = 0
  for await (const part of request) {
    sizeBytes += (part as Buffer).length
    if (sizeBytes > LARGEST_BODY_BYTES) throw new Error('The body is larger than anything the API takes')
    parts.push(part as Buffer)
  }
  return {
    method: request.method ?? 'GET',
    url: new URL(request.url ?? '/', 'http://simulator'),
    token: /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? null,
    contentType: request.headers['content-type'] ?? '',
    body: Buffer.concat(parts),
    host: request.headers.host ?? '',
  }
}

function kindOf({ method, url }: GraphCall): RequestKind {
  if (method !== 'POST') return 'other'
  if (url.pathname.endsWith('/messages')) return 'messages'
  return url.pathname.endsWith('/media') ? 'media' : 'other'
}

// The faults need the recipient before anything is checked.
function recipientOf(call: GraphCall): string | null {
  if (kindOf(call) !== 'messages') return null
  const to = /"to"\s*:\s*"([^"]*)"/.exec(call.body.toString())?.[1]
  return to === undefined ? null : digitsOf(to)
}

function codeOf(answer: GraphAnswer | null): number | null {
  const error = answer?.body['error'] as { code?: number } | undefined
  return error?.code ?? null
}
