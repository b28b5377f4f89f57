import type { Instant } from '../../core/ids.ts'
import type { SessionStatus } from './close-code.ts'
import type { StoredSession } from './stored-session.ts'

/** The stored status that keeps a session closed after a restart, and for how long; null: there is none. */
export async function readKeptStatus(
  stored: StoredSession,
  now: Instant,
): Promise<{ readonly status: SessionStatus; readonly retryInMs: number | null } | null> {
  const status = await stored.readStatus()
  if (!status) return null
  const until = status.name === 'banned' ? status.until : null
  const retryInMs = until === null ? null : until - now
  if (retryInMs === null || retryInMs > 0) return { status, retryInMs }
  await stored.forgetStatus()
  return null
}

/** Stores a status that must outlast a restart. Returns whether the session is now that of the former device. */
export async function keepStatus(stored: StoredSession, status: SessionStatus): Promise<boolean> {
  try {
    if (status.name === 'unlinked') {
      if (await stored.restoreFormer()) return true
      await stored.remove()
    }
    if (status.name === 'taken-elsewhere' || status.name === 'banned') await stored.keepStatus(status)
  } catch {
    // Storage logs by itself that it is away. The next login brings the same code again.
  }
  return false
}
