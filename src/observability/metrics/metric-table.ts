import { REMOVED_KINDS } from '../../core/ports/retention.ts'
import { ALARM_KIND_NAMES, ALARM_SEVERITIES } from '../../core/watchdog/alarm-kinds.ts'
import {
  attemptOutcomes,
  bridgeOperations,
  bridgeResults,
  callbackOutcomes,
  channels,
  commitKinds,
  diskVolumes,
  fetchOutcomes,
  httpStatuses,
  ignoredReasons,
  laneStatuses,
  lineCodes,
  otherEvents,
  prepareOutcomes,
  refusalCodes,
  reportKinds,
  reportResults,
  requestOutcomes,
  sessionStatuses,
  tryOutcomes,
} from './label-values.ts'
import { counter, gauge, histogram, type MetricDefinition } from './metric-definition.ts'

const SECONDS = [0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
// A commit on a good disk takes less than a millisecond, one of a stuck disk ends with the answer.
const COMMIT_SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const BATCH = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024]
// A message behind a backlog waits for hours, and lives for a day.
const WAIT_SECONDS = [0.005, 0.025, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400]

/**
 * Every metric of ours. What /metrics shows, docs/metrics.md and the dashboard are made from this table, in this order.
 */
export const METRICS = {
  nuncio_requests_total: counter({
    help: 'Requests to the send endpoint, by HTTP status and outcome.',
    labels: { status: httpStatuses, outcome: requestOutcomes },
    row: 'Accepting',
    title: 'Requests by outcome',
    by: ['outcome'],
  }),
  nuncio_request_duration_seconds: histogram('seconds', SECONDS, {
    help: 'From the arrival of a request until its reply was written.',
    row: 'Accepting',
    title: 'Time to the reply',
  }),
  nuncio_refusals_not_logged_total: counter({
    help: 'Refused requests that could not be put into the API log.',
    row: 'Accepting',
    title: 'Under pressure',
  }),
  nuncio_connections_dropped_total: counter({
    help: 'Connections turned away because as many were open as may be, in all or of one caller.',
    row: 'Accepting',
    title: 'Under pressure',
  }),

  nuncio_messages_waiting: gauge('count', {
    help: 'Messages that wait in their lanes.',
    together: 'max',
    row: 'Lanes',
    title: 'Messages waiting',
  }),
  nuncio_lanes_held: gauge('count', { help: 'Lanes that are held here.', row: 'Lanes', title: 'Lanes held' }),
  nuncio_lanes: gauge('count', {
    help: 'Lanes that are held here, by what they do or wait for.',
    labels: { status: laneStatuses },
    row: 'Lanes',
    title: 'Lanes by status',
  }),
  nuncio_messages_deferred: gauge('count', {
    help: 'Messages of the lanes that are held here which wait for something of their own, or behind one that does.',
    row: 'Lanes',
    title: 'Messages deferred',
  }),
  nuncio_connections_paused: gauge('count', {
    help: 'Connections that were paused by a person.',
    together: 'max',
    row: 'Lanes',
    title: 'Lanes by status',
  }),
  nuncio_lane_claims_total: counter({
    help: 'Lanes that this worker took, and lanes that it let go or lost.',
    labels: { change: ['taken', 'lost'] },
    row: 'Lanes',
    title: 'Lanes taken and lost',
  }),
  nuncio_first_attempt_wait_seconds: histogram('seconds', WAIT_SECONDS, {
    help: 'From the acceptance of a message until its first attempt.',
    row: 'Lanes',
    title: 'From acceptance to the first attempt',
  }),

  nuncio_attempts_total: counter({
    help: 'Attempts to hand a message to a channel, by channel and outcome.',
    labels: { channel: channels, outcome: attemptOutcomes },
    row: 'Attempts',
    title: 'Attempts by channel and outcome',
  }),
  nuncio_attempt_duration_seconds: histogram('seconds', SECONDS, {
    help: 'How long an attempt took.',
    labels: { channel: channels },
    row: 'Attempts',
    title: 'Time of an attempt',
  }),
  nuncio_attempts_open: gauge('count', {
    help: 'Attempts whose call to the channel is under way.',
    row: 'Attempts',
    title: 'Attempts under way',
  }),
  nuncio_events_total: counter({
    help: 'What else happened on the dispatching side, by kind.',
    labels: { event: otherEvents },
    row: 'Attempts',
    title: 'Events',
  }),

  nuncio_callback_replies_total: counter({
    help: 'Callbacks of networks, by the HTTP status that they were answered with.',
    labels: { status: httpStatuses },
    row: 'Callbacks',
    title: 'Callbacks by status',
  }),
  nuncio_callback_duration_seconds: histogram('seconds', SECONDS, {
    help: 'From the arrival of a callback until its reply was written.',
    row: 'Callbacks',
    title: 'Time to the reply of a callback',
  }),
  nuncio_callbacks_total: counter({
    help: 'Callbacks of networks, by channel and by what became of them.',
    labels: { channel: channels, outcome: callbackOutcomes },
    row: 'Callbacks',
    title: 'Callbacks by outcome',
  }),
  nuncio_callback_reports_total: counter({
    help: 'Reports of networks about messages, by channel, kind and what became of them. Of an unreadable one, a linked number sent the message again to the device that could not read it.',
    labels: { channel: channels, kind: reportKinds, result: reportResults },
    row: 'Callbacks',
    title: 'Reports about messages',
  }),
  nuncio_callback_parts_ignored_total: counter({
    help: 'Parts of callbacks that say nothing to us, by channel and reason.',
    labels: { channel: channels, reason: ignoredReasons },
    row: 'Callbacks',
    title: 'Parts ignored',
  }),

  nuncio_sessions: gauge('count', {
    help: 'Sessions of linked devices that this process has, by status.',
    labels: { status: sessionStatuses },
    row: 'Lanes',
    title: 'Sessions by status',
  }),
  nuncio_session_logins_total: counter({
    help: 'Logins of linked devices that came to their end.',
    row: 'Lanes',
    title: 'Logins of linked devices',
  }),
  nuncio_session_lines_ended_total: counter({
    help: 'Lines of linked devices that ended, by the code with which their network ended them.',
    labels: { code: lineCodes },
    row: 'Lanes',
    title: 'Ended lines of linked devices',
  }),
  nuncio_network_refusals_total: counter({
    help: 'Messages of linked devices that their network rejected, by its code.',
    labels: { code: refusalCodes },
    row: 'Attempts',
    title: 'Refusals by code',
  }),
  nuncio_bridge_calls_total: counter({
    help: 'Requests to adapters of the channel bridge, by operation and by what came back; only signed is an answer.',
    labels: { operation: bridgeOperations, result: bridgeResults },
    row: 'Attempts',
    title: 'Requests to adapters',
  }),
  nuncio_bridge_request_duration_seconds: histogram('seconds', SECONDS, {
    help: 'Length of one request to an adapter of the channel bridge, by operation.',
    labels: { operation: bridgeOperations },
    row: 'Attempts',
    title: 'Time of a request to an adapter',
  }),

  nuncio_webhook_tries_total: counter({
    help: 'Tries to post a notification to a webhook, by outcome.',
    labels: { outcome: tryOutcomes },
    row: 'Webhooks',
    title: 'Tries by outcome',
  }),
  nuncio_webhook_try_duration_seconds: histogram('seconds', SECONDS, {
    help: 'Length of one try to post a notification to a webhook.',
    row: 'Webhooks',
    title: 'Length of a try',
  }),

  nuncio_media_fetches_total: counter({
    help: 'Tries to fetch an attachment, by outcome.',
    labels: { outcome: fetchOutcomes },
    row: 'Media',
    title: 'Fetches by outcome',
  }),
  nuncio_media_fetch_duration_seconds: histogram('seconds', SECONDS, {
    help: 'How long a fetch took that brought a file.',
    row: 'Media',
    title: 'Time of a fetch',
  }),
  nuncio_media_fetched_bytes_total: counter(
    { help: 'Bytes of the files that were fetched.', row: 'Media', title: 'Bytes fetched' },
    'bytes',
  ),
  nuncio_media_fetches_open: gauge('count', {
    help: 'Fetches that are under way.',
    row: 'Media',
    title: 'Fetches under way',
  }),
  nuncio_media_spool_bytes: gauge('bytes', {
    help: 'Bytes of fetched files that lie in the spool until their message has ended.',
    together: 'max',
    row: 'Media',
    title: 'Spool',
  }),
  nuncio_prepare_duration_seconds: histogram('seconds', SECONDS, {
    help: 'How long it took to get an attachment ready at its network, by channel and outcome.',
    labels: { channel: channels, outcome: prepareOutcomes },
    row: 'Media',
    title: 'Time of getting ready',
    by: ['channel'],
  }),

  nuncio_commit_duration_seconds: histogram('seconds', COMMIT_SECONDS, {
    help: 'How long a commit took, by what was committed: acceptances, steps of lanes, or both in one.',
    labels: { operation: commitKinds },
    row: 'Storage',
    title: 'Time of a commit',
  }),
  nuncio_commit_rows: histogram('count', BATCH, {
    help: 'How many acceptances or steps shared a commit.',
    labels: { operation: commitKinds },
    row: 'Storage',
    title: 'Sharing a commit',
  }),
  nuncio_storage_unavailable: gauge('count', {
    help: '1 while a process can write nothing: its disk is full, or the database is away.',
    together: 'max',
    row: 'Storage',
    title: 'Nothing can be written',
  }),
  nuncio_database_bytes: gauge('bytes', {
    help: 'Size of the database.',
    together: 'max',
    row: 'Storage',
    title: 'Size of the database',
  }),
  nuncio_database_connections_made_total: counter({
    help: 'Connections to PostgreSQL that were made. More after the start: some were lost and made again.',
    row: 'Storage',
    title: 'Connections made',
  }),

  nuncio_console_requests_total: counter({
    help: 'Requests to the private API of the console, by HTTP status.',
    labels: { status: httpStatuses },
    row: 'Console',
    title: 'Requests of the console',
  }),
  nuncio_console_request_duration_seconds: histogram('seconds', SECONDS, {
    help: 'From the arrival of a request of the console until its reply began.',
    row: 'Console',
    title: 'Time to the reply of the console',
  }),
  nuncio_console_queries_in_flight: gauge('count', {
    help: 'Queries of the console that the database has not answered yet.',
    row: 'Console',
    title: 'Queries in flight',
  }),

  nuncio_alarms_open: gauge('count', {
    help: 'Alarms that are open, by kind and severity. Every process shows all of them.',
    labels: { kind: ALARM_KIND_NAMES, severity: ALARM_SEVERITIES },
    together: 'max',
    row: 'Lanes',
    title: 'Open alarms',
  }),
  nuncio_oldest_waiting_seconds: gauge('seconds', {
    help: 'How long the head of any lane has waited; 0 where another process watches the lanes.',
    together: 'max',
    row: 'Lanes',
    title: 'Age of the oldest that waits',
  }),
  nuncio_watchdog_checks_total: counter({
    help: 'How often the watchdog has checked.',
    row: 'Lanes',
    title: 'Checks of the watchdog',
  }),
  nuncio_disk_free_bytes: gauge('bytes', {
    help: 'Room left on the disks of this machine, by what lies on them; data on the same disk is shown once.',
    labels: { volume: diskVolumes },
    together: 'max',
    row: 'Storage',
    title: 'Room on the disk',
  }),

  nuncio_retention_removed_total: counter({
    help: 'What was deleted because its time was over, by kind; `days` are whole days that were dropped at once.',
    labels: { kind: REMOVED_KINDS },
    row: 'Storage',
    title: 'Deleted by age',
  }),
  nuncio_retention_seconds_total: counter(
    {
      help: 'How long deleting what is old has taken, without its rests.',
      row: 'Storage',
      title: 'Time spent on deleting by age',
    },
    'seconds',
  ),
  nuncio_retention_last_sweep_timestamp_seconds: gauge('seconds', {
    help: 'When this process last came to the end of a sweep for what is old, in seconds since 1970; 0: not yet.',
    together: 'max',
    row: 'Storage',
    title: 'Last sweep for what is old',
  }),

  nuncio_trace_spans_total: counter({
    help: 'Spans of traces, by what became of them; none where no exporter is set.',
    labels: { result: ['exported', 'refused', 'dropped'] },
    row: 'Process',
    title: 'Spans of traces',
  }),
} as const satisfies Readonly<Record<`nuncio_${string}`, MetricDefinition>>

export type MetricName = keyof typeof METRICS
export type NameOf<Kind extends MetricDefinition['kind']> = {
  [Name in MetricName]: (typeof METRICS)[Name]['kind'] extends Kind ? Name : never
}[MetricName]
/** Its label values. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<keyof (typeof METRICS)[Name]['labels'] & string, string>
>

/** As `METRICS`, for code that treats all of them alike. */
export const METRIC_LIST: readonly (readonly [MetricName, MetricDefinition])[] = Object.entries(METRICS) as [
  MetricName,
  MetricDefinition,
][]
