import type { LogTimeline } from '../../../core/ports/console/api-log.ts'
import { durationText } from '../../../format/durations.ts'

type MessageTimeline = NonNullable<LogTimeline['message']>

/** Whether a message was sent: one sentence, and the same in two or three words for titles. */
export interface Answer {
  readonly sentence: string
  readonly short: string
}

const NTH = ['', '', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth']
const NETWORKS: Readonly<Record<string, string>> = { sandbox: 'the sandbox', 'whatsapp-cloud': 'Meta' }

/**
 * From facts only: state, attempts and reports, not the reason. "Not sent" only where every attempt is proven not to have
 * left, "not delivered" only after the network had the message.
 */
export function presentAnswer(view: MessageTimeline, channel: string | null): Answer {
  const { message, timeline } = view
  const network = NETWORKS[channel ?? ''] ?? 'the network'
  switch (message.state) {
    case 'QUEUED':
      return waiting(view)
    case 'SENDING':
      return sending(message.reason)
    case 'PUBLISHED':
      return message.reason === 'marked_arrived'
        ? { sentence: 'A person said that it arrived.', short: 'marked as arrived' }
        : { sentence: acceptedText(view, network), short: 'sent' }
    case 'DELIVERED':
      return {
        sentence: `Sent and delivered${timeOf(timeline, 'receipt-delivered')}.${evidenceText(view, network)}`,
        short: 'delivered',
      }
    case 'READ':
      return {
        sentence: `Sent and read${timeOf(timeline, 'receipt-read')}.${evidenceText(view, network)}`,
        short: 'read',
      }
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

function waiting({ message, timeline, position }: MessageTimeline): Answer {
  const place = position !== null && position > 1 ? ` It waits at position ${position} of its lane.` : ''
  if (mayHaveLeft(timeline)) return { sentence: `It may have been sent already.${place}`, short: 'perhaps sent' }
  const after = message.attempts === 0 ? '' : `, after ${message.attempts} attempt${message.attempts === 1 ? '' : 's'}`
  return { sentence: `Not sent yet${after}.${place}`, short: 'not sent yet' }
}

/** Whether the last attempt had an unknown result, and nothing has shown since that it had not left. */
function mayHaveLeft(timeline: MessageTimeline['timeline']): boolean {
  const last = timeline.findLast(({ kind }) => kind === 'attempt-unknown' || kind === 'attempt-rejected')
  return last?.kind === 'attempt-unknown'
}

function sending(reason: string | null): Answer {
  if (reason === 'storage_unavailable')
    return {
      sentence: 'Not known yet: its result can be stored only when there is room again.',
      short: 'not known yet',
    }
  return reason === 'service_stopped' || reason === 'process_gone'
    ? { sentence: 'Not known yet: Nuncio stopped while it was being sent.', short: 'not known yet' }
    : { sentence: 'Being sent now.', short: 'being sent' }
}

function acceptedText({ message, timeline }: MessageTimeline, network: string): string {
  const after = acceptedAfter(message, timeline)
  if (isByEvidence(timeline)) return `Sent: a report${after} shows that ${network} has it.`
  const nth = message.attempts > 1 ? ` at the ${NTH[message.attempts] ?? `${message.attempts}th`} attempt` : ''
  return `Sent${nth}: ${network} accepted it${after}.`
}

function isByEvidence(timeline: MessageTimeline['timeline']): boolean {
  return timeline.some(({ kind, code }) => kind === 'attempt-accepted' && code === 'evidence_found')
}

/** Beside a later report, which is not what ended the doubt. */
function evidenceText({ message, timeline }: MessageTimeline, network: string): string {
  if (!isByEvidence(timeline)) return ''
  const after = acceptedAfter(message, timeline)
  return ` The result of the attempt was unknown, until a report${after} showed that ${network} has it.`
}

/** Empty when the time is only that at which a person marked the message as arrived. */
function acceptedAfter(
  { acceptedAt, publishedAt }: MessageTimeline['message'],
  timeline: MessageTimeline['timeline'],
): string {
  const isPersonsWord = timeline.some(({ code, at }) => code === 'marked_arrived' && at === publishedAt)
  return publishedAt === null || isPersonsWord ? '' : afterText(publishedAt - acceptedAt)
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
