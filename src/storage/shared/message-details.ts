import type { MessageId } from '../../core/ids.ts'
import { selectMessages } from './message-view.ts'
import { COMMIT_US_OF_M } from './request-duration.ts'
import type { Reader } from './store.ts'

/** One message with all that its own row and its token tell. */
export function selectDetails(tables: Reader, id: MessageId) {
  return selectMessages(tables)
    .leftJoin('token as t', 't.id', 'm.token_id')
    .select([
      'm.words as message_words',
      'm.request_id',
      'm.remote_address',
      'm.user_agent',
      'm.took_us',
      COMMIT_US_OF_M.as('commit_us'),
      'm.network_id',
      't.name as token_name',
      'c.policy',
    ])
    .where('m.id', '=', id)
    .executeTakeFirst()
}

export type MessageDetails = NonNullable<Awaited<ReturnType<typeof selectDetails>>>
