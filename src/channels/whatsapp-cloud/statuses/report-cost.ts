import type { ReportedStatus, StoredReports } from './reported.ts'

/** The recipient has not written for 24 hours: only a template may go (page “Error codes”). */
export const WINDOW_CLOSED = 131047

// A report that may send a message again, or needs several queries one after the other.
const COSTS_MORE = 20

/** The work of applying an entry's reports, counted against the limit of a query. One report counts 1. */
export function costOf({ statuses, writers, numbers }: StoredReports): number {
  const costOfStatus = ({ kind, code }: ReportedStatus) =>
    kind === 'failed' && code === WINDOW_CLOSED ? COSTS_MORE : 1
  return statuses.reduce((sum, status) => sum + costOfStatus(status), writers.length + numbers.length * COSTS_MORE)
}
