import { commandLine } from '../../core/command-line.ts'
import { Refusal } from '../../core/refusals.ts'
import type { Environment } from '../environment.ts'

const SEND_PATH = '/chat/api/v1/public/message/send'
const LONGEST_CALL_MS = 30_000
/** What Node calls a certificate that it does not take. */
const CERTIFICATE = /CERT|ISSUER|LEAF_SIGNATURE/

interface EndpointCall {
  readonly baseUrl: string
  readonly token: string
  /** Null: the request carries none. */
  readonly idempotencyKey: string | null
  readonly body: unknown
}

export interface EndpointReply {
  readonly status: number
  readonly requestId: string | null
  readonly messageId: string | null
  /** As text when it is no JSON: then something else than our service has answered. */
  readonly reply: unknown
}

/** One call of the endpoint, as any caller makes it. Refuses when no answer comes. */
export async function callEndpoint(
  { fetch }: Pick<Environment, 'fetch'>,
  { baseUrl, token, idempotencyKey, body }: EndpointCall,
): Promise<EndpointReply> {
  const headers = {
    'content-type': 'application/json',
    'x-api-key': fitForHeader('token', token),
    // The log names the program of a request.
    'user-agent': 'nuncio (command line)',
  }
  const key = idempotencyKey === null ? {} : { 'idempotency-key': fitForHeader('idempotency-key', idempotencyKey) }
  try {
    const response = await fetch(baseUrl + SEND_PATH, {
      method: 'POST',
      headers: { ...headers, ...key },
      body: JSON.stringify(body),
      // The endpoint never redirects. Following a redirect would send the token elsewhere.
      redirect: 'error',
      signal: AbortSignal.timeout(LONGEST_CALL_MS),
    })
    return {
      status: response.status,
      requestId: response.headers.get('x-request-id'),
      messageId: response.headers.get('x-message-id'),
      reply: parseReply(await response.text()),
    }
  } catch (error) {
    throw unreachable(baseUrl, error)
  }
}

function fitForHeader(option: string, text: string): string {
  if (/^[\x20-\x7e]+$/.test(text)) return text
  throw new Refusal('argument_invalid', `--${option} must be printable ASCII characters.`, `--${option}`)
}

function unreachable(baseUrl: string, error: unknown): Refusal {
  const { origin } = new URL(baseUrl)
  if (error instanceof DOMException && error.name === 'TimeoutError') {
    const sentence = `The service at ${origin} did not answer within ${LONGEST_CALL_MS / 1000} seconds, so it is not known whether it took the message.`
    return new Refusal('service_unreachable', sentence, null, { cause: error })
  }
  const cause = causeOf(error)
  const sentence = CERTIFICATE.test(cause)
    ? `The certificate of the service at ${origin} is not one that is trusted here for this address (${cause}). Name in NODE_EXTRA_CA_CERTS the file of its issuer, and call it by a name that stands in it.`
    : `The service does not answer at ${origin} (${cause}). Start it with ${commandLine`serve`}, or say where it is: by --url, or by the settings with which it runs, such as NUNCIO_PORT.`
  return new Refusal('service_unreachable', sentence, null, { cause: error })
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (!(cause instanceof Error)) return 'unknown cause'
  return 'code' in cause ? String(cause.code) : cause.message
}

function parseReply(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
