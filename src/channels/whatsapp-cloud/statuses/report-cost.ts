import type { ReportedStatus, StoredReports } from './reported.ts'

/** The recipient has not written for 24 hours: only a template may go (page “Error codes”). */
export const WINDOW_CLOSED = 131047

// What may open storage anew, to send again, or asks it several times, one after the other.
const COSTS_MORE = 20

/** How much of a query's work the reports of an entry are. One report counts 1. */
export function costOf({ statuses, writers, numbers }: StoredReports): number {
  const costOfStatus = ({ kind, code }: ReportedStatus) =>
    kind === 'failed' && code === WINDOW_CLOSED ? COSTS_MORE : 1
  return statuses.reduce((sum, status) => sum + costOfStatus(status), writers.length + numbers.length * COSTS_MORE)
}
