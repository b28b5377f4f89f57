import { durationText } from '../../format/durations.ts'
import { nameActor } from '../name-actor.ts'
import type { MessageTimeline } from '../ports/administration.ts'
import { networkOf } from '../reasons.ts'

/** Whether a message was sent: one sentence, and the same in two or three words for titles. */
export interface Answer {
  readonly sentence: string
  readonly short: string
}

const ORDINALS = ['', 'first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth']

/** As a word up to the ninth. */
export function ordinal(number: number): string {
  return ORDINALS[number] ?? `${number}th`
}

/**
 * From facts only: state, attempts and reports, not the reason. "Not sent" only where every attempt is proven not to have
 * left, "not delivered" only after the network had the message.
 */
export function wasItSent(view: MessageTimeline): Answer {
  const { message, timeline, channel } = view
  const network = networkOf('', channel) ?? 'the network'
  if (message.reason === 'possible_duplicate') return { sentence: 'Sent, perhaps twice.', short: 'perhaps sent twice' }
  switch (message.state) {
    case 'QUEUED':
      return waiting(view)
    case 'SENDING':
      return sending(message.reason)
    case 'PUBLISHED':
      return published(view, network)
    case 'DELIVERED':
      return { sentence: `Sent and delivered${timeOf(timeline, 'receipt-delivered')}.`, short: 'delivered' }
    case 'READ':
      return { sentence: `Sent and read${timeOf(timeline, 'receipt-read')}.`, short: 'read' }
    case 'FAILED':
      return message.publishedAt === null
        ? { sentence: 'Not sent.', short: 'not sent' }
        : { sentence: 'Sent, but not delivered.', short: 'not delivered' }
    case 'UNCONFIRMED':
      return { sentence: 'Nobody knows whether it arrived.', short: 'nobody knows' }
    case 'EXPIRED':
    case 'CANCELLED':
      return { sentence: 'Not sent.', short: 'not sent' }
  }
}

function waiting({ message, timeline }: MessageTimeline): Answer {
  if (mayHaveLeft(timeline)) return { sentence: 'It may have been sent already.', short: 'perhaps sent' }
  const after = message.attempts === 0 ? '' : `, after ${message.attempts} attempt${message.attempts === 1 ? '' : 's'}`
  return { sentence: `Not sent yet${after}.`, short: 'not sent yet' }
}

/** Whether the last attempt had an unknown result, and nothing has shown since that it had not left. */
export function mayHaveLeft(timeline: MessageTimeline['timeline']): boolean {
  const last = timeline.findLast(({ kind }) => kind === 'attempt-unknown' || kind === 'attempt-rejected')
  return last?.kind === 'attempt-unknown'
}

function sending(reason: string | null): Answer {
  const isStopped = reason === 'service_stopped' || reason === 'process_gone'
  const why =
    reason === 'storage_unavailable'
      ? 'its result cannot be stored now'
      : isStopped
        ? 'Nuncio stopped while it was being sent'
        : reason === 'awaiting_evidence'
          ? 'the connection broke while it was being sent'
          : null
  return why === null
    ? { sentence: 'Being sent now.', short: 'being sent' }
    : { sentence: `Not known yet: ${why}.`, short: 'not known yet' }
}

function published({ message, timeline }: MessageTimeline, network: string): Answer {
  if (message.reason === 'marked_arrived') {
    const by = timeline.findLast(({ kind }) => kind === 'resolved')?.facts['by']
    const who = typeof by === 'string' ? nameActor(by).replace(/^the /, 'The ') : 'A person'
    return { sentence: `${who} marked it as arrived.`, short: 'marked as arrived' }
  }
  if (timeline.some(({ code }) => code === 'evidence_found'))
    return { sentence: `Sent: a report from ${network} shows it.`, short: 'sent' }
  const nth = message.attempts > 1 ? ` at the ${ordinal(message.attempts)} attempt` : ''
  return { sentence: `Sent${nth}: ${network} accepted it${acceptedAfter(message)}.`, short: 'sent' }
}

function acceptedAfter({ acceptedAt, publishedAt }: MessageTimeline['message']): string {
  return publishedAt === null ? '' : afterText(publishedAt - acceptedAt)
}

function timeOf(timeline: MessageTimeline['timeline'], kind: string): string {
  const found = timeline.find((entry) => entry.kind === kind)
  const [accepted] = timeline
  if (!found || !accepted) return ''
  return afterText(Number(found.facts['networkTime'] ?? found.at) < accepted.at ? -1 : found.at - accepted.at)
}

/** Empty when the time is before acceptance: the network’s clock is behind ours, or ours was set back. */
function afterText(ms: number): string {
  return ms < 0 ? '' : ` ${durationText(ms)} after the request`
}
