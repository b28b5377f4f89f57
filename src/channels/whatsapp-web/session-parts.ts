import type { BlockedRecipients } from '../../core/ports/blocked-recipients.ts'
import type { Clock } from '../../core/ports/clock.ts'
import type { JournalEvent } from '../../core/ports/journal.ts'
import type { SessionStore } from '../../core/ports/session-store.ts'
import type { ClientVersions } from './client-version.ts'
import type { LoginTurns } from './login-turns.ts'
import type { Receipts } from './receipts.ts'
import type { ThreadHost } from './thread/host.ts'

/** What the sessions of a worker share. */
export interface SessionParts {
  readonly store: SessionStore
  readonly blocked: BlockedRecipients
  readonly host: ThreadHost
  readonly logins: LoginTurns
  /** For linking devices. */
  readonly pairings: LoginTurns
  readonly receipts: Receipts
  readonly versions: ClientVersions
  readonly clock: Clock
  readonly url: string
  readonly note: (event: JournalEvent) => void
}
