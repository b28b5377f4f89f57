import type { Instant } from '../../../core/ids.ts'
import type { Removed, RetentionState } from '../../../core/ports/retention.ts'
import { TURN_LASTS_MS } from '../../../core/retention/run-sweep.ts'

export const READ_STATE =
  'select begins_at, waits_for, swept_by, swept_until, begun_at, ended_at, took_ms, counts from retention_state'

interface StateRow {
  readonly begins_at: Instant
  readonly waits_for: string | null
  readonly swept_by: string | null
  readonly swept_until: Instant
  readonly begun_at: Instant | null
  readonly ended_at: Instant | null
  readonly took_ms: number | null
  readonly counts: string | null
}

export function toRetentionState(row: unknown, now: Instant): RetentionState {
  const state = row as StateRow
  const { begun_at: begunAt, ended_at: endedAt, took_ms: tookMs, counts } = state
  return {
    beginsAt: state.begins_at,
    waitsFor: state.waits_for as RetentionState['waitsFor'],
    // A turn that lasts longer than any was taken before the clock was set back.
    sweptBy: state.swept_until > now && state.swept_until <= now + 2 * TURN_LASTS_MS ? state.swept_by : null,
    last:
      begunAt === null || endedAt === null
        ? null
        : { begunAt, endedAt, tookMs: tookMs ?? 0, removed: JSON.parse(counts ?? '{}') as Removed },
  }
}
