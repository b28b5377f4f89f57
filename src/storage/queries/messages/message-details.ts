import type { Instant } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import { commitUsOfM } from '../api-log/log-source.ts'
import type { Reader } from '../store.ts'
import { selectMessages } from './message-view.ts'

/** One message with the facts of its row and its token. */
export function selectDetails(tables: Reader, sequence: Sequence, now: Instant) {
  return selectMessages(tables, now)
    .leftJoin('token as t', 't.id', 'm.token_id')
    .select([
      'm.words as message_words',
      'm.request_id',
      'm.remote_address',
      'm.user_agent',
      'm.took_us',
      commitUsOfM({ from: sequence, before: sequence + 1 }).as('commit_us'),
      'm.network_id',
      't.name as token_name',
      'c.policy',
      'c.channel',
    ])
    .where('m.sequence', '=', sequence)
    .executeTakeFirst()
}

export type MessageDetails = NonNullable<Awaited<ReturnType<typeof selectDetails>>>
