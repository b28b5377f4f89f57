import { STATUS_CODES } from 'node:http'
import { KNOWN_CHANNELS } from '../../channels/registry.ts'
import { TRY_CODES } from '../../core/notifications/delivery-try-codes.ts'
import type { Outcome } from '../../core/ports/channel.ts'
import type { CallbackEvent, JournalEvent } from '../../core/ports/journal.ts'
import { MEDIA_FAILURES } from '../../core/ports/media.ts'
import { REFUSALS } from '../../core/refusals.ts'
import type { DiskRoom } from '../../core/watchdog/check-disk.ts'

/** Replaces any value that is not in the list of its label. So a label never has more values than are written here. */
export const OTHER = 'other'

type Counted = Exclude<
  JournalEvent['event'],
  | 'attempt.finished'
  | 'lane.claimed'
  | 'lane.lost'
  | 'media.fetched'
  | 'media.failed'
  | 'message.prepared'
  | 'delivery.tried'
  | 'retention.swept'
  | 'bridge.called'
  | 'session.changed'
  | 'network.refused'
>
type Received = Extract<CallbackEvent, { event: 'callback.received' }>
type Applied = Extract<CallbackEvent, { event: 'callback.applied' }>

export const channels = [...KNOWN_CHANNELS.map(({ name }) => name), OTHER]
export const httpStatuses = Object.keys(STATUS_CODES)
export const requestOutcomes = ['accepted', 'replayed', ...Object.keys(REFUSALS), OTHER]
export const attemptOutcomes = allOf<Outcome['kind']>({ accepted: true, rejected: true, unknown: true })
export const fetchOutcomes = ['fetched', ...MEDIA_FAILURES, OTHER]
export const tryOutcomes = Object.keys(TRY_CODES)
export const prepareOutcomes = ['ready', 'failed', 'cut']

/** What else happens on the dispatching side: each event that no metric of its own counts. */
export const otherEvents = allOf<Exclude<Counted, CallbackEvent['event']>>({
  'attempt.recovered': true,
  'message.dropped': true,
  'lane.waiting': true,
  'message.deferred': true,
  'claim.expired': true,
  'messages.expired': true,
  'media.stalled': true,
  'media.lost': true,
  'network.code_unknown': true,
  'bridge.promise_broken': true,
  'channel.thread_ended': true,
  'session.unlink_failed': true,
  'retention.waiting': true,
  'alarm.raised': true,
  'alarm.cleared': true,
  'deliveries.dropped': true,
  'webhook.disabled': true,
  'storage.unavailable': true,
  fault: true,
})

export const callbackOutcomes = allOf<Received['outcome']>({
  stored: true,
  'nothing-of-ours': true,
  verified: true,
  forged: true,
  'app-unknown': true,
  'not-json': true,
  'not-stored': true,
})
type Called = Extract<JournalEvent, { event: 'bridge.called' }>
export const bridgeOperations = allOf<Called['operation']>({ attempt: true, evidence: true, media: true, health: true })
export const bridgeResults = allOf<Called['result']>({ signed: true, unsigned: true, broken: true, 'not-sent': true })

/** The statuses of sessions, by the names that channels use. */
export const sessionStatuses = [
  'ready',
  'connecting',
  'unlinked',
  'banned',
  'taken-elsewhere',
  'client-refused',
  'not-installed',
  'unreadable',
  OTHER,
]
/** Codes with which WhatsApp ends a line. `none`: it broke without a code. */
export const lineCodes = [
  'none',
  '400',
  '401',
  '402',
  '403',
  '405',
  '406',
  '409',
  '411',
  '440',
  '500',
  '503',
  '515',
  OTHER,
]
/** Codes with which WhatsApp refuses a message. */
export const refusalCodes = ['463', '479', '429', '400', '500', '503', OTHER]

export const reportKinds = allOf<Applied['kind']>({
  sent: true,
  delivered: true,
  read: true,
  failed: true,
  unreadable: true,
})
export const reportResults = allOf<Applied['end']>({
  applied: true,
  contradicted: true,
  'second-id': true,
  'message-unknown': true,
  'given-up': true,
})

export const ignoredReasons = [
  'not_an_account',
  'field_unknown',
  'part_malformed',
  'number_unknown',
  'status_unknown',
  'not_ours',
  'too_many',
  OTHER,
]

/** Which work a commit was for. SQLite commits everything that is written in one turn together. */
export const commitKinds = ['shared', 'accept', 'step']

export const diskVolumes = allOf<DiskRoom['volume']>({ data: true, spool: true, database: true })

/** The statuses of lanes, and the reasons of waiting that count as each. Any other reason is one of the lane's network. */
const REASONS_OF_STATUS: Readonly<Record<string, readonly string[]>> = {
  sending: ['sending'],
  busy: ['busy'],
  idle: ['idle'],
  pace: ['pace', 'quiet_hours'],
  deferred: ['all_deferred'],
  connection: ['connection_away', 'credentials_refused', 'secret_unreadable', 'session_unreadable', 'trouble'],
  rate_limited: ['rate_limited'],
  confirmation: ['backlog_confirmation'],
}
const STATUS_OF = new Map(
  Object.entries(REASONS_OF_STATUS).flatMap(([status, reasons]) => reasons.map((reason) => [reason, status] as const)),
)
export const laneStatuses = [...Object.keys(REASONS_OF_STATUS), 'network']

/** `said` is what a lane does, or the reason why it waits. */
export function laneStatusOf(said: string): string {
  return STATUS_OF.get(said) ?? 'network'
}

/** All words of a type. The compiler asks for each one that is missing. */
function allOf<Word extends string>(words: Readonly<Record<Word, true>>): readonly Word[] {
  return Object.keys(words) as Word[]
}
