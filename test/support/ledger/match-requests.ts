import type { LedgerInput, ListedMessage, SentRequest } from './ledger-input.ts'

export interface Matches {
  readonly requestOf: ReadonlyMap<string, SentRequest>
  /** Acknowledged, yet missing from the log, or acknowledged under the id of an earlier request. */
  readonly lost: readonly string[]
  /** In the log, though no request can have caused it. */
  readonly unexpected: readonly string[]
  /** Stored although the client got no answer, which is allowed. */
  readonly recovered: number
}

/**
 * Finds the request behind every message. An acknowledged request is found by its id, one without an answer by sender, recipient
 * and text. So a run gives each request its own text.
 */
export function matchRequests({ requests, messages }: LedgerInput): Matches {
  const requestOf = new Map<string, SentRequest>()
  const listed = new Set(messages.map(({ id }) => id))
  const lost: string[] = []
  for (const request of requests) {
    if (request.answer.kind !== 'acked') continue
    const { messageId } = request.answer
    if (!listed.has(messageId)) lost.push(`${messageId} from ${request.connection} to ${request.to} is not in the log`)
    if (requestOf.has(messageId)) lost.push(`${messageId} was acknowledged to two requests, the later to ${request.to}`)
    else requestOf.set(messageId, request)
  }

  const unanswered = group(requests, 'unknown')
  const refused = group(requests, 'refused')
  const unexpected: string[] = []
  let recovered = 0
  for (const message of messages) {
    if (requestOf.has(message.id)) continue
    const request = takeSame(unanswered.get(routeOf(message)), message)
    if (request) {
      requestOf.set(message.id, request)
      recovered += 1
    } else {
      const why = takeSame(refused.get(routeOf(message)), message) ? 'it was refused' : 'no client asked for it'
      unexpected.push(`${message.id} from ${message.connection} to ${message.to} is stored, but ${why}`)
    }
  }
  return { requestOf, lost, unexpected, recovered }
}

function group(requests: readonly SentRequest[], kind: 'unknown' | 'refused'): Map<string, SentRequest[]> {
  const groups = new Map<string, SentRequest[]>()
  for (const request of requests) {
    if (request.answer.kind !== kind) continue
    const route = routeOf(request)
    groups.set(route, [...(groups.get(route) ?? []), request])
  }
  return groups
}

/** An unknown text counts as equal. */
function takeSame(requests: SentRequest[] = [], { text }: ListedMessage): SentRequest | undefined {
  const index = requests.findIndex(({ content }) => {
    const sent = content.text ?? content.caption ?? null
    return sent === null || text === null || sent === text
  })
  return index < 0 ? undefined : requests.splice(index, 1)[0]
}

function routeOf({ connection, to }: Pick<ListedMessage, 'connection' | 'to'>): string {
  return `${connection} ${to}`
}
