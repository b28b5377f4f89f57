import { secretPlaceOf } from '../../core/connection/secret-place.ts'
import type { AccountId, ConnectionId } from '../../core/ids.ts'
import type { Failure } from '../../core/ports/channel.ts'
import type { Secrets } from '../../core/ports/secrets.ts'
import type { HiddenTexts } from './outcome.ts'
import {
  readWhatsAppCloudSettings,
  SECRET_KEYS,
  type SecretKey,
  type StoredSettings,
  type WhatsAppCloudSettings,
} from './settings.ts'

export interface OpenedSettings {
  readonly settings: WhatsAppCloudSettings
  readonly accessToken: string
  /** All secrets of the connection, for what must not show them. Opened only on demand. */
  readonly hidden: HiddenTexts
}

/** A connection's settings with its access token open. A failure of the whole connection when it cannot be opened. */
export function openSettings(
  stored: StoredSettings,
  { accountId, connectionId }: { readonly accountId: AccountId; readonly connectionId: ConnectionId },
  secrets: Secrets,
): OpenedSettings | Failure {
  const settings = readWhatsAppCloudSettings(stored)
  const open = (name: SecretKey): string | null => {
    const stored = settings[name]
    if (stored === null || !secrets.isSealed(stored)) return stored
    try {
      return secrets.open(stored, secretPlaceOf({ id: connectionId, accountId }, name))
    } catch {
      // The reason is for the operator: the start and `nuncio secrets list` print it. It does not belong in an account's log.
      return null
    }
  }
  const accessToken = open('accessToken')
  if (accessToken === null) return unreadable()
  return { settings, accessToken, hidden: () => SECRET_KEYS.flatMap((name) => open(name) ?? []) }
}

// As long as a refusal of the token: a person must fix it.
const ASK_AGAIN_AFTER_MS = 10 * 60_000

function unreadable(): Failure {
  return {
    class: 'connection',
    code: 'secret_unreadable',
    words: 'the access token is not there or cannot be opened',
    suspectsNetwork: false,
    retryAfterMs: ASK_AGAIN_AFTER_MS,
  }
}
