import { bytesText } from '../../format/bytes.ts'
import { capitalized } from '../../format/capitalized.ts'
import { durationText } from '../../format/durations.ts'
import { isCopiedHold } from '../copied-hold.ts'
import type { Instant } from '../ids.ts'
import { BROKEN_PROMISES, type BrokenPromise } from '../reasons/bridge.ts'
import { type ExplainedReason, explainReason, networkName, type ReasonCode } from '../reasons.ts'
import { NO_ACTION } from '../sentences/texts.ts'
import type { OpenAlarm } from './alarm.ts'
import { ALARM_KINDS, type AlarmKind } from './alarm-kinds.ts'

export interface AlarmText {
  /** What is wrong and why, in a sentence or two made of its facts. */
  readonly cause: string
  /** Without commands: as buttons and fields of the console are called. */
  readonly nextStep: string
  readonly command: string | null
}

type Alarm = Pick<OpenAlarm, 'kind' | 'since' | 'facts'>

/** What people read of an alarm. Pure: as of `now`. */
export function alarmText(alarm: Alarm, now: Instant): AlarmText {
  const facts = new Facts(alarm, now)
  return { cause: CAUSES[alarm.kind](facts), ...whatToDo(alarm.kind, facts) }
}

/** Facts as they were stored, maybe by another version: what is missing is left out and never fails. */
class Facts {
  readonly #alarm: Alarm
  readonly #now: Instant

  constructor(alarm: Alarm, now: Instant) {
    this.#alarm = alarm
    this.#now = now
  }

  text(name: string): string {
    const value = this.#alarm.facts[name]
    return value === null || value === undefined ? '' : String(value)
  }

  count(name: string): string {
    return this.#number(name).toLocaleString('en-GB')
  }

  bytes(name: string): string {
    return bytesText(this.#number(name))
  }

  is(name: string): boolean {
    return this.#alarm.facts[name] === true
  }

  has(name: string): boolean {
    return this.text(name) !== ''
  }

  /** How long ago that was. */
  age(name: string): string {
    return durationText(this.#now - this.#number(name))
  }

  /** A time less than a day away is written without its day. */
  time(name: string): string {
    const at = new Date(this.#number(name)).toISOString()
    const isRecent = Math.abs(this.#now - this.#number(name)) < 24 * 3_600_000
    return `${isRecent ? at.slice(11, 16) : at.slice(0, 16).replace('T', ' ')} UTC`
  }

  left(name: string): string {
    return durationText(this.#number(name) - this.#now)
  }

  get since(): string {
    return durationText(this.#now - this.#alarm.since)
  }

  #number(name: string): number {
    return Number(this.#alarm.facts[name] ?? 0)
  }
}

const CAUSES: Readonly<Record<AlarmKind, (facts: Facts) => string>> = {
  lanes_held: (facts) =>
    `All numbers have been held for ${facts.since}: ${facts.text('reason')}. Nothing is sent, and nothing expires.`,
  no_worker: (facts) =>
    facts.has('lastAt')
      ? `No process sends. The last sign of life of one was ${facts.age('lastAt')} ago.`
      : `No process has sent for ${facts.since}.`,
  storage_unavailable: (facts) =>
    `Nothing could be written for ${durationText(Number(facts.text('lastedMs')))}, until ${facts.age('until')} ago (${facts.text('host')}, process ${facts.text('pid')}): ${facts.text('cause')} ${facts.text('refused') === '0' ? 'No request was refused for it.' : `${requests(facts, 'refused')} refused with 503 for it.`}`,
  disk_filling: (facts) =>
    `${facts.text('host')} has ${facts.bytes('freeBytes')} of ${facts.bytes('totalBytes')} left under ${facts.text('folder')}. When that is full, nothing is accepted or sent.`,
  lane_stalled: (facts) =>
    `${waiting(facts)}, but nothing has moved for ${facts.since}: ${STALLS[facts.text('why')]?.cause ?? 'the cause is unknown'}${holder(facts)}.`,
  connection_offline: (facts) =>
    `${facts.text('number')} has sent nothing for ${facts.since}. ${reason(facts)} ${waiting(facts)}.`,
  reports_missing: (facts) =>
    facts.has('lastReportAt')
      ? `${network(facts)} has reported nothing for ${facts.is('isMore') ? 'over ' : ''}${messages(facts, 'count')} of ${facts.text('number')}, since ${facts.time('oldestAt')} (${facts.age('oldestAt')} ago). Before, it did.`
      : `${network(facts)} has never reported anything for ${facts.text('number')}, though it took ${facts.is('isMore') ? 'over ' : ''}${messages(facts, 'count')} since ${facts.time('oldestAt')} (${facts.age('oldestAt')} ago). Without reports nothing becomes DELIVERED.`,
  promise_broken: (facts) =>
    `The adapter of ${facts.text('number')} broke its protocol. ${brokenPromises(facts)} The message ${facts.text('messageId')} shows it, since ${facts.time('at')}.`,
  bridge_capabilities_changed: (facts) =>
    `The adapter of ${facts.text('number')} has changed what it can do: ${facts.text('what')}.`,
  device_unlinked: reasonAndWaiting,
  session_taken: reasonAndWaiting,
  number_restricted: reasonAndWaiting,
  client_refused: reasonAndWaiting,
  oldest_waiting: (facts) =>
    `${waiting(facts)}. ${facts.text('reason') === 'due' || facts.text('reason') === 'sending' ? `It sends${lastAttempt(facts)}, but more comes in than it can send.` : `${reason(facts)}`}`,
  messages_will_expire: (facts) =>
    facts.text('state') === 'paused'
      ? `${facts.text('number')} is paused, and ${messages(facts, 'count')} will expire within the hour.`
      : `${messages(facts, 'count')} of ${facts.is('isMore') ? 'over ' : ''}${facts.count('waiting')} that wait on ${facts.text('number')} will expire before their turn. They may wait ${durationText(Number(facts.text('timeToLiveMs')))}, and its pace is too slow for that.`,
  backlog_near_limit: (facts) =>
    `${facts.count('waiting')} of ${facts.count('limit')} messages wait ${facts.has('number') ? `on ${facts.text('number')}` : 'in the account'}. At the limit, more are refused.`,
  unconfirmed: (facts) =>
    `Nobody knows whether ${messages(facts, 'count')} arrived. ${facts.count('count') === '1' ? 'It' : 'The oldest'} has waited ${facts.age('oldestAt')} for a decision.`,
  token_expiring: (facts) =>
    `The token “${facts.text('name')}” expires in ${facts.left('expiresAt')} and was used ${facts.age('lastUsedAt')} ago.${facts.is('hasSuccessor') ? ' It has a successor already.' : ''}`,
  token_expired_in_use: (facts) =>
    `The token “${facts.text('name')}” expired ${facts.age('expiresAt')} ago and is still in use. The last request with it was refused ${facts.age('lastCallAt')} ago.`,
}

/** Without a process there is none to restart. */
const START_ONE = 'Ask the person who runs Nuncio to check its processes and start one that sends.'

const STALLS: Readonly<Record<string, { readonly cause: string; readonly nextStep?: string }>> = {
  call_open: { cause: 'a call to its network has been open for longer than it may' },
  evidence_over: { cause: 'an attempt with an unknown result is not finished' },
  process_gone: { cause: 'the process that sent for it stopped, and no other takes over', nextStep: START_ONE },
  holder_silent: { cause: 'its process runs, but sends nothing' },
  not_claimed: { cause: 'no process takes them', nextStep: START_ONE },
}

function brokenPromises(facts: Facts): string {
  return facts
    .text('stage')
    .split(' ')
    .flatMap((promise) => (Object.hasOwn(BROKEN_PROMISES, promise) ? BROKEN_PROMISES[promise as BrokenPromise] : []))
    .join(' ')
}

const WENT_BACK: ReasonCode = 'database_went_back'

function whatToDo(kind: AlarmKind, facts: Facts): Omit<AlarmText, 'cause'> {
  if (kind === 'lanes_held' && isCopiedHold(facts.text('reason'))) {
    const { nextStep, command } = explainReason(WENT_BACK, { words: facts.text('reason') })
    return { nextStep, command }
  }
  const { command } = ALARM_KINDS[kind]
  const nextStep = (kind === 'lane_stalled' && STALLS[facts.text('why')]?.nextStep) || nextStepOf(kind, facts)
  return { nextStep, command: command === null ? null : withNumber(command, facts) }
}

// Each attempt names the address for reports, so there is none to enter.
const BRIDGE_REPORTS_STEP =
  'Check that the adapter reaches NUNCIO_PUBLIC_URL, and that the gateway reports to the adapter.'

/** Each says what its reason says. */
const OF_SESSIONS: ReadonlySet<AlarmKind> = new Set([
  'device_unlinked',
  'session_taken',
  'number_restricted',
  'client_refused',
])

function nextStepOf(kind: AlarmKind, facts: Facts): string {
  const { nextStep } = ALARM_KINDS[kind]
  if (OF_SESSIONS.has(kind)) return explained(facts).nextStep
  if (kind === 'connection_offline') {
    const own = explainReason(facts.text('reason')).nextStep
    if (own !== '' && !own.startsWith(NO_ACTION.slice(0, -1)))
      return withNumber(`${own} Then check the connection.`, facts)
  }
  if (kind === 'reports_missing' && facts.text('channel') === 'bridge') return BRIDGE_REPORTS_STEP
  return withNumber(nextStep, facts)
}

function withNumber(text: string, facts: Facts): string {
  return text.replaceAll('NUMBER', facts.text('number'))
}

function waiting(facts: Facts): string {
  const count = Number(facts.text('waiting'))
  const number = facts.text('number')
  const age = facts.has('oldestAt') ? `, the oldest for ${facts.age('oldestAt')}` : ''
  if (!facts.has('waiting')) return `Messages wait on ${number}${age}`
  if (count === 1 && !facts.is('isMore')) return `1 message waits on ${number}${age.replace(', the oldest', '')}`
  return `${facts.is('isMore') ? 'Over ' : ''}${facts.count('waiting')} messages wait on ${number}${age}`
}

function network(facts: Facts): string {
  return capitalized(networkName(facts.text('channel')))
}

function messages(facts: Facts, name: string): string {
  return Number(facts.text(name)) === 1 ? '1 message' : `${facts.count(name)} messages`
}

function requests(facts: Facts, name: string): string {
  return Number(facts.text(name)) === 1 ? '1 request was' : `${facts.count(name)} requests were`
}

/** The network's own words may contain what must not leave the installation. Only the page of the connection shows them. */
function reason(facts: Facts): string {
  return explained(facts).cause
}

/** An alarm about a limit for new recipients has no count of waiting messages, and that of a lost session may have none. */
function reasonAndWaiting(facts: Facts): string {
  return Number(facts.text('waiting')) > 0 ? `${reason(facts)} ${waiting(facts)}.` : reason(facts)
}

function explained(facts: Facts): ExplainedReason {
  const until = facts.has('until') ? facts.time('until') : undefined
  const words = facts.has('words') ? facts.text('words') : null
  const context = { channel: facts.text('channel') || null, words, facts: { number: facts.text('number'), until } }
  return explainReason(facts.text('reason'), context)
}

function lastAttempt(facts: Facts): string {
  return facts.has('lastAttemptAt') ? `, the last attempt began ${facts.age('lastAttemptAt')} ago` : ''
}

function holder(facts: Facts): string {
  return facts.has('host') ? ` (${facts.text('host')}, process ${facts.text('pid')})` : ''
}
