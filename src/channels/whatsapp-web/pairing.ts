import type { Clock } from '../../core/ports/clock.ts'
import type { SessionRequestEnd, SessionRequestProgress } from '../../core/ports/session-requests.ts'
import type { WantedVersion } from './client-version.ts'
import type { HostedSocket, ThreadHost } from './thread/host.ts'
import type { PairingOptions, SocketChange } from './thread/messages.ts'

interface PairingParts {
  readonly host: ThreadHost
  readonly clock: Clock
  readonly url: string
  readonly version: WantedVersion | null
  /** While true, this worker may go on. */
  readonly stillHolds: () => boolean
  /** False when it must not go on. */
  readonly report: (progress: SessionRequestProgress, code?: string) => Promise<boolean>
  /** Stores the credentials of the linked device. Durable when it resolves. */
  readonly adopt: (credentials: string) => Promise<void>
}

// A phone that accepts a code does so at once, and WhatsApp sends codes as soon as the line is open.
const GOES_ON_WITHIN_MS = 60_000
// Between the typing of a code and the request to sign, a few messages pass between the phone and the device.
const TYPED_LATE_MS = 20_000
const LOST: Extract<SocketChange, { kind: 'closed' }> = { kind: 'closed', code: null, expiresInMs: null }

export interface PairingEnd {
  readonly end: SessionRequestEnd
  readonly detail?: string
}

/**
 * Links a device to a phone.
 *
 *   CONNECTING ──▶ SHOWING (a code, and the next) ──▶ CONFIRMED ──▶ linked: the credentials are stored, then it signs
 *        └──────────────┴── the line ended, refused, the codes are used up ──▶ its end
 *
 * - Nothing is stored before the phone has confirmed the right number, so a pairing that is given up leaves nothing behind.
 * - The line ends after the signature. The session then logs in with what was stored.
 * - Where WhatsApp falls silent, it ends by itself.
 */
export class Pairing {
  readonly #parts: PairingParts
  readonly #options: PairingOptions
  readonly #ended = Promise.withResolvers<PairingEnd | 'linked' | null>()
  #reported: Promise<unknown> = Promise.resolve()
  /** Once a phone has linked the device. Small changes of its credentials follow, which the next login brings again. */
  #linking: Promise<void> | null = null
  #isLinked = false
  /** The last of the codes is shown. The line ends soon after it. */
  #isLastCode = false
  #socket: HostedSocket | null = null
  #cancelExpiry = () => {}

  constructor(parts: PairingParts, options: PairingOptions) {
    this.#parts = parts
    this.#options = options
  }

  /** Null when it must not go on. */
  async run(signal: AbortSignal): Promise<PairingEnd | 'linked' | null> {
    const { host, url, version, stillHolds } = this.#parts
    const stop = () => this.#ended.resolve(null)
    signal.addEventListener('abort', stop, { once: true })
    this.#socket = host.open(
      { url, credentials: null, version, pairing: this.#options },
      {
        stillHolds,
        // They begin with the first login.
        readKeys: async () => [],
        writeKeys: async () => {},
        writeCredentials: (text) => (this.#linking ??= this.#link(text)),
        keepReceipt: async () => {},
        findRepeat: async () => null,
        mayRepeat: async () => false,
        mayLeave: () => null,
        changed: (change) => this.#follow(change),
      },
    )
    this.#expireIn(GOES_ON_WITHIN_MS)
    const end = await this.#ended.promise
    signal.removeEventListener('abort', stop)
    this.#cancelExpiry()
    await this.#socket.close({ logsOut: false })
    // Nothing is stored any more once it has ended.
    await this.#linking?.catch(() => {})
    await this.#reported
    return end
  }

  async #link(credentials: string): Promise<void> {
    await this.#reported
    const mayGoOn = await this.#parts.report({ state: 'confirmed' })
    if (!mayGoOn || !this.#parts.stillHolds()) throw new Error('this pairing has ended')
    await this.#parts.adopt(credentials)
    this.#isLinked = true
  }

  #follow(change: SocketChange): void {
    switch (change.kind) {
      case 'code':
        this.#isLastCode = change.number === change.of
        this.#show(change)
        break
      case 'confirmed':
        this.#isLastCode = false
        this.#expireIn(GOES_ON_WITHIN_MS)
        this.#report({ state: 'confirmed' })
        break
      case 'code-refused':
        this.#ended.resolve({ end: 'code-refused', detail: change.code })
        break
      case 'other-number':
        this.#ended.resolve({ end: 'other-number', detail: change.lastDigits })
        break
      case 'closed':
        void Promise.resolve(this.#linking)
          .catch(() => {})
          .then(() => this.#ended.resolve(this.#endOf(change)))
        break
      case 'ready':
        break
    }
  }

  #show({ text, number, of, validMs }: Extract<SocketChange, { kind: 'code' }>): void {
    const { clock } = this.#parts
    this.#report({ state: 'showing', shown: { number, of, until: clock.now() + validMs } }, text)
    this.#expireIn(validMs + this.#lateMs())
  }

  /** How long after the time of a code what follows it may come. */
  #lateMs(): number {
    if (this.#options.byCode) return TYPED_LATE_MS
    return this.#isLastCode ? 0 : GOES_ON_WITHIN_MS
  }

  #expireIn(ms: number): void {
    this.#cancelExpiry()
    this.#cancelExpiry = this.#parts.clock.after(ms, () => this.#follow(LOST))
  }

  #endOf({ code }: Extract<SocketChange, { kind: 'closed' }>): PairingEnd | 'linked' {
    if (this.#isLinked) return 'linked'
    if (this.#isLastCode && code === null) return { end: 'expired' }
    return { end: 'failed', ...(code !== null && { detail: String(code) }) }
  }

  /** One after the other, so that the last one stays. */
  #report(progress: SessionRequestProgress, code?: string): void {
    this.#reported = this.#reported
      .then(() => this.#parts.report(progress, code))
      .then((mayGoOn) => {
        if (!mayGoOn && !this.#isLinked) this.#ended.resolve(null)
      })
      // Storage is away, so the code cannot be shown.
      .catch(() => this.#ended.resolve({ end: 'failed' }))
  }
}
