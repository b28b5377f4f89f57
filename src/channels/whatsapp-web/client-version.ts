import type { Clock } from '../../core/ports/clock.ts'
import type { GuardedCall } from '../../core/ports/guarded-call.ts'

/** A version of WhatsApp Web, such as `2.3000.1043857760`. */
export type ClientVersion = `2.3000.${number}`

/** The version to log in with. */
export interface WantedVersion {
  readonly version: ClientVersion
  /** True: exactly this one. False: the library's own version, if that is newer. */
  readonly isExact: boolean
}

interface VersionsParts {
  /** The version that the operator has set; null: none. */
  readonly set: ClientVersion | null
  /** Where sessions log in. */
  readonly url: string
  readonly guarded: GuardedCall
  readonly clock: Clock
}

/** With this code WhatsApp ends the line of a client that is too old. */
export const VERSION_REFUSED = 405

const ASKED_AGAIN_MS = 6 * 3_600_000
const ANSWERS_WITHIN_MS = 15_000
const MOST_BYTES = 1_000_000
// Only browsers get this file, and the device is linked as a browser.
const HEADERS = {
  'user-agent':
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  'sec-fetch-site': 'none',
}
const REVISION = /"?client_revision\\?"?:\s*(\d{1,12})/

/** WhatsApp refuses the login of a client that is too old. The page of WhatsApp Web says which version is current. */
export class ClientVersions {
  readonly #parts: VersionsParts
  #found: ClientVersion | null = null
  #askedAt: number | null = null
  #asking: Promise<void> | null = null
  readonly #stopped = new AbortController()

  constructor(parts: VersionsParts) {
    this.#parts = parts
  }

  /** `lastLogin`: the version that the session logged in with last. Null: the library's own. */
  choose(lastLogin: ClientVersion | null): WantedVersion | null {
    const { set } = this.#parts
    if (set) return { version: set, isExact: true }
    const version = this.#found ?? lastLogin
    return version && { version, isExact: false }
  }

  /** Ends a running request and makes no more. */
  stop(): void {
    this.#stopped.abort()
  }

  /** After a login as `tried` was refused: whether there is another version to try. Asks at most once in six hours. */
  async findAnother(tried: ClientVersion | null): Promise<boolean> {
    const { set, clock } = this.#parts
    if (set) return false
    const mayAsk = this.#askedAt === null || clock.monotonic() - this.#askedAt >= ASKED_AGAIN_MS
    if (mayAsk) {
      this.#askedAt = clock.monotonic()
      this.#asking = this.#ask().finally(() => {
        this.#asking = null
      })
    }
    // Many sessions are refused together: all wait for the one answer.
    await this.#asking
    return this.#found !== null && this.#found !== tried
  }

  async #ask(): Promise<void> {
    const { guarded, url } = this.#parts
    const end = await guarded.call(
      {
        method: 'GET',
        url: pageOf(url),
        headers: HEADERS,
        body: null,
        timeoutMs: ANSWERS_WITHIN_MS,
        mostAnswerBytes: MOST_BYTES,
      },
      { signal: this.#stopped.signal },
    )
    if (end.kind !== 'answered' || end.status !== 200) return
    const [, revision] = REVISION.exec(Buffer.from(end.body).toString()) ?? []
    if (revision !== undefined) this.#found = `2.3000.${Number(revision)}`
  }
}

/** Beside the WebSocket. */
function pageOf(url: string): string {
  const page = new URL('/sw.js', url)
  page.protocol = page.protocol === 'ws:' ? 'http:' : 'https:'
  return page.href
}
