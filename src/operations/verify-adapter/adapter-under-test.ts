import { randomBytes, randomUUID } from 'node:crypto'
import http, { type IncomingHttpHeaders } from 'node:http'
import https from 'node:https'
import { buffer } from 'node:stream/consumers'
import { type AdapterOutcome, MOST_ANSWER_BYTES, parseJson, parseOutcome } from '../../channels/bridge/protocol.ts'
import { keyOf, sign, verifySigned } from '../../channels/bridge/signing.ts'

/** One request, made as Nuncio would make it, or wrongly on purpose. */
export interface Asked {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Behind the URL of the adapter. */
  readonly path: string
  readonly id: string
  readonly body?: string | Uint8Array
  /** What the signature covers in place of the body. */
  readonly signed?: string | Uint8Array
  /** Signs with a secret that the adapter does not have. */
  readonly isForged?: boolean
  /** How far our clock pretends to be ahead. */
  readonly aheadSeconds?: number
}

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** `value`: what the adapter signed. `status`: null when there was no answer at all. */
type Signed = { readonly value: unknown } | { readonly problem: string; readonly status: number | null }
export type Attempted =
  | { readonly outcome: AdapterOutcome }
  | { readonly problem: string; readonly status: number | null }

/** The fields of an attempt that differ from the usual ones. */
export type AttemptFields = Readonly<Record<string, unknown>>

const LONGEST_ANSWER_MS = 60_000
/** In the range of numbers that are given to no phone. */
const NO_PHONE = '15550100000'
const SEND_TIMEOUT_MS = 20_000

interface Place {
  readonly url: string
  readonly keys: readonly Uint8Array[]
}

/** The adapter that is verified, over HTTP. What it does not sign is no answer. */
export class AdapterUnderTest {
  readonly #place: Place
  readonly #otherKeys = [keyOf(`whsec_${randomBytes(32).toString('base64')}`)].filter((key) => key !== null)
  /** Where receipts of attempts go; null for none. */
  receiptsUrl: string | null = null
  /** The sender of attempts: a number of the gateway once one is known. */
  sender = NO_PHONE

  constructor(place: Place) {
    this.#place = place
  }

  get keys(): readonly Uint8Array[] {
    return this.#place.keys
  }

  /** Null when there was no complete answer. */
  async ask(asked: Asked): Promise<Answer | null> {
    const { method, path, id, body = '', signed = body, isForged = false, aheadSeconds = 0 } = asked
    const { url, keys } = this.#place
    const timestamp = Math.floor(Date.now() / 1_000) + aheadSeconds
    const headers = {
      ...sign(isForged ? this.#otherKeys : keys, { id, timestamp, content: signed }),
      ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
    }
    const { request: start } = url.startsWith('https:') ? https : http
    const signal = AbortSignal.timeout(LONGEST_ANSWER_MS)
    return new Promise((resolve) => {
      const request = start(url + path, { method, headers, agent: false, signal })
      request.on('error', () => resolve(null))
      request.on('response', (response) => {
        buffer(response).then(
          (whole) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: whole }),
          () => resolve(null),
        )
      })
      request.end(method === 'GET' ? undefined : body)
    })
  }

  /** What the adapter signed as its answer to this request. */
  async signed(asked: Asked): Promise<Signed> {
    const answer = await this.ask(asked)
    if (!answer) return { problem: 'It gave no answer.', status: null }
    const { status, headers, body } = answer
    if (status !== 200) return { problem: `It answered ${status}.`, status }
    const header = (name: string) => headers[name]?.toString() ?? null
    if (verifySigned(this.keys, { header, content: body, now: Date.now() }) !== asked.id)
      return { problem: 'Its answer is not signed with the secret, under the webhook-id of the request.', status }
    if (body.length > MOST_ANSWER_BYTES)
      return { problem: `Its answer has more than ${MOST_ANSWER_BYTES} bytes.`, status }
    return { value: parseJson(body) }
  }

  /** An attempt of a text, to a number without a phone unless `special` names another. */
  fieldsOf(special: AttemptFields = {}): AttemptFields {
    const messageId = randomUUID()
    return {
      type: 'attempt',
      attemptId: `${messageId}_1`,
      messageId,
      connectionId: randomUUID(),
      from: this.sender,
      to: NO_PHONE,
      attempt: 1,
      notAfter: Date.now() + SEND_TIMEOUT_MS,
      content: { type: 'message', text: 'This is a test of the adapter.' },
      receiptsUrl: this.receiptsUrl,
      ...special,
    }
  }

  async attempt(fields: AttemptFields): Promise<Attempted> {
    const attemptId = String(fields['attemptId'])
    const answer = await this.signed({
      method: 'POST',
      path: '/v1/attempts',
      id: `att_${attemptId}`,
      body: JSON.stringify(fields),
    })
    if ('problem' in answer) return answer
    const outcome = parseOutcome(answer.value, attemptId)
    return outcome
      ? { outcome }
      : { problem: `It answered with no outcome of version 1: ${quoted(answer.value)}`, status: 200 }
  }

  evidence(attemptId: string, startedAt: number): Promise<Signed> {
    const path = `/v1/attempts/${attemptId}?startedAt=${startedAt}`
    return this.signed({ method: 'GET', path, id: `evi_${attemptId}_${randomUUID()}` })
  }
}

/** A value as it came, shortened. */
export function quoted(value: unknown): string {
  return `${JSON.stringify(value) ?? 'no JSON'}`.slice(0, 200)
}

/** What became of an attempt, in a few words. */
export function inWords(attempted: Attempted): string {
  if ('problem' in attempted) return attempted.problem
  const { outcome } = attempted
  return outcome.result === 'rejected'
    ? `It answered rejected, ${outcome.class}, ${outcome.code}.`
    : `It answered ${outcome.result}.`
}
