import { capitalized } from '../format/capitalized.ts'
import { BRIDGE_REASONS } from './reasons/bridge.ts'
import { END_REASONS } from './reasons/ends.ts'
import { FILE_REASONS, MEDIA_REASONS } from './reasons/media.ts'
import { WAIT_REASONS } from './reasons/waits.ts'
import { WHATSAPP_CLOUD_REASONS } from './reasons/whatsapp-cloud.ts'
import { WHATSAPP_WEB_REASONS } from './reasons/whatsapp-web.ts'
import {
  canFill,
  fillList,
  fillText,
  type Place,
  type ReasonRow,
  type ReasonText,
  type SentenceFacts,
  saysWords,
} from './sentences/texts.ts'

/**
 * Why a message waits or how it ended, with plain sentences and what to do. The codes are stable: people filter by them. The
 * console, the command line, webhooks and docs/reasons.md have their sentences from here alone.
 */
export const REASONS = {
  // Why a message waits
  ...WAIT_REASONS,
  // How it ended, or why an attempt failed
  ...END_REASONS,
  // Why its file could not be downloaded
  ...MEDIA_REASONS,
  ...FILE_REASONS,
  // What WhatsApp says, under Meta's own codes
  ...WHATSAPP_CLOUD_REASONS,
  // What the adapter of a gateway says
  ...BRIDGE_REASONS,
  // What WhatsApp says to a linked device
  ...WHATSAPP_WEB_REASONS,
} as const satisfies Record<string, ReasonRow>

/** Codes of Meta and of adapters are not in the table itself: functions make them from tables of their own. */
export type ReasonCode = keyof typeof REASONS | `whatsapp_${string}` | `bridge_${string}`

export function isReasonCode(code: string): code is ReasonCode {
  return rowOf(code) !== undefined
}

function rowOf(code: string): ReasonRow | undefined {
  const rows: Readonly<Record<string, ReasonRow>> = REASONS
  return Object.hasOwn(rows, code) ? rows[code] : undefined
}

/** What is known where a reason is explained. */
interface ReasonContext {
  /** The state of the message, if it is the reason of a message. */
  readonly state?: string | null
  /** What was said when it happened, by the network or by Nuncio. */
  readonly words?: string | null
  readonly channel?: string | null
  readonly facts?: SentenceFacts
}

export interface ExplainedReason {
  readonly code: string
  /** For lists: at most 40 characters. */
  readonly list: string
  readonly cause: string
  /** Without commands: with the buttons and fields of the console. */
  readonly nextStep: string
  /** What to type at the command line; NUMBER, RECIPIENT and ID are not filled in. Null: there is nothing to type. */
  readonly command: string | null
  readonly opens: Place | null
  /** Whether a retry may help, if the message has failed. */
  readonly canRetry: boolean
  /** Foreign words, and whose they are: "Meta said". Null where there are none, or the cause says them. */
  readonly quote: Quote | null
}

interface Quote {
  readonly speaker: string
  readonly words: string
}

/** The sentences of a reason, and of its cause where that is known. A code of a newer version reads as itself. */
export function explainReason(code: string, context: ReasonContext = {}): ExplainedReason {
  const { words = null, channel = null } = context
  const quote = words === null ? null : { speaker: speakerOf(code, { channel, words }), words }
  const row = rowOf(code)
  if (!row) return { code, list: code, cause: code, nextStep: '', command: null, opens: null, canRetry: true, quote }
  const facts = { network: networkOf(code, channel), words: words ?? undefined, ...context.facts }
  const text = specialText(row, { ...context, facts })
  return {
    code,
    list: fillList(text.list, facts),
    cause: fillText(text.cause, facts),
    nextStep: fillText(text.nextStep, facts),
    command: text.command ?? null,
    opens: text.opens ?? null,
    canRetry: text.failsAgain !== true,
    quote: saysWords(text.cause, facts) ? null : quote,
  }
}

function specialText(row: ReasonRow, { state, words, facts = {} }: ReasonContext): ReasonText {
  const special = row.causes?.find(
    ({ when, list = '', cause = '' }) =>
      canFill(list, facts) &&
      canFill(cause, facts) &&
      (when.words === undefined || when.words.test(words ?? '')) &&
      (when.state === undefined || when.state === state) &&
      (when.fact === undefined || facts[when.fact] !== undefined),
  )
  return special ? { ...row, ...special } : row
}

/** The next step with its command, for the command line and webhooks, whose readers run Nuncio. */
export function withCommand({ nextStep, command }: Pick<ExplainedReason, 'nextStep' | 'command'>): string {
  const own = nextStep
    .replace(/^Ask the person who runs Nuncio to (.)/, (_, first: string) => first.toUpperCase())
    .replace(' ask the person who runs Nuncio to ', ' ')
  return command === null ? own : `${own} → ${command}`
}

const NETWORKS: Readonly<Record<string, string>> = {
  bridge: 'the adapter',
  sandbox: 'the sandbox',
  'whatsapp-cloud': 'Meta',
  'whatsapp-web': 'WhatsApp',
}

/** Whose network a channel speaks to, in the middle of a sentence. Undefined: it is not known. */
export function networkOf(code: string, channel: string | null): string | undefined {
  return NETWORKS[channel ?? ''] ?? (code.startsWith('whatsapp_') ? 'Meta' : undefined)
}

/** The network of a channel, as sentences name it in the middle. */
export function networkName(channel: string | null): string {
  return networkOf('', channel) ?? 'the network'
}

// Nuncio writes the words of these itself.
const OWN_WORDS =
  /^(?:media_|paused|database_went_back|storage_|service_|process_|backlog_|hold|network_error|channel_fault|call_|secret_|template_|stopped_|new_recipients)/

function speakerOf(
  code: string,
  { channel, words }: { readonly channel: string | null; readonly words: string },
): string {
  if (OWN_WORDS.test(code) || isOwnOf(channel, code, words)) return 'Nuncio noted'
  const network = networkOf(code, channel) ?? 'the network'
  return `${capitalized(network)} said`
}

/** WhatsApp gives only codes. Words of Meta come with one of its codes. On a bridge, those of an unknown result are ours. */
function isOwnOf(channel: string | null, code: string, words: string): boolean {
  if (channel === 'bridge') return code === 'result_unknown'
  if (channel === 'whatsapp-web') return true
  return channel === 'whatsapp-cloud' && !code.startsWith('whatsapp_') && !/^\(#?\d/.test(words)
}
