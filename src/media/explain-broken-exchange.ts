import { MediaProblem } from './media-problem.ts'

export interface Exchange {
  /** The host closed its side of the connection. */
  readonly peerHasEnded: boolean
  /** The headers of the response had arrived. */
  readonly hasAnswered: boolean
}

const RESET_CODES: readonly string[] = [
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
]

/** The only code that knows the errors of the HTTP library. Decides by their codes and by our state, never by message text. */
export function explainBrokenExchange(error: unknown, exchange: Exchange): MediaProblem {
  if (error instanceof MediaProblem) return error
  const code = codeOf(error)
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return new MediaProblem('media_protocol', 'The headers of the media host are larger than 16 KiB.', { cause: error })
  }
  if (code.startsWith('ERR_SSL') || code === 'EPROTO') {
    return new MediaProblem('media_tls', `The TLS connection to the media host broke (${code}).`, { cause: error })
  }
  const wasCutOff = exchange.peerHasEnded || RESET_CODES.includes(code) || code === 'HPE_INVALID_EOF_STATE'
  // Before the headers are complete the library reports "length mismatch" for any broken header after the length.
  const isShort = exchange.hasAnswered && code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'
  if (exchange.hasAnswered && (wasCutOff || isShort)) {
    const words = 'The media host closed the connection before the whole file had arrived.'
    return new MediaProblem('media_truncated', words, { cause: error })
  }
  if (wasCutOff) {
    const words = 'The media host closed the connection without an answer.'
    return new MediaProblem('media_connect', words, { cause: error })
  }
  // The rest are responses that the parser refused: broken framing, an unrequested upgrade, two lengths.
  const detail = code.startsWith('HPE_') ? ` (${code})` : ''
  return new MediaProblem('media_protocol', `The answer of the media host is not usable HTTP/1.1${detail}.`, {
    cause: error,
  })
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}
