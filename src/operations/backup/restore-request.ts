import type { Settings } from '../../config/read-settings.ts'
import type { KnownPast } from '../../storage/queries/checkpoint.ts'
import type { BackupProgress, HappenedSince, RestoredHold } from '../../storage/queries/verify/backup-facts.ts'
import type { Manifest } from './manifest.ts'

export interface RestoreRequest {
  readonly settings: Settings
  /** The folder of the backup. */
  readonly from: string
  /** Moves what is there aside, instead of refusing. */
  readonly replace: boolean
  /** The key ring is lost for good. */
  readonly withoutSecrets: boolean
  readonly onProgress: (progress: BackupProgress) => void
  readonly now: () => number
}

export interface Restored {
  readonly manifest: Manifest
  readonly reason: string
  /** Where what was replaced is kept; null when there was nothing. */
  readonly aside: string | null
  /** Null when the replaced database cannot be compared, or does not itself know what was sent. */
  readonly since: HappenedSince | null
  /** When a service on this machine last used the database, if that was after the backup; null when it is unknown. */
  readonly livedUntil: number | null
}

/** What an engine needs to put a backup in its place. */
export interface Putting {
  readonly manifest: Manifest
  readonly folder: string
  readonly request: RestoreRequest
  readonly hold: RestoredHold
  readonly past: KnownPast
  /** Names what is moved aside. */
  readonly stamp: string
}

export type Put = Pick<Restored, 'aside' | 'since'>
