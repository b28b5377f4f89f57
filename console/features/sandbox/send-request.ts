import { SERVICE_PATH } from '../../app/service-path.ts'
import type { Json } from '../quickstart/snippets.ts'

export const SEND_PATH = `${SERVICE_PATH}/chat/api/v1/public/message/send`

export interface SendReply {
  readonly status: number
  /** `x-request-id` and `x-message-id`, as far as it has them. */
  readonly ids: readonly { readonly name: string; readonly value: string }[]
  /** The body, as JSON over several lines. */
  readonly text: string
  /** Errors by the path of the field in the body; null for the whole request. */
  readonly errors: readonly { readonly field: string | null; readonly message: string }[]
}

/** Sends it through the public endpoint like any other client, without the session of the console. */
export async function send(body: Json, token: string): Promise<SendReply> {
  const response = await fetch(SEND_PATH, {
    method: 'POST',
    credentials: 'omit',
    headers: { 'content-type': 'application/json', 'x-api-key': token },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const ids = ID_HEADERS.flatMap((name) => {
    const value = response.headers.get(name)
    return value === null ? [] : [{ name, value }]
  })
  return { status: response.status, ids, text: indented(text), errors: errorsIn(text) }
}

// The last one finds it in the API log at once.
const ID_HEADERS = ['x-request-id', 'x-message-id']

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function errorsIn(text: string): SendReply['errors'] {
  try {
    const reply = JSON.parse(text) as { readonly data?: { readonly errors?: SendReply['errors'] } }
    return reply.data?.errors ?? []
  } catch {
    return []
  }
}
