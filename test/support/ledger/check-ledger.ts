import { findOverlapping, findRepeated, inOrderOfStart } from './check-attempts.ts'
import { findDeferred, findOvertaken } from './find-overtaken.ts'
import { findReordered } from './find-reordered.ts'
import type { DeliveredEntry, LedgerInput, ListedMessage, SentRequest } from './ledger-input.ts'
import { type Matches, matchRequests } from './match-requests.ts'

const SENT = ['PUBLISHED', 'DELIVERED', 'READ']
const NOT_SENT = ['FAILED', 'EXPIRED', 'CANCELLED']
const ENDED = [...SENT, ...NOT_SENT, 'UNCONFIRMED']
const BEHIND = 'behind_others'

/** The faults of a run, as sentences for people. After a good run every list is empty. */
export interface LedgerFaults {
  /** Acknowledged, but not in the log. */
  readonly lost: readonly string[]
  /** Stored or delivered, though no client asked for it or the answer was that it was refused. */
  readonly unexpected: readonly string[]
  /** Delivered more than once, or handed over again although the attempt before may have sent it. */
  readonly duplicated: readonly string[]
  /** Delivered to one recipient in another order than accepted. */
  readonly reordered: readonly string[]
  /** Overtaken by a later message to another recipient, without a wait of its own. */
  readonly overtaken: readonly string[]
  readonly overlapping: readonly string[]
  /** Delivered differently from what was asked for. */
  readonly corrupted: readonly string[]
  /** Not in a final state after the drain. */
  readonly unfinished: readonly string[]
  /** Shown as sent but not delivered, or shown as not sent but delivered. UNCONFIRMED may be either. */
  readonly logLies: readonly string[]
  /** Not sent, and the log gives no reason. */
  readonly unexplained: readonly string[]
}

export interface Ledger {
  readonly faults: LedgerFaults
  readonly counts: {
    readonly requests: number
    readonly acked: number
    readonly refused: number
    readonly unknown: number
    /** The client got no answer, yet the message was stored. */
    readonly recovered: number
    readonly delivered: number
  }
  readonly states: Readonly<Record<string, number>>
}

/** Compares what the client was answered, what the log says and what was delivered. Ends every fault run. */
export function checkLedger(input: LedgerInput): Ledger {
  const { requests, messages, inbox, attempts = [] } = input
  const matches = matchRequests(input)
  const requestOf = (messageId: string) => {
    const request = matches.requestOf.get(messageId)
    return request ? [{ messageId, request }] : []
  }
  const deliveredIds = new Set(inbox.map(({ messageId }) => messageId))
  const firstAttempts = inOrderOfStart(attempts)
  return {
    faults: {
      lost: matches.lost,
      unexpected: [...matches.unexpected, ...findInvented(inbox, matches)],
      duplicated: [...findDeliveredTwice(inbox), ...findRepeated(attempts)],
      reordered: [
        ...findReordered(inbox.flatMap(({ messageId }) => requestOf(messageId))),
        ...findReordered(firstAttempts.flatMap(({ messageId }) => requestOf(messageId))),
      ],
      overtaken: findOvertaken(
        firstAttempts.flatMap(({ messageId }) => requestOf(messageId)),
        findDeferred(messages, attempts),
      ),
      overlapping: findOverlapping(attempts),
      corrupted: inbox.flatMap((entry) =>
        requestOf(entry.messageId).flatMap(({ request }) => differences(entry, request)),
      ),
      // Only a few are shown. Those at the front of a lane show what the others wait for.
      unfinished: messages
        .filter(({ state }) => !ENDED.includes(state))
        .toSorted((a, b) => Number(a.reason === BEHIND) - Number(b.reason === BEHIND))
        .map(describe),
      logLies: messages.filter(({ id, state }) => isLie(state, deliveredIds.has(id))).map(describe),
      unexplained: messages.filter(({ state, reason }) => !SENT.includes(state) && reason === null).map(describe),
    },
    counts: {
      requests: requests.length,
      acked: requests.filter(({ answer }) => answer.kind === 'acked').length,
      refused: requests.filter(({ answer }) => answer.kind === 'refused').length,
      unknown: requests.filter(({ answer }) => answer.kind === 'unknown').length,
      recovered: matches.recovered,
      delivered: deliveredIds.size,
    },
    states: countStates(messages),
  }
}

function findInvented(inbox: readonly DeliveredEntry[], { requestOf }: Matches): string[] {
  return inbox
    .filter(({ messageId }) => !requestOf.has(messageId))
    .map(({ messageId, to }) => `${messageId} to ${to} was delivered, but no request is known for it`)
}

function findDeliveredTwice(inbox: readonly DeliveredEntry[]): string[] {
  const seen = new Set<string>()
  return inbox.flatMap(({ messageId }) => {
    if (seen.has(messageId)) return [`${messageId} was delivered more than once`]
    seen.add(messageId)
    return []
  })
}

function differences(entry: DeliveredEntry, { connection, to, content }: SentRequest): string[] {
  const wanted: Partial<DeliveredEntry> = { connection, to, ...content }
  return Object.entries(wanted)
    .filter(([field, value]) => entry[field as keyof DeliveredEntry] !== value)
    .map(([field]) => `${entry.messageId} arrived with another ${field}`)
}

function isLie(state: string, isDelivered: boolean): boolean {
  return isDelivered ? NOT_SENT.includes(state) : SENT.includes(state)
}

function describe({ id, connection, state, reason }: ListedMessage): string {
  return `${id} of ${connection} is ${state}${reason === null ? '' : ` (${reason})`}`
}

function countStates(messages: readonly ListedMessage[]): Record<string, number> {
  const states: Record<string, number> = {}
  for (const { state } of messages) states[state] = (states[state] ?? 0) + 1
  return states
}
