import { DEVICE_KNOWN_FOR_MS, SESSION_LASTS } from '../../../core/people/lifetimes.ts'
import type { Proof } from '../../../core/ports/console/sessions.ts'
import type { ConsoleRequest } from '../request-context.ts'
import { giveSessionCookie, readConsoleCookie, sessionHashOf, setConsoleCookie } from '../session-cookie.ts'
import { createSecret, type PeopleParts, secretHash } from './people-parts.ts'

const DEVICE = 'device'

export interface Start {
  readonly personId: string
  readonly proof: Proof
  readonly isKept: boolean
}

/** Signs the person in under a new session id, and ends the session that the browser had. */
export async function startSession(parts: PeopleParts, context: ConsoleRequest, start: Start): Promise<void> {
  const { sessions } = parts.store
  const { request, reply, remoteAddress, userAgent } = context
  await endBroughtSession(parts, context)
  // A cookie without an end is deleted when the browser is closed.
  const sha256 = giveSessionCookie(reply, parts, start.isKept ? SESSION_LASTS.kept.mostMs / 1000 : null)
  await sessions.begin({ ...start, sha256, remoteAddress, userAgent })
  const known = readConsoleCookie(request, parts, DEVICE)
  const device = known !== null && isSecret(known) ? { secret: known, sha256: secretHash(known) } : createSecret(parts)
  setConsoleCookie(reply, parts, { name: DEVICE, value: device.secret, maxAgeSeconds: DEVICE_KNOWN_FOR_MS / 1000 })
  await sessions.rememberDevice(start.personId, device.sha256)
}

async function endBroughtSession({ store, ...parts }: PeopleParts, { request }: ConsoleRequest): Promise<void> {
  const sha256 = sessionHashOf(request, parts)
  const brought = sha256 && (await store.sessions.find(sha256))
  if (brought) await store.sessions.end(brought.personId, brought.sessionId)
}

/** The hash of this browser's cookie, when the person has signed in with it before. */
export async function findKnownDevice(
  parts: PeopleParts,
  { request }: ConsoleRequest,
  personId: string,
): Promise<string | null> {
  const cookie = readConsoleCookie(request, parts, DEVICE)
  if (cookie === null || !isSecret(cookie)) return null
  const sha256 = secretHash(cookie)
  return (await parts.store.sessions.knowsDevice(personId, sha256)) ? sha256.toString('hex') : null
}

function isSecret(text: string): boolean {
  return /^[\w-]{43}$/.test(text)
}
