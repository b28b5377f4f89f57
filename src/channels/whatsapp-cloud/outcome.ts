import type { Failure, Outcome } from '../../core/ports/channel.ts'
import {
  meaningOfWhatsAppCloud,
  type WhatsAppCloudClass,
  whatsAppCloudReason,
} from '../../core/reasons/whatsapp-cloud.ts'
import type { GraphAnswer } from './graph-client.ts'

const MOST_WORDS = 500
const MINUTE_MS = 60_000
// The Graph API itself, before the Cloud API sees the request, has one code for a wrong value and for an object in the path
// that is not there or may not be seen any more. Only the subcode distinguishes them (page “Error handling”), and the second is
// a problem of the number: taken as a wrong value it would fail each message of the lane, one after another.
const INVALID = 100
const NO_SUCH_NUMBER = 33

/** An error as the Graph API writes it. */
export interface GraphError {
  readonly code: number
  /** `(code) message: details`, at most 500 characters, without secrets. */
  readonly words: string
  readonly status: number
}

/** Texts that must not be shown, also where the network repeats them. Read only when there is a text to be searched. */
export type HiddenTexts = () => readonly string[]

/** What the answer to a sent message says, and the code in it; null when it has none. */
export interface ReadAnswer {
  readonly outcome: Outcome
  readonly error: GraphError | null
}

/**
 * What became of a message, known by `error.code` and never by the HTTP status or words (Meta's page “Error codes”). A
 * refusal in Meta's own form certainly sent nothing. Everything else that is no plain success is unknown.
 */
export function readAnswer(answer: GraphAnswer, hidden: HiddenTexts): ReadAnswer {
  if (answer.kind === 'unknown') return { outcome: { kind: 'unknown', words: answer.words }, error: null }
  if (answer.kind === 'not-sent') return { outcome: rejected(notSent(answer)), error: null }
  const error = graphErrorOf(answer, hidden)
  if (error) return { outcome: refusedOrUnknown(error), error }
  const networkId = isSuccess(answer.status) ? messageIdOf(answer.body) : null
  if (networkId !== null) return { outcome: { kind: 'accepted', networkId }, error: null }
  return {
    outcome: {
      kind: 'unknown',
      words: `Meta answered with HTTP ${answer.status} and nothing that says what became of it`,
    },
    error: null,
  }
}

/** A failure that certainly sent nothing, by Meta's code. */
export function failureOf({ code, words }: Pick<GraphError, 'code' | 'words'>): Failure {
  const kind = meaningOfWhatsAppCloud(code)?.class
  return { code: whatsAppCloudReason(code), words, ...(kind ? HANDLING[kind](code) : PERMANENT) }
}

/** The outcome of a call that never left. */
export function notSent({ why, words }: Extract<GraphAnswer, { readonly kind: 'not-sent' }>): Failure {
  const isOurs = why === 'interrupted'
  return {
    class: 'transient',
    code: isOurs ? 'call_interrupted' : 'network_error',
    words,
    suspectsNetwork: !isOurs,
    retryAfterMs: null,
  }
}

/** Whether Meta lists the code, or its status says at least that the request was turned away. */
export function isVerified({ code, status }: Pick<GraphError, 'code' | 'status'>): boolean {
  // An unknown code proves nothing, unless the status says that the request was refused.
  // With a known code a 5xx counts as the refusal that the code says: nothing in Meta's pages has it sent all the same.
  return meaningOfWhatsAppCloud(code) !== null || (status >= 400 && status < 500)
}

/** Null when the answer is not an error in Meta's form. */
export function graphErrorOf(answer: GraphAnswer, hidden: HiddenTexts): GraphError | null {
  if (answer.kind !== 'answered') return null
  const error = memberOf(answer.body, 'error')
  const number = memberOf(error, 'code')
  if (typeof number !== 'number' || !Number.isSafeInteger(number) || number < 0) return null
  const said = [memberOf(error, 'message'), memberOf(memberOf(error, 'error_data'), 'details')]
    .filter((text): text is string => typeof text === 'string' && text !== '')
    .join(': ')
  const numbered = said.startsWith(`(#${number})`) ? said : `(#${number}) ${said}`
  const code = number === INVALID && memberOf(error, 'error_subcode') === NO_SUCH_NUMBER ? NO_SUCH_NUMBER : number
  return { code, words: cut(withoutHidden(numbered, hidden())), status: answer.status }
}

/** Meta's words can repeat the token that it refuses. */
function withoutHidden(words: string, hidden: readonly string[]): string {
  const known = hidden.filter((text) => text !== '').reduce((text, each) => text.replaceAll(each, '…'), words)
  // Removes parts of tokens and other tokens as well: all of Meta's begin like this.
  return known.replace(/\bEAA\w{8,}/g, '…')
}

export function isSuccess(status: number): boolean {
  return status >= 200 && status < 300
}

/** `body[name]`, when it is an object that has it. */
export function memberOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null && Object.hasOwn(body, name)
    ? (body as Record<string, unknown>)[name]
    : undefined
}

function refusedOrUnknown(error: GraphError): Outcome {
  return isVerified(error) ? rejected(failureOf(error)) : { kind: 'unknown', words: error.words }
}

type Handling = Pick<Failure, 'class' | 'suspectsNetwork' | 'retryAfterMs'>

const PERMANENT: Handling = { class: 'permanent', suspectsNetwork: false, retryAfterMs: null }

function waits(retryAfterMs: number | null): Handling {
  return { class: 'connection', suspectsNetwork: false, retryAfterMs }
}

// 1 and 131000 can be caused by one message alone, so a series of them does not show that the network has a problem.
const OF_ONE_MESSAGE: readonly number[] = [1, 131_000]
const TEMPLATE_WAITS_MS: Readonly<Record<number, number>> = { 132069: 10 * MINUTE_MS, 134101: 60 * MINUTE_MS }

/** What each class does to the message and to its lane. */
const HANDLING: Readonly<Record<WhatsAppCloudClass, (code: number) => Handling>> = {
  // A person must fix it. A try every ten minutes notices when that is done.
  auth: () => waits(10 * MINUTE_MS),
  sender: () => waits(10 * MINUTE_MS),
  // Each further try makes it worse.
  restricted: () => waits(60 * MINUTE_MS),
  rate: () => waits(null),
  // How long is counted for each recipient: see Pace.
  pair: () => ({ class: 'recipient', suspectsNetwork: false, retryAfterMs: 1_000 }),
  window: () => PERMANENT,
  recipient: () => PERMANENT,
  ecosystem: () => PERMANENT,
  invalid: () => PERMANENT,
  template: () => PERMANENT,
  'template-wait': (code) => ({
    class: 'transient',
    suspectsNetwork: false,
    retryAfterMs: TEMPLATE_WAITS_MS[code] ?? 10 * MINUTE_MS,
  }),
  transient: (code) => ({ class: 'transient', suspectsNetwork: !OF_ONE_MESSAGE.includes(code), retryAfterMs: null }),
}

function messageIdOf(body: unknown): string | null {
  const messages = memberOf(body, 'messages')
  const id = Array.isArray(messages) ? memberOf(messages[0], 'id') : undefined
  return typeof id === 'string' && id !== '' ? id : null
}

function rejected(failure: Failure): Outcome {
  return { kind: 'rejected', failure }
}

function cut(words: string): string {
  const letters = Array.from(words)
  return letters.length <= MOST_WORDS ? words : `${letters.slice(0, MOST_WORDS - 1).join('')}…`
}
