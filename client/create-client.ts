import { type Message, toRequest } from './message.ts'
import { NuncioRefusal } from './nuncio-refusal.ts'
import { NuncioUnreachable } from './nuncio-unreachable.ts'
import { type Answer, readReply, type Sent } from './read-reply.ts'

export interface ClientOptions {
  /** Where the service is: `https://nuncio.example.com`. */
  readonly url: string
  /** An API token with the event Messaging > Send Message. Never use one in a browser. */
  readonly token: string
  /** How long one try may take; 10,000 if not given. */
  readonly timeoutMs?: number | undefined
  /** How often it tries again after the first try; 4 if not given. */
  readonly retries?: number | undefined
  /** Used instead of the global `fetch`. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined
}

export interface SendOptions {
  /**
   * The id of your event (`order-4711-shipped`), so that its message is sent once even if your program restarts: 1 to 255
   * printable ASCII characters. Without it each call makes its own key, which covers only the retries of that call.
   */
  readonly idempotencyKey?: string | undefined
  /** Ends the call, which then rejects with the signal's reason. The message may have been stored by then. */
  readonly signal?: AbortSignal | undefined
}

export interface Client {
  /**
   * Resolves once the service has stored the message. Rejects with a `NuncioRefusal` if it certainly has not, and with
   * `NuncioUnreachable` if that is unknown.
   */
  send(message: Message, options?: SendOptions): Promise<Sent>
}

const PATH = '/chat/api/v1/public/message/send'
const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 60_000

/** A client of one service. It keeps nothing open, so there is nothing to close. */
export function createClient(options: ClientOptions): Client {
  const { token, timeoutMs = 10_000, retries = 4, fetch = globalThis.fetch } = options
  const url = endpointOf(options.url)
  // Checked here, because the error of `fetch` for a bad header may contain its value and seems to be a network error.
  if (!/^[!-~]+$/.test(token)) throw new TypeError('The token is missing or is none')

  async function send(message: Message, { idempotencyKey, signal }: SendOptions = {}): Promise<Sent> {
    const key = idempotencyKey ?? crypto.randomUUID()
    if (!/^[ -~]{1,255}$/.test(key)) throw new TypeError('An idempotency key is 1 to 255 printable ASCII characters')
    const init = {
      method: 'POST',
      headers: { 'x-api-key': token, 'content-type': 'application/json', 'idempotency-key': key },
      // Serialised once: a caller may change the object between tries.
      body: JSON.stringify(toRequest(message)),
      // A redirect could turn the POST into a GET, and send the token to an unknown address.
      redirect: 'manual',
    } as const

    const tryOnce = async (): Promise<Answer> => {
      const limit = limitTime(timeoutMs, signal)
      try {
        return await readReply(await fetch(url, { ...init, signal: limit.signal }), key)
      } catch (error) {
        signal?.throwIfAborted()
        return { error, isOpen: true }
      } finally {
        limit.end()
      }
    }

    let isOpen = false
    for (let tries = 1; ; tries += 1) {
      signal?.throwIfAborted()
      const answer = await tryOnce()
      if ('sent' in answer) return answer.sent
      const { error } = answer
      // An earlier try may have stored the message whatever this answer says, unless it refuses the message itself.
      isOpen = answer.isOpen || (isOpen && !(error instanceof NuncioRefusal && error.status === 400 && error.code))
      const waitMs = tries > retries ? null : waitBeforeTry(tries, error)
      if (waitMs === null) throw isOpen ? new NuncioUnreachable(key, error) : error
      await wait(waitMs, signal)
    }
  }

  return { send }
}

function endpointOf(text: string): string {
  const { protocol, username, href } = new URL(text)
  if (!/^https?:$/.test(protocol) || username || /[?#]/.test(href))
    throw new TypeError('The URL must be http or https, without user, password, query and fragment')
  return href.replace(/\/+$/, '') + PATH
}

/** Null if another try is pointless, or the service asks for a longer wait than a call should take. */
function waitBeforeTry(tries: number, error: unknown): number | null {
  // With jitter, so that clients that failed together do not retry together.
  const backoffMs = Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS) * (0.5 + Math.random() / 2)
  if (!(error instanceof NuncioRefusal)) return backoffMs
  if (!error.isRetryable) return null
  if (error.retryAfterSeconds === null) return backoffMs
  const askedMs = error.retryAfterSeconds * 1000
  return askedMs > LONGEST_WAIT_MS ? null : askedMs + backoffMs
}

// Not AbortSignal.any: Node 20 lacks it in its first versions.
function limitTime(timeoutMs: number, signal: AbortSignal | undefined) {
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(new Error(`There was no answer within ${timeoutMs} ms.`)), timeoutMs)
  const pass = () => controller.abort(signal?.reason)
  signal?.addEventListener('abort', pass)
  const end = () => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', pass)
  }
  return { signal: controller.signal, end }
}

function wait(waitMs: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, waitMs)
    signal?.addEventListener('abort', end)
  })
}
