import { type FieldError, NuncioRefusal, type RefusalCode } from './nuncio-refusal.ts'

/** The message is stored and will be sent in its turn. */
export interface Sent {
  /** Finds the message in the console and at the command line. */
  readonly messageId: string
  /** Finds the request in the API log. */
  readonly requestId: string | null
  /** `PUBLISHED` only for a repeat whose message has left by then. */
  readonly state: 'QUEUED' | 'PUBLISHED'
}

/** The result of one try. */
export type Answer = { readonly sent: Sent } | Failure

interface Failure {
  /** A `NuncioRefusal`, or the error that came before an answer. */
  readonly error: unknown
  /** True when it is unknown whether the message was stored. */
  readonly isOpen: boolean
}

/** The shape of all replies. The answer of another server may lack any part of it. */
interface Body {
  readonly success?: boolean
  readonly code?: RefusalCode
  readonly name?: string
  readonly message?: string
  readonly data?: { readonly state?: Sent['state']; readonly errors?: readonly FieldError[] }
}

/** Reads an answer to its end. Rejects when the connection breaks before. */
export async function readReply(response: Response, idempotencyKey: string): Promise<Answer> {
  const body = parseBody(await response.text())
  const { status, headers } = response
  const requestId = headers.get('x-request-id')
  const messageId = headers.get('x-message-id')
  const state = body.data?.state
  if (body.success === true && messageId && state) return { sent: { messageId, requestId, state } }
  // The page of a proxy or of a wrong address has no code of ours.
  const code = body.success === false && body.code?.startsWith('HC-') ? body.code : null
  const fields = (code && body.data?.errors) || []
  const refusal = new NuncioRefusal({
    status,
    code,
    name: (code && body.name) || 'NuncioRefusal',
    message: sentence(status, code, fields) || body.message || '',
    fields,
    requestId,
    retryAfterSeconds: readSeconds(headers.get('retry-after')),
    idempotencyKey,
  })
  return { error: refusal, isOpen: !isCertain(refusal) }
}

/** Whether an answer guarantees that nothing was stored. A 500 does not, nor a proxy's 502, nor the 200 of another server. */
function isCertain({ status, code, fields }: NuncioRefusal): boolean {
  if (code === 'HC-9') return !fields.some((field) => field.code === 'commit_unknown')
  return code === 'HC-2' || (status >= 300 && status < 500)
}

function parseBody(text: string): Body {
  try {
    return (JSON.parse(text) as Body | null) ?? {}
  } catch {
    return {}
  }
}

function sentence(status: number, code: string | null, fields: readonly FieldError[]): string {
  if (!code) return `The answer, status ${status}, is not that of a Nuncio service. Is the URL right?`
  return fields.map(({ field, message }) => (field ? `${field}: ${message}` : message)).join(' ')
}

/** Seconds, or a date, as proxies write it. */
function readSeconds(retryAfter: string | null): number | null {
  if (!retryAfter) return null
  const seconds = Number(retryAfter)
  const given = Number.isNaN(seconds) ? (Date.parse(retryAfter) - Date.now()) / 1000 : seconds
  return Number.isNaN(given) ? null : Math.max(0, given)
}
