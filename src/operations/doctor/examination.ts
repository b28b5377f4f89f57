import type { Settings, SettingsReading } from '../../config/read-settings.ts'
import type { AdministrationSession } from '../../server/wiring/open-administration.ts'
import type { CheckResult } from './finding.ts'

/** What the checks of one run share. */
export interface Examination {
  /** The file of the command line that runs. */
  readonly program: string
  readonly reading: SettingsReading
  /** Null while any setting is wrong. */
  readonly settings: Settings | null
  /** Known as long as its own setting is right. */
  readonly dataDir: string | null
  /** No other machine is asked anything, but the database. */
  readonly isOffline: boolean
  /** What to fetch as media is fetched; null: nothing. */
  readonly outboundUrl: string | null
  /** How many times to kill; null: no kill test. */
  readonly killRounds: number | null
  readonly now: () => number
  readonly onProgress: (words: string) => void
  /** Ends what takes long, in order. */
  readonly signal: AbortSignal
  /** The data, opened once for all checks; null when they cannot be opened, which the check of the database explains. */
  readonly openSession: () => Promise<AdministrationSession | null>
}

export type Check = (examination: Examination) => Promise<CheckResult | readonly CheckResult[]>
