import type { AccountId } from '../../../core/ids.ts'
import type { RequestFilter, RequestTimeline, RequestView } from '../../../core/ports/administration.ts'
import { Refusal } from '../../../core/refusals.ts'
import { type Reading, readingOf, type Store } from '../store.ts'
import { acceptedRequests } from './accepted-requests.ts'
import { findEndedToken, otherRequests } from './other-requests.ts'
import type { WantedRequests } from './wanted-requests.ts'

// The API log has no table of its own, so that an acceptance pays for one row only: an accepted request is the row of
// its message, all others are rows of `request`. Here the two are put together.

export async function* listRequests(store: Store, filter: RequestFilter): AsyncIterable<RequestView> {
  let left = filter.limit ?? Number.POSITIVE_INFINITY
  if (left <= 0 || filter.tokenIds?.length === 0) return
  for await (const { body: _, tokenId: _token, endedToken: _ended, ...entry } of bothNewestFirst(readingOf(store), {
    ...filter,
    requestId: null,
  })) {
    yield entry
    left -= 1
    if (left <= 0) return
  }
}

export async function findRequest(
  store: Store,
  requestId: string,
  accountId: AccountId | null,
): Promise<RequestTimeline> {
  const reading = readingOf(store)
  const wanted = { accountId, requestId, tokenIds: null, connection: null, statuses: null }
  // One half after the other, and the shorter one first: merging would read both to the end of what is looked for.
  for await (const entry of otherRequests(reading, wanted))
    return { ...entry, endedToken: await findEndedToken(reading.tables, entry) }
  for await (const entry of acceptedRequests(reading, wanted)) return entry
  throw new Refusal(
    'request_unknown',
    `There is no request with the id ${requestId} in the API log, which keeps those that carried a known token.`,
  )
}

/**
 * By the time of arrival; of one moment the accepted one is the older, because a repeat follows what it repeats. Each
 * half comes in the order in which it was stored, so a clock that was set back shows as entries that seem to stand too
 * early; none is left out for it.
 */
async function* bothNewestFirst(reading: Reading, wanted: WantedRequests): AsyncGenerator<RequestTimeline> {
  const accepted = acceptedRequests(reading, wanted)
  const others = otherRequests(reading, wanted)
  let oneAccepted = await accepted.next()
  let oneOther = await others.next()
  while (!oneAccepted.done || !oneOther.done) {
    const isAcceptedNewer =
      !oneAccepted.done && (oneOther.done || oneAccepted.value.receivedAt > oneOther.value.receivedAt)
    if (isAcceptedNewer) {
      yield oneAccepted.value as RequestTimeline
      oneAccepted = await accepted.next()
    } else {
      yield oneOther.value as RequestTimeline
      oneOther = await others.next()
    }
  }
}
