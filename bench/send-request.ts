export const SEND_PATH = '/chat/api/v1/public/message/send'

const FIRST_RECIPIENT = 15_551_234_567
// About as long as a usual notification: 100 characters.
export const TEXT =
  'Your order has left our house and should be with you tomorrow between nine and twelve. Thank you all!'

export function recipientAt(place: number): string {
  return String(FIRST_RECIPIENT + place)
}

export interface SendRequest {
  readonly token: string
  readonly from: string
  /** Left out: the first of all recipients. */
  readonly to?: string
  /** Null: sends a text. */
  readonly documentUrl?: string
}

/** The JSON body of a message. */
export function sendBody({ from, to = recipientAt(0), documentUrl }: Omit<SendRequest, 'token'>): string {
  const message =
    documentUrl === undefined
      ? { type: 'message', message: TEXT }
      : { type: 'document', media: { name: 'file.bin', url: documentUrl } }
  return JSON.stringify({ from, to, message })
}

/** A whole request, ready to be written to a socket. */
export function sendRequest(request: SendRequest): Buffer {
  const body = sendBody(request)
  const head = [
    `POST ${SEND_PATH} HTTP/1.1`,
    'host: 127.0.0.1',
    'user-agent: nuncio-bench',
    `x-api-key: ${request.token}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}
