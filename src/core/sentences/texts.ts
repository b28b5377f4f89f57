/** What a sentence can name, each with an example for the documents. */
export const FACT_EXAMPLES = {
  /** The sender's number. */
  number: '15550001301',
  /** The recipient's. */
  to: '15551112222',
  /** Whose network it is: Meta, WhatsApp, the sandbox. */
  network: 'Meta',
  /** A person, the command line, or Nuncio. */
  who: 'anna@example.org',
  /** The same after what was done. */
  by: 'by anna@example.org',
  /** Why that person did it, in their words. */
  why: 'asked by phone',
  /** A time in the middle of a sentence: "at 14:32 UTC", "on 26 Nov 2026, 14:32 UTC". */
  at: 'at 14:32 UTC',
  /** The same after "until". */
  until: '15:10 UTC',
  /** The end of quiet hours by the clock of the number, with its zone. */
  quietUntil: '08:00 in Europe/Berlin',
  /** When it should be sent, where that can be computed. */
  turn: '14:46 UTC',
  /** Number of the attempt. */
  n: '2',
  /** The status of an answer that did not say what became of it. */
  status: '502',
  /** How much later a report came. */
  later: '1.8 s',
  /**
   * How the report came that showed it: after a failure of the network or of Nuncio, before the next attempt, or about an
   * attempt that is not known here.
   */
  afterFailure: 'yes',
  givenUp: 'yes',
  beforeRepeat: 'yes',
  forgotten: 'yes',
  /** When a message was taken out that waited to be sent once more, and by what. */
  tooLate: 'at 14:32 UTC',
  blockedAt: 'at 14:32 UTC',
  removedAt: 'at 14:32 UTC',
  /** The network reported that one of several attempts failed. */
  reportedFailed: 'yes',
  /** How many attempts may have arrived, where several may. */
  unknowns: '2',
  /** Number of an attempt that was refused, where an earlier one may have arrived. */
  refusedN: '2',
  /** How many attempts before did not leave. */
  attempts: '2 attempts',
  /** Number of the next try, as a word. */
  nth: 'third',
  /** How long it waited or was tried. */
  wait: '62 s',
  gap: '40 s',
  /** How many are before it: "3 messages are". */
  before: '3 messages are',
  ahead: '3',
  template: 'notice (en_US)',
  /** The whole sentence that Nuncio wrote when it happened. */
  words: 'files.example answered 404 (not found).',
  /** Another sentence of these tables: of the last failure, or of what an earlier message waits for. */
  cause: 'Meta is overloaded or down.',
  /** What it waited for longest, after a colon. */
  waited: 'anna@example.org had paused 15550001301',
  /** Who had paused the number for most of that time. */
  pausedBy: 'anna@example.org',
  /** How long Nuncio did not run or stood still, where that was most of that time. */
  stopped: 'was not running for 50 s',
  /** The backlog was not approved for most of that time. */
  unapproved: 'yes',
  /** Its file could not be brought to the network. */
  uploads: 'yes',
  /** An earlier message to the same recipient. */
  earlier: 'an earlier image to the same recipient: its download is tried again at 14:32:05 UTC',
} as const

export type FactName = keyof typeof FACT_EXAMPLES

/** What is known. A sentence that needs more is not said; a general one stands in. */
export type SentenceFacts = { readonly [Name in FactName]?: string | undefined }

/** What stands in a sentence where such a fact is not known. */
const UNKNOWN: SentenceFacts = { number: 'the number', to: 'the recipient', network: 'the network' }

/** One sentence, or versions of it: the first whose facts are all known is said. The last one needs none. */
export type Text = string | readonly string[]

const PLACEHOLDER = /\{(\w+)\}/g

/** Whether all that the sentence needs is known. */
export function canFill(text: Text, facts: SentenceFacts): boolean {
  return versionFor(text, facts) !== undefined
}

/** The sentence with its facts. */
export function fillText(text: Text, facts: SentenceFacts): string {
  const version = versionFor(text, facts)
  if (version === undefined) throw new Error(`No version of this sentence does without facts: ${String(text)}`)
  const filled = version.replace(PLACEHOLDER, (_, name: FactName, at: number) => {
    const said = factOf(name, facts) ?? ''
    const isStart = at === 0 || /[.?!] $/.test(version.slice(0, at))
    return isStart && said.startsWith('the ') ? `T${said.slice(1)}` : said
  })
  // A fact that is a whole sentence has its full stop already.
  return filled.replaceAll(/\.\.(?=\s|$)/g, '.')
}

/** Whether the version that is said quotes the words that Nuncio wrote itself. */
export function saysWords(text: Text, facts: SentenceFacts): boolean {
  return namesOf(versionFor(text, facts) ?? '').includes('words')
}

function versionFor(text: Text, facts: SentenceFacts): string | undefined {
  const versions = typeof text === 'string' ? [text] : text
  return versions.find((one) => namesOf(one).every((name) => factOf(name, facts) !== undefined))
}

function namesOf(version: string): readonly FactName[] {
  return [...version.matchAll(PLACEHOLDER)].map(([, name]) => name as FactName)
}

const NAME_CHARACTERS = 18

/** For lists, which are narrow. */
export function cutName(name: string): string {
  return name.length > NAME_CHARACTERS ? `${name.slice(0, NAME_CHARACTERS - 1)}…` : name
}

/** The sentence for lists: its names are cut. */
export function fillList(text: Text, facts: SentenceFacts): string {
  return fillText(text, { ...facts, who: facts.who && cutName(facts.who) })
}

function factOf(name: FactName, facts: SentenceFacts): string | undefined {
  return facts[name] ?? UNKNOWN[name]
}

/** The page of the console on which a next step is done. Cancel, retry and resolve are buttons of the message itself. */
export type Place = 'connection' | 'connections' | 'recipients' | 'inbox'

/** What people read of a reason. */
export interface ReasonText {
  /** For lists: at most 40 characters. */
  readonly list: Text
  /** Why it waits or how it ended. */
  readonly cause: Text
  /** What to do, without commands: as buttons and fields of the console are called. */
  readonly nextStep: Text
  /** The same for the command line. NUMBER, RECIPIENT and ID stand for what the message has. */
  readonly command?: string
  readonly opens?: Place
  /** The same message would fail again: a retry is not offered. */
  readonly failsAgain?: boolean
}

/** What is said instead where this holds. */
export interface SpecialCause extends Partial<ReasonText> {
  readonly when: {
    /** The words of the network or the download, or of Nuncio, name this cause. */
    readonly words?: RegExp
    /** The message is in this state. */
    readonly state?: string
    readonly fact?: FactName
  }
  /** Filled in for the documents and the tests. */
  readonly example?: string
}

export interface ReasonRow extends ReasonText {
  readonly causes?: readonly SpecialCause[]
}

export const NO_ACTION = 'You need not do anything.'
