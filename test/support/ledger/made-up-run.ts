import type { DeliveredEntry, LedgerInput, ListedMessage, RecordedAttempt, SentRequest } from './ledger-input.ts'

export interface MadeUpRun extends LedgerInput {
  readonly requests: SentRequest[]
  readonly messages: ListedMessage[]
  readonly inbox: DeliveredEntry[]
  readonly attempts: RecordedAttempt[]
}

const CONNECTIONS = ['15550001001', '15550001002', '15550001003']
const BETWEEN_MS = 10
const RECIPIENTS_OF_EACH = 4

/** An invented run without faults, with every ending that a message may have. The service has no part in it. */
export function madeUpRun(size = 60): MadeUpRun {
  const run: MadeUpRun = { requests: [], messages: [], inbox: [], attempts: [] }
  for (let index = 0; index < size; index += 1) addRequest(run, index)
  return run
}

function addRequest(run: MadeUpRun, index: number): void {
  const connection = CONNECTIONS[index % CONNECTIONS.length] ?? ''
  // Two messages to each recipient in turn, so that neighbours go to the same recipient or to different ones.
  const place = Math.floor(index / CONNECTIONS.length / 2) % RECIPIENTS_OF_EACH
  const to = `4479000${index % CONNECTIONS.length}0${place}`
  const text = `text ${index}`
  const messageId = `message-${index}`
  const sentAt = index * BETWEEN_MS
  const answer = answerTo(index, messageId, sentAt)
  run.requests.push({ connection, to, content: { type: 'message', text }, sentAt, answer })
  // Half of the requests without an answer were stored all the same.
  const isStored = answer.kind === 'acked' || (answer.kind === 'unknown' && index % 2 === 0)
  if (!isStored) return

  const { state, reason, isDelivered } = endingOf(index)
  run.messages.push({ id: messageId, connection, to, state, reason, acceptedAt: sentAt, text })
  if (state === 'CANCELLED') return
  addAttempts(run.attempts, {
    messageId,
    connection,
    startedAt: sentAt,
    isRetried: index % 5 === 4,
    isSent: isDelivered,
  })
  const nothing = { caption: null, name: null, sizeBytes: null, sha256: null, deliveredAt: sentAt }
  if (isDelivered) run.inbox.push({ messageId, connection, to, type: 'message', text, ...nothing })
}

function answerTo(index: number, messageId: string, sentAt: number): SentRequest['answer'] {
  if (index % 10 === 7) return { kind: 'refused' }
  if (index % 10 === 8 || index % 10 === 5) return { kind: 'unknown' }
  return { kind: 'acked', messageId, at: sentAt + BETWEEN_MS / 2 }
}

function endingOf(index: number): { state: string; reason: string | null; isDelivered: boolean } {
  if (index % 20 === 1) return { state: 'FAILED', reason: 'recipient_refused', isDelivered: false }
  if (index % 20 === 2) return { state: 'UNCONFIRMED', reason: 'stopped_while_sending', isDelivered: index % 40 === 2 }
  if (index % 20 === 3) return { state: 'CANCELLED', reason: 'cancelled_by_person', isDelivered: false }
  return { state: index % 2 === 0 ? 'PUBLISHED' : 'READ', reason: null, isDelivered: true }
}

function addAttempts(
  attempts: RecordedAttempt[],
  {
    messageId,
    connection,
    startedAt,
    isRetried,
    isSent,
  }: {
    messageId: string
    connection: string
    startedAt: number
    isRetried: boolean
    isSent: boolean
  },
): void {
  const common = { messageId, connection }
  if (isRetried) attempts.push({ ...common, number: 1, startedAt, endedAt: startedAt + 1, outcome: 'rejected' })
  const outcome = isSent ? 'accepted' : 'rejected'
  // Ends in the millisecond in which the connection's next attempt begins, which is allowed.
  const endedAt = startedAt + CONNECTIONS.length * BETWEEN_MS
  attempts.push({ ...common, number: isRetried ? 2 : 1, startedAt: startedAt + 1, endedAt, outcome })
}
