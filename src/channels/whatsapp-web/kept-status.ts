import type { Instant } from '../../core/ids.ts'
import type { SessionStatus } from './close-code.ts'
import type { StoredSession } from './stored-session.ts'

/** What keeps a session closed over restarts, and for how long yet; null: nothing does. */
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

/** Keeps what must outlast a restart. Whether the session is that of the device before now. */
export async function keepStatus(stored: StoredSession, status: SessionStatus): Promise<boolean> {
  try {
    if (status.name === 'unlinked') {
      if (await stored.restoreFormer()) return true
      await stored.remove()
    }
    if (status.name === 'taken-elsewhere' || status.name === 'banned') await stored.keepStatus(status)
  } catch {
    // Storage is away, and says so itself. The next login brings the same code again.
  }
  return false
}
