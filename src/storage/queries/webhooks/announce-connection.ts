import { randomUUID } from 'node:crypto'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { NotificationKind } from '../../../core/notifications/notification-kinds.ts'
import type { Change } from '../store.ts'
import { writeNotices } from './write-notifications.ts'

interface ConnectionNews {
  readonly kind: Extract<NotificationKind, `connection.${string}`>
  readonly accountId: AccountId
  readonly id: ConnectionId
  readonly number: string
  readonly channel: string
  /** Names of what was changed, never values: those may be credentials. */
  readonly changed?: readonly string[]
}

/** In the change that makes it so. Each is news: there is no second one of the same key. */
export async function announceConnection(
  making: Pick<Change, 'tables' | 'at' | 'actor'>,
  { kind, accountId, id, number, channel, changed }: ConnectionNews,
): Promise<void> {
  const data = { connectionId: id, number, channel, ...(changed && { changed }), by: making.actor }
  await writeNotices(making, [{ accountId, kind, at: making.at, key: `${kind}:${id}:${randomUUID()}`, data }])
}
