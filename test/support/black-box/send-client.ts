import { Agent, type IncomingMessage, request } from 'node:http'

const PATH = '/chat/api/v1/public/message/send'
const LONGEST_WAIT_MS = 60_000

/** How the service answered one try. `refused` only if it is certain that nothing was stored. */
export type TryAnswer =
  | { readonly kind: 'acked'; readonly messageId: string }
  | { readonly kind: 'refused'; readonly status: number; readonly codes: readonly string[] }
  | { readonly kind: 'unknown'; readonly why: string }

/**
 * The reason of an unknown result when the service closed an idle connection just as the request came. Happens on busy machines.
 */
export const CLOSED_WHEN_IDLE = 'connection closed'

export interface Letter {
  readonly from: string
  readonly to: string
  readonly message: Readonly<Record<string, unknown>>
  readonly idempotencyKey: string | null
}

/** A caller of the send endpoint. Not `fetch`: we must know whether a request can have left at all. */
export class SendClient {
  readonly #url: string
  readonly #token: string
  readonly #agent = new Agent({ keepAlive: true })

  constructor({ url, token }: { readonly url: string; readonly token: string }) {
    this.#url = `${url}${PATH}`
    this.#token = token
  }

  send({ from, to, message, idempotencyKey }: Letter): Promise<TryAnswer> {
    const body = JSON.stringify({ from, to, message })
    const headers = {
      'x-api-key': this.#token,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      ...(idempotencyKey === null ? {} : { 'idempotency-key': idempotencyKey }),
    }
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', headers, agent: this.#agent, timeout: LONGEST_WAIT_MS }
      const call = request(this.#url, options, (response) => {
        readAll(response)
          .then((text) => answerOf(response, text), answerOfError)
          .then(resolve, reject)
      })
      const failed = (error: NodeJS.ErrnoException) => resolve(call.reusedSocket ? cutOff(error) : answerOfError(error))
      call.on('error', failed).on('timeout', () => call.destroy(new Error('no answer in time')))
      call.end(body)
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

function answerOf({ statusCode = 0, headers }: IncomingMessage, text: string): TryAnswer {
  const messageId = headers['x-message-id']
  if (statusCode === 200) {
    if (typeof messageId !== 'string') throw new Error(`A 200 without x-message-id: ${text}`)
    return { kind: 'acked', messageId }
  }
  const codes = errorCodes(text)
  // A 500 says nothing about what was stored. A 503 does, unless its code is `commit_unknown`.
  const isCertain = statusCode < 500 || (statusCode === 503 && codes.length > 0 && !codes.includes('commit_unknown'))
  if (isCertain) return { kind: 'refused', status: statusCode, codes }
  return { kind: 'unknown', why: `${statusCode} ${codes.join(' ')}` }
}

function errorCodes(text: string): string[] {
  const body = JSON.parse(text) as { data?: { errors?: readonly { code: string }[] } }
  return body.data?.errors?.map(({ code }) => code) ?? []
}

/** The answer when a kept connection broke. `CLOSED_WHEN_IDLE` if the service may just have closed it as idle. */
function cutOff(error: NodeJS.ErrnoException): TryAnswer {
  return error.code === 'ECONNRESET' ? { kind: 'unknown', why: CLOSED_WHEN_IDLE } : answerOfError(error)
}

function answerOfError(error: NodeJS.ErrnoException): TryAnswer {
  // Only a refused connection is certain; a reset may come after the commit.
  if (error.code === 'ECONNREFUSED') return { kind: 'refused', status: 0, codes: [error.code] }
  return { kind: 'unknown', why: error.code ?? error.message }
}
