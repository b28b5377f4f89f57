import type { Logger } from 'pino'
import type { Settings } from '../../config/read-settings.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { Refusal } from '../../core/refusals.ts'
import type { TlsIdentity } from '../../http/server/tls-identity.ts'
import { checkExpiry } from './check-expiry.ts'
import { readTlsFiles, type TlsFiles } from './read-tls-files.ts'

const CHECK_EVERY_MS = 10_000
const WARN_EVERY_MS = 86_400_000

interface TlsWatchParts {
  readonly settings: Pick<Settings, 'tlsCertFile' | 'tlsKeyFile'>
  readonly logger: Pick<Logger, 'info' | 'warn' | 'error'>
  /** Callers check certificates by its wall clock. */
  readonly clock: Pick<Clock, 'wall' | 'after'>
  readonly checkEveryMs?: number
}

/**
 * Polls the files of the certificate, and uses a new one for later connections. An unusable one is reported once, and the old
 * one stays in use. It compares the text, not time or name, because tools that renew replace links, folders or whole files.
 */
export class TlsWatch {
  readonly #parts: TlsWatchParts
  #current: TlsFiles | null
  #reportedError = ''
  #warnedAt = Number.NEGATIVE_INFINITY
  #cancel: (() => void) | null = null
  #isClosed = false

  /** Refuses with `tls_unusable`. */
  constructor(parts: TlsWatchParts) {
    this.#parts = parts
    this.#current = readTlsFiles(parts.settings)
  }

  /** Null: plain HTTP. */
  get identity(): TlsIdentity | null {
    return this.#current
  }

  /** To be called once. */
  start(take: (identity: TlsIdentity) => void): void {
    if (!this.#current) return
    this.#warnOfExpiry()
    this.#scheduleCheck(take)
  }

  /** Harmless twice. */
  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }

  #scheduleCheck(take: (identity: TlsIdentity) => void): void {
    if (this.#isClosed) return
    this.#cancel = this.#parts.clock.after(this.#parts.checkEveryMs ?? CHECK_EVERY_MS, () => {
      this.#check(take)
      this.#warnOfExpiry()
      this.#scheduleCheck(take)
    })
  }

  #check(take: (identity: TlsIdentity) => void): void {
    const { settings, logger } = this.#parts
    try {
      const found = readTlsFiles(settings)
      this.#reportedError = ''
      if (!found || (found.cert === this.#current?.cert && found.key === this.#current.key)) return
      take(found)
      this.#current = found
      this.#warnedAt = Number.NEGATIVE_INFINITY
      logger.info({ expiresAt: checkExpiry(found.certificate, 0).expiresAt }, 'a new certificate is in force')
    } catch (error) {
      // While a new pair is written, a check may find only one of its files; the next check finds both.
      const words = error instanceof Error ? error.message : String(error)
      if (words === this.#reportedError) return
      this.#reportedError = words
      logger.error(
        error instanceof Refusal ? { code: error.code } : { err: error },
        `the new certificate cannot be used, the old one stays in force: ${words}`,
      )
    }
  }

  #warnOfExpiry(): void {
    const { clock, logger } = this.#parts
    const now = clock.wall()
    if (!this.#current || now - this.#warnedAt < WARN_EVERY_MS) return
    const { sentence, expiresAt, level } = checkExpiry(this.#current.certificate, now)
    if (sentence === null) return
    this.#warnedAt = now
    logger[level === 'over' ? 'error' : 'warn']({ expiresAt }, sentence)
  }
}
