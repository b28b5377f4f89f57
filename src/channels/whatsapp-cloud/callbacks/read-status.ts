import { readCorrelationData } from '../statuses/correlation-data.ts'
import type { ReportedStatus } from '../statuses/reported.ts'
import type { IgnoredReason } from './ignored-reason.ts'
import { codeOf, instantOf, listOf, numberOf, objectOf, textOf } from './payload-parsers.ts'

// A voice message that was played was read.
const KINDS: ReadonlyMap<unknown, ReportedStatus['kind']> = new Map([
  ['sent', 'sent'],
  ['delivered', 'delivered'],
  ['read', 'read'],
  ['played', 'read'],
  ['failed', 'failed'],
] as const)

const MOST_WORDS = 500

/** One of `statuses`, as the page of the status messages webhook has it; or why it says nothing to us. */
export function readStatus(given: unknown): ReportedStatus | IgnoredReason {
  const status = objectOf(given)
  if (!status) return 'part_malformed'
  const kind = KINDS.get(status['status'])
  if (!kind) return 'status_unknown'
  const wamid = textOf(status['id'], 256)
  if (wamid === null) return 'part_malformed'
  const opaque = status['biz_opaque_callback_data'] ?? null
  // We send it along with every message. Other data means that another program sent it from the same number.
  if (opaque !== null && !readCorrelationData(opaque)) return 'not_ours'
  return {
    kind,
    wamid,
    at: instantOf(status['timestamp']),
    opaque: opaque as string | null,
    recipient: numberOf(status['recipient_id']),
    ...(kind === 'failed' ? failureOf(status['errors']) : { code: null, words: null }),
  }
}

/** The first error: Meta has never been seen to send more. */
function failureOf(errors: unknown): Pick<ReportedStatus, 'code' | 'words'> {
  const error = objectOf(listOf(errors)[0])
  if (!error) return { code: null, words: null }
  const code = codeOf(error['code'])
  const details = objectOf(error['error_data'])?.['details']
  const said = [...new Set([error['title'], error['message'], details])].filter((text) => typeof text === 'string')
  const words = `${code === null ? '' : `(${code}) `}${said.join(': ')}`.trim()
  return { code, words: words === '' ? null : cut(words) }
}

/** Never through the middle of a character. */
function cut(words: string): string {
  return words.length <= MOST_WORDS ? words : `${words.slice(0, MOST_WORDS - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
