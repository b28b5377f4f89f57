import type { AccountId, ConnectionId } from '../ids.ts'
import type { SecretPlace } from '../ports/secrets.ts'

/** Where a secret of a connection's settings lies. `name` is that of the stored setting. */
export function secretPlaceOf(
  connection: { readonly id: ConnectionId; readonly accountId: AccountId },
  name: string,
): SecretPlace {
  return { purpose: 'connection', accountId: connection.accountId, owner: connection.id, name }
}
