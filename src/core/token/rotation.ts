import type { Instant } from '../ids.ts'
import { Refusal } from '../refusals.ts'

const OVERLAP_MS = 7 * 86_400_000

interface OldToken {
  readonly deletedAt: Instant | null
  readonly expiresAt: Instant
  readonly successorId: string | null
}

/** Refuses to replace a token that is deleted, has expired or has a successor already. */
export function refuseEnded({ deletedAt, expiresAt, successorId }: OldToken, now: Instant): void {
  if (deletedAt !== null || expiresAt <= now || successorId !== null) throw new Refusal('token_ended')
}

/** When the replaced token ends. `wanted` null: in 7 days, or at its own end if that is earlier. */
export function oldEndAt(wanted: Instant | null, { expiresAt }: OldToken, now: Instant): Instant {
  const endsAt = wanted ?? Math.min(now + OVERLAP_MS, expiresAt)
  if (endsAt > now && endsAt <= expiresAt) return endsAt
  throw new Refusal(
    'expiry_invalid',
    'The old token can end between now and when it would have expired anyway.',
    'oldEndsAt',
  )
}
