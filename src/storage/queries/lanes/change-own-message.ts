import type { MessageId } from '../../../core/ids.ts'
import type { OfMessage } from '../../../core/ports/console/lanes.ts'
import { Refusal } from '../../../core/refusals.ts'
import type { Store } from '../store.ts'

/**
 * Changes a message of this account; another's is refused as one that is not there. Looked at before the change, because
 * a message never goes from one account to another.
 */
export async function changeOwn<Result>(
  { database, engine }: Store,
  { accountId, id }: OfMessage,
  make: (id: MessageId) => Promise<Result>,
): Promise<Result> {
  const sequence = await engine.locate(database, id)
  const own =
    sequence === null
      ? undefined
      : await database
          .selectFrom('message')
          .select('id')
          .where('sequence', '=', sequence)
          .where('account_id', '=', accountId)
          .executeTakeFirst()
  if (!own) throw new Refusal('message_unknown', 'There is no such message in this account.')
  return make(own.id)
}
