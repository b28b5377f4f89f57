import { SecretUnreadable } from '../../core/ports/secrets.ts'
import type { KeyRing } from '../../secrets/key-ring.ts'
import { CREDENTIALS, openSessionCipher } from '../../secrets/session-store.ts'
import type { Verification } from '../../storage/queries/verify/verification.ts'
import {
  type StoredDeviceSession,
  sessionKeys,
  storedSession,
  storedSessions,
} from '../../storage/queries/verify/verify-rest.ts'

type Ring = Pick<KeyRing, 'open'>
type Cipher = ReturnType<typeof openSessionCipher>

/** The keys of a session are encrypted with a data key of its own. That the key ring opens the data key proves nothing about them. */
export async function verifySessions(ring: Ring, verification: Verification): Promise<void> {
  let rows = 0
  for await (const session of storedSessions(verification)) {
    rows += await verifySession(ring, verification, session)
    verification.onProgress({ doing: 'keys of sessions', rows })
  }
}

/** Returns how many keys it has read. */
async function verifySession(ring: Ring, verification: Verification, session: StoredDeviceSession): Promise<number> {
  const { connection_id: connectionId, number, data_key: dataKey } = session
  const cipher = openCipher(ring, session)
  if (cipher === null) return 0
  const damaged = opens(cipher, session.credentials, CREDENTIALS) ? [] : ['its credentials']
  let count = 0
  for await (const { kind, id, value } of sessionKeys(verification, connectionId)) {
    count += 1
    if (!opens(cipher, value, { kind, id })) damaged.push(`a ${kind}`)
  }
  if (damaged.length === 0) return count
  // Unlinked and linked again since it was read, its keys belong to another data key. A rotation changes the row, too.
  const now = await storedSession(verification, connectionId)
  if (now === null) return count
  if (now.data_key !== dataKey) return count + (await verifySession(ring, verification, now))
  for (const what of damaged)
    verification.findings.add('session_damaged', `connection ${number} (${connectionId}): ${what}`)
  return count
}

/** Null where the key ring does not open it: that was found among the secrets. */
function openCipher(ring: Ring, session: StoredDeviceSession): Cipher | null {
  const { connection_id: connectionId, account_id: accountId, data_key: dataKey } = session
  try {
    return openSessionCipher(ring, { connectionId, accountId, dataKey })
  } catch (error) {
    if (error instanceof SecretUnreadable) return null
    throw error
  }
}

function opens(cipher: Cipher, ...[value, place]: Parameters<Cipher['open']>): boolean {
  try {
    cipher.open(value, place)
    return true
  } catch (error) {
    if (error instanceof SecretUnreadable) return false
    throw error
  }
}
