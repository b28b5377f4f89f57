import { Refusal } from '../refusals.ts'

/** The connections that a token is bound to, each once. Refuses those that are not among its account's own. */
export function readBoundConnections<Id extends string>(
  ids: readonly Id[] | null,
  own: readonly { readonly id: Id }[],
): readonly Id[] | null {
  if (ids === null || ids.every((id) => own.some((connection) => connection.id === id))) return ids && [...new Set(ids)]
  throw new Refusal('connection_unknown', 'One of these connections is no longer there. Choose again.', 'connectionIds')
}
