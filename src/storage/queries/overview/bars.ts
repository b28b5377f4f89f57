import type { Instant } from '../../../core/ids.ts'
import type { Tallies, TallyBar } from '../../../core/ports/console/overview.ts'

export const NONE: Tallies = {
  published: 0,
  waiting: 0,
  failed: 0,
  unconfirmed: 0,
  expired: 0,
  cancelled: 0,
  refused: 0,
}

export interface Bars {
  readonly from: Instant
  readonly barMs: number
  readonly bars: readonly TallyBar[]
  /** Null: nothing of it was counted yet. */
  readonly countedAt: Instant | null
  readonly isComplete: boolean
}
