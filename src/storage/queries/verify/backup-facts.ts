/** Facts about the database in a backup, so that it can be checked without opening it. */
export interface BackupFacts {
  readonly installation: string
  /** See `Checkpoint`. */
  readonly mark: number
  readonly holds: number
  readonly migrations: readonly AppliedMigration[]
  /** The key that the secrets in it are sealed with; null when there are none yet. */
  readonly keyId: string | null
  readonly counts: BackupCounts
}

export interface AppliedMigration {
  readonly number: number
  readonly name: string
  readonly breaking: boolean
}

export interface BackupCounts {
  readonly accounts: number
  readonly connections: number
  readonly tokens: number
  readonly messages: number
  /** How many of the messages wait. */
  readonly waiting: number
}

/** The progress of a long task. */
export interface BackupProgress {
  readonly doing: 'copying' | 'checking' | 'reading' | 'restoring'
  /** Bytes of files, or rows. */
  readonly done: number
  /** Null where it is not known in advance. */
  readonly of: number | null
}

/** The hold of a restored database. */
export interface RestoredHold {
  readonly reason: string
  readonly at: number
  /** The number of holds in this machine's checkpoint; 0 without one. */
  readonly holdsRemembered: number
  /** The key ring is lost: sealed values stay but cannot be opened, and a new ring may be made. */
  readonly withoutSecrets: boolean
  readonly media: MovedMedia | null
}

/** Fetched files that came back with the backup, to another place. */
export interface MovedMedia {
  readonly from: string
  readonly to: string
}

/** What happened in a database that was replaced, and is not known to the one that was restored in its place. */
export interface HappenedSince {
  /** Accepted after the backup: they are not in it. */
  readonly accepted: number
  /** Waiting in the backup, and handed over or ended since: released, they would be sent a second time. */
  readonly ended: readonly string[]
}
