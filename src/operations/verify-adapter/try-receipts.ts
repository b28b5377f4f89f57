import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { MOST_RECEIPTS_BYTES, parseJson, parseReceipts } from '../../channels/bridge/protocol.ts'
import { sign, verifySigned } from '../../channels/bridge/signing.ts'
import type { CaseResult } from './adapter-case.ts'
import { type AdapterUnderTest, type AttemptFields, inWords } from './adapter-under-test.ts'
import { closeServer, listenAt } from './listen-at.ts'

interface Batch {
  readonly id: string | null
  readonly body: Buffer
  readonly isSigned: boolean
}

const REPORTED_WITHIN_MS = 60_000
// An adapter first tries again after a second.
const REPEATED_WITHIN_MS = 15_000
const QUIET_MS = 5_000

/** Sends a message and takes its receipts: the first batch is answered with 503, then not at all, and then as Nuncio does. */
export async function* tryReceipts(
  adapter: AdapterUnderTest,
  to: string,
  taker: ReceiptTaker,
): AsyncIterable<CaseResult> {
  try {
    adapter.receiptsUrl = `http://${taker.place}/receipts`
    const fields = adapter.fieldsOf({ to })
    const attempted = await adapter.attempt(fields)
    const isTaken = 'outcome' in attempted && attempted.outcome.result === 'accepted'
    await taker.wait(1, isTaken ? REPORTED_WITHIN_MS : 0)
    await taker.wait(3, taker.batches.length > 0 ? REPEATED_WITHIN_MS : 0)
    const [first, second, third] = taker.batches
    yield {
      title: 'reports what became of a message',
      problem: first ? null : isTaken ? 'No receipt came within a minute.' : inWords(attempted),
    }
    if (!first) return
    yield { title: 'signs its receipts, and reports of what it was given', problem: wrongIn(first, fields) }
    yield {
      title: 'repeats them unchanged after 503 and after an answer that broke off',
      problem: repeats(first, [second, third]),
    }
    await pause(QUIET_MS)
    const more = taker.batches.slice(3).filter(({ id }) => id === first.id).length
    yield { title: 'stops when they are taken', problem: more === 0 ? null : 'It repeated them after the signed 200.' }
  } finally {
    adapter.receiptsUrl = null
  }
}

function wrongIn({ id, body, isSigned }: Batch, fields: AttemptFields): string | null {
  if (!isSigned) return 'They are not signed with the secret.'
  if (!id?.startsWith('rcp_')) return 'Their webhook-id does not begin with rcp_.'
  if (body.length > MOST_RECEIPTS_BYTES) return `They have more than ${MOST_RECEIPTS_BYTES} bytes.`
  const read = parseReceipts(parseJson(body))
  if (!read || read.ignored.length > 0) return 'They are not receipts of version 1.'
  const isOurs = read.receipts.every(
    ({ messageId, attemptNumber, connectionId }) =>
      `${messageId}_${attemptNumber}` === fields['attemptId'] && connectionId === fields['connectionId'],
  )
  return isOurs ? null : 'They name another attempt or another connection than it was given.'
}

function repeats(first: Batch, others: readonly (Batch | undefined)[]): string | null {
  if (others.includes(undefined)) return 'It did not repeat them within 15 seconds.'
  return others.every((one) => one?.id === first.id && one.body.equals(first.body))
    ? null
    : 'It repeated them with another webhook-id or another body.'
}

/** Listens for receipts. */
export class ReceiptTaker {
  readonly place: string
  readonly #adapter: AdapterUnderTest
  readonly #server = createServer(
    (request, response) => void this.#take(request, response).catch(() => response.destroy()),
  )
  readonly batches: Batch[] = []
  #woken: () => void = () => {}

  private constructor(adapter: AdapterUnderTest, place: string) {
    this.#adapter = adapter
    this.place = place
  }

  static async open(adapter: AdapterUnderTest, place: string): Promise<ReceiptTaker> {
    const taker = new ReceiptTaker(adapter, place)
    await listenAt(place, taker.#server)
    return taker
  }

  close(): Promise<void> {
    return closeServer(this.#server)
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request)
    const header = (name: string) => request.headers[name]?.toString() ?? null
    const { keys, receiptsUrl } = this.#adapter
    // Receipts of messages before this test, perhaps of another run.
    if (receiptsUrl === null) {
      response.writeHead(503).end()
      return
    }
    const signedId = verifySigned(keys, { header, content: body, now: Date.now() })
    const id = header('webhook-id')
    this.batches.push({ id, body, isSigned: signedId !== null })
    this.#woken()
    if (this.batches.length === 1) {
      response.writeHead(503, { 'retry-after': '1' }).end()
      return
    }
    if (this.batches.length === 2) {
      response.destroy()
      return
    }
    const content = JSON.stringify({ type: 'stored', stored: 1, ignored: [] })
    const signed = sign(keys, { id: id ?? '', timestamp: Math.floor(Date.now() / 1_000), content })
    response.writeHead(200, { 'content-type': 'application/json', ...signed }).end(content)
  }

  /** Until so many batches have come, or the time is over. */
  async wait(count: number, forMs: number): Promise<void> {
    const until = Date.now() + forMs
    while (this.batches.length < count && Date.now() < until) {
      const { promise, resolve } = Promise.withResolvers<void>()
      this.#woken = resolve
      await Promise.race([promise, pause(Math.min(250, forMs))])
    }
  }
}
