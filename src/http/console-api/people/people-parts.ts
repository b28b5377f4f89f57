import { hash } from 'node:crypto'
import type { Instant } from '../../../core/ids.ts'
import type { ThrottledTry } from '../../../core/people/throttle.ts'
import type { PersonActor } from '../../../core/ports/administration.ts'
import { Refusal } from '../../../core/refusals.ts'
import { counted } from '../../../format/counted.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { ConsoleRequest } from '../request-context.ts'
import type { PasswordHasher } from './password-hasher.ts'

/** The dependencies of the handlers for people. */
export interface PeopleParts extends ConsoleDeps {
  readonly hasher: PasswordHasher
}

const SECRET_BYTES = 32

/** 256 random bits for a link or a ticket, and the hash that it is stored under. */
export function createSecret({ randomBytes }: Pick<ConsoleDeps, 'randomBytes'>): {
  readonly secret: string
  readonly sha256: Buffer
} {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return { secret, sha256: secretHash(secret) }
}

export function secretHash(secret: string): Buffer {
  return hash('sha256', secret, 'buffer')
}

/** The actor in the audit log for a person who is not signed in yet. */
export function unauthenticatedActor(
  context: ConsoleRequest,
  person: { readonly email: string; readonly personId: string | null },
): PersonActor {
  const { remoteAddress, userAgent } = context
  return { name: person.email, personId: person.personId, remoteAddress, userAgent, right: null }
}

/** Counts the try before anything is compared. Throws `sign_in_throttled` with the time to wait. */
export async function countTry(parts: PeopleParts, tries: readonly ThrottledTry[]): Promise<void> {
  const until = await parts.store.sessions.countTry(tries)
  if (until !== null) throw new Refusal('sign_in_throttled', waitSentence(until, parts.clock.now()))
}

function waitSentence(until: Instant, now: Instant): string {
  const seconds = Math.max(1, Math.ceil((until - now) / 1_000))
  const wait = seconds < 120 ? counted(seconds, 'second') : `${Math.ceil(seconds / 60)} minutes`
  return `Too many tries. Try again in ${wait}.`
}
