import type { Settings } from '../../config/read-settings.ts'
import type { VerifyProgress } from '../../storage/queries/verify/verification.ts'

export interface VerifyRequest {
  readonly settings: Settings
  /** The folder of a backup; null: the database that is served. */
  readonly backup: string | null
  readonly onProgress: (progress: VerifyProgress) => void
  readonly now: () => number
}
