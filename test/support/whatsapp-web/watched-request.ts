import type { DeviceSessions, SessionRequestView } from '../../../src/core/ports/console/device-sessions.ts'
import type { OfConnection } from '../../../src/core/ports/console/lanes.ts'
import type { Secrets } from '../../../src/core/ports/secrets.ts'
import { placeOfCode } from '../../../src/core/ports/session-requests.ts'
import { waitUntil } from '../black-box/wait-until.ts'

interface Watched {
  readonly of: OfConnection
  readonly id: string
  readonly secrets: Secrets
  readonly notify: () => void
}

const LIMIT = { deadlineMs: 60_000, everyMs: 20 }

/** A request about a session, as the page that watches it sees it. */
export class WatchedRequest {
  readonly #requests: DeviceSessions
  readonly #watched: Watched

  constructor(requests: DeviceSessions, watched: Watched) {
    this.#requests = requests
    this.#watched = watched
  }

  watch(): Promise<SessionRequestView> {
    const { of, id } = this.#watched
    return this.#requests.watch(of, id)
  }

  async cancel(): Promise<void> {
    const { of, id, notify } = this.#watched
    await this.#requests.cancel(of, id, 'test')
    notify()
  }

  /** Waits for a code other than `before`. */
  async code(before: string | null = null): Promise<string> {
    const shown = await this.codeOrEnd(before)
    if (shown === null) throw new Error('it ended without a code')
    return shown
  }

  /** The same, or null if the request ends before that. */
  async codeOrEnd(before: string | null): Promise<string | null> {
    let shown = ''
    let hasEnded = false
    await waitUntil(
      'a code',
      async () => {
        const view = await this.watch()
        shown = this.#open(view)
        hasEnded = view.progress.state === 'ended'
        return hasEnded || (shown !== '' && shown !== before)
      },
      LIMIT,
    )
    return hasEnded ? null : shown
  }

  /** How the request ended, with the detail. */
  async end(): Promise<readonly [end: string | undefined, detail: string | undefined]> {
    let found: SessionRequestView | null = null
    await waitUntil(
      'the end',
      async () => {
        found = await this.watch()
        return found.progress.state === 'ended'
      },
      LIMIT,
    )
    // The database notifies too: waits of the lane end with the request.
    this.#watched.notify()
    const { progress } = found as unknown as SessionRequestView
    return [progress.end, progress.detail]
  }

  #open({ code }: SessionRequestView): string {
    const { of, id, secrets } = this.#watched
    return code === null ? '' : secrets.open(code, placeOfCode(of, id))
  }
}
