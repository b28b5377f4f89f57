import { createHmac } from 'node:crypto'
import type { Credentials, Library } from './library.ts'
import type { MessageFields } from './messages.ts'

/**
 * The same bytes each time, also by another worker: phones know a message by its id, and show one that comes again only once.
 * The secret, which each message needs, follows from the id and the key of this device.
 */
export function buildMessage(
  { library, credentials }: { readonly library: Library; readonly credentials: Credentials },
  { wireId, fields }: { readonly wireId: string; readonly fields: MessageFields },
): object {
  const messageSecret = createHmac('sha256', credentials.signedIdentityKey.private).update(wireId).digest()
  const { Message } = library.proto
  const built = Message.fromObject({ ...fields, messageContextInfo: { messageSecret } })
  return Message.decode(Message.encode(built).finish())
}
