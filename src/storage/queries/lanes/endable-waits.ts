import type { ReasonCode } from '../../../core/reasons.ts'

// What a lane waits for that is no wait of its own, or that it would find again at once: its owner's own settings, its
// media, a person, a worker.
const NOT_ENDED: ReadonlySet<string> = new Set<ReasonCode>([
  'due',
  'sending',
  'behind_others',
  'awaiting_evidence',
  'media_uploading',
  'pace',
  'quiet_hours',
  'backlog_confirmation',
  'paused',
  'connection_removed',
  'database_went_back',
  'service_stopped',
  'process_gone',
  'storage_unavailable',
])

/** Whether a person may end a wait for this reason. */
export function mayBeEnded(reason: string): boolean {
  return !NOT_ENDED.has(reason)
}
