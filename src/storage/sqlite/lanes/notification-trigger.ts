import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Instant } from '../../../core/ids.ts'
import type { Directory } from '../accept/directory.ts'
import type { Participant } from '../connection/group-commit.ts'

const NAME = 'notice_of_state'

// A temporary trigger belongs to this database connection alone. It sees every change of a state, whichever code makes it.
const CREATE = `
  create temp trigger if not exists ${NAME} after update of state on main.message
    when new.state <> old.state and new.state <> 'QUEUED' and exists (
      select 1 from notice_want where account_id = new.account_id and kind = 'message.' || lower(new.state))
  begin
    insert into notice (id, account_id, kind, at, message_sequence, data) values (
      'ntc_' || lower(hex(randomblob(16))), new.account_id, 'message.' || lower(new.state), notice_now(), new.sequence,
      json_object('messageId', new.id, 'connectionId', new.connection_id, 'to', new.recipient, 'type', new.type,
        'state', new.state, 'reason', new.reason, 'words', new.words, 'attempts', new.attempts, 'acceptedAt', new.accepted_at,
        'resendOf', (select id from message where sequence = new.resend_of)));
  end`

/** Lets a database connection that rarely changes messages write their notifications in the same commit. */
export function noteStates(database: DatabaseSync, now: () => Instant): void {
  database.function('notice_now', { deterministic: false }, () => now())
  database.exec(CREATE)
}

/**
 * The same for the database connection that accepts and dispatches: the trigger exists only while an account wants notices of
 * messages, so other installations pay nothing. It is checked inside each transaction, as the directory is.
 */
export class NotificationTrigger implements Participant {
  readonly #database: DatabaseSync
  readonly #directory: Directory
  readonly #isWanted: StatementSync
  /** The version of the directory when the trigger was last checked; null when that is not known. */
  #version: number | null = null
  #isThere = false

  constructor(database: DatabaseSync, directory: Directory, now: () => Instant) {
    this.#database = database
    this.#directory = directory
    database.function('notice_now', { deterministic: false }, () => now())
    // All kinds that begin with `message.`: the slash follows the dot.
    this.#isWanted = database.prepare(
      `select 1 from notice_want where kind >= 'message.' and kind < 'message/' limit 1`,
    )
  }

  begin(): void {
    const { version } = this.#directory
    if (version === this.#version) return
    const isWanted = this.#isWanted.get() !== undefined
    if (isWanted !== this.#isThere || this.#version === null)
      this.#database.exec(isWanted ? CREATE : `drop trigger if exists temp.${NAME}`)
    this.#isThere = isWanted
    this.#version = version
  }

  committed(): void {}

  /** The making of the trigger was rolled back with everything else. */
  rolledBack(): void {
    this.#version = null
  }
}
