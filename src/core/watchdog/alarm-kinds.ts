import { commandLine } from '../command-line.ts'

export type AlarmSeverity = 'info' | 'warning' | 'critical'

interface AlarmKindFacts {
  /** What an alarm of this kind is about. */
  readonly of: 'connection' | 'token' | 'account' | 'installation'
  /** As it usually is; some get worse. */
  readonly severity: AlarmSeverity
  /** When it is raised, in one sentence. */
  readonly means: string
  /** What to do, as buttons and fields of the console are called; NUMBER stands for the number of the connection. */
  readonly nextStep: string
  /** What to type at the command line. Null: there is nothing to type. */
  readonly command: string | null
  /** For how long the condition must hold without a break before the alarm is raised. */
  readonly raisedAfterMs: number
  /** For how long it must be gone without a break before the alarm is. */
  readonly clearedAfterMs: number
}

const SECOND_MS = 1_000
// Two checks, so that one which went wrong by chance raises nothing.
const SOON_MS = 30 * SECOND_MS

/** Everything the watchdog can find. The names are stable: people filter by them. docs/alarms.md is printed from this table. */
export const ALARM_KINDS = {
  lanes_held: {
    of: 'installation',
    severity: 'critical',
    means: 'All lanes are held, so no attempt begins on any connection until a person releases them (G12).',
    nextStep: 'Check what was sent meanwhile, and cancel what must not go out again. Then release all numbers.',
    command: commandLine`hold --release`,
    raisedAfterMs: 0,
    clearedAfterMs: 0,
  },
  no_worker: {
    of: 'installation',
    severity: 'critical',
    means: 'For a minute no living process has had the role `dispatch`, so nothing is sent.',
    nextStep: 'Ask the person who runs Nuncio to start a process with NUNCIO_ROLES that names dispatch.',
    command: commandLine`workers`,
    raisedAfterMs: 60 * SECOND_MS,
    clearedAfterMs: SOON_MS,
  },
  storage_unavailable: {
    of: 'installation',
    severity: 'warning',
    means: `A process could write nothing for half a minute, or requests were refused for it: a full disk, or a database that was away. It is raised when that is over, and kept for an hour. As long as it lasts, every page of the console and ${commandLine`attention`} say so.`,
    nextStep:
      'Find out why, so that it does not come again. What was refused with 503 must be sent again by its senders: the API log shows whose it was.',
    command: null,
    raisedAfterMs: 0,
    clearedAfterMs: 3_600 * SECOND_MS,
  },
  disk_filling: {
    of: 'installation',
    severity: 'warning',
    means:
      'A disk that Nuncio writes to has little room left: less than NUNCIO_ALARM_DISK_FREE_PERCENT (counted on at most 200 GB of it), or less than 1 GB. Critical below 2 % or 200 MB. When it is full, nothing is accepted and nothing is sent.',
    nextStep: 'Ask the person who runs Nuncio to make room on it or enlarge it.',
    command: commandLine`attention`,
    raisedAfterMs: 0,
    clearedAfterMs: SOON_MS,
  },
  lane_stalled: {
    of: 'connection',
    severity: 'critical',
    means:
      'Messages are due on a connection and nothing explains a wait, but for three quarters of a minute nothing has begun or ended; or a call to its network is open for so much longer than it may be.',
    nextStep: 'Ask the person who runs Nuncio to restart that process: another takes over within 20 seconds.',
    command: commandLine`workers`,
    raisedAfterMs: 0,
    clearedAfterMs: SOON_MS,
  },
  connection_offline: {
    of: 'connection',
    severity: 'critical',
    means:
      'For two minutes a connection has sent nothing, because its network cannot be reached, rejects its credentials or wants no more from it. It is tried again by itself.',
    nextStep: 'Check the connection.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: SOON_MS,
  },
  reports_missing: {
    of: 'connection',
    severity: 'warning',
    means:
      'The network of a connection calls back, but has reported nothing since it took three messages or more, the first of them ten minutes ago. As long as no report arrives, nothing becomes DELIVERED or READ, failures that the network reports later are not known, and an attempt without an answer becomes UNCONFIRMED. One report of any kind ends it.',
    nextStep:
      'Check the callback address that the network knows, its certificate and the field messages: the page of the connection shows what to enter.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: 0,
  },
  promise_broken: {
    of: 'connection',
    severity: 'critical',
    means:
      'The adapter of a bridge connection did what its protocol forbids: messages may have been sent twice, or the log may show what is not so. It ends by itself a day later, unless the adapter does it again.',
    nextStep: 'Pause the connection until the adapter is repaired, then check the connection.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: 0,
    clearedAfterMs: 0,
  },
  bridge_capabilities_changed: {
    of: 'connection',
    severity: 'info',
    means:
      'The adapter of a bridge connection says that it can do other things than when the connection was last checked. Until it is checked again, Nuncio goes by what it said then.',
    nextStep: 'Check the connection: that takes over what the adapter says now.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: 0,
    clearedAfterMs: 0,
  },
  device_unlinked: {
    of: 'connection',
    severity: 'critical',
    means:
      'The phone of a WhatsApp Web connection is not linked: a person has unlinked it there, or WhatsApp has. If it was never linked, or was unlinked here, the alarm is raised only while messages wait.',
    nextStep: 'Link the phone of the number again. What waits is then sent.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: SOON_MS,
  },
  session_taken: {
    of: 'connection',
    severity: 'critical',
    means:
      'The device of a WhatsApp Web connection has logged in somewhere else, such as a second installation on a copy of the database. It does not log in again by itself, because the two would put each other out for ever.',
    nextStep: 'End the other installation.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: SOON_MS,
  },
  number_restricted: {
    of: 'connection',
    severity: 'critical',
    means:
      'WhatsApp has locked, banned or restricted the number of a WhatsApp Web connection. As a warning: it lets the number write to no new recipients for a while.',
    nextStep:
      'Open WhatsApp on the phone of the number and follow what it says. Send less to people who do not know it.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: SOON_MS,
  },
  client_refused: {
    of: 'connection',
    severity: 'critical',
    means:
      'WhatsApp does not let a WhatsApp Web connection log in: the version of this program is too old, or the certificate of the other side is wrong. It is tried again by itself.',
    nextStep: 'Wait a quarter of an hour. If it lasts, ask the person who runs Nuncio to update it.',
    command: commandLine`connection check NUMBER`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: SOON_MS,
  },
  oldest_waiting: {
    of: 'connection',
    severity: 'warning',
    means:
      'The first message of a lane has waited for longer than NUNCIO_ALARM_OLDEST_WAITING_MINUTES, for another reason than what its owner has set: pace, quiet hours or a pause.',
    nextStep: 'See what waits and why on the page of the connection.',
    command: commandLine`attention`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: SOON_MS,
  },
  messages_will_expire: {
    of: 'connection',
    severity: 'warning',
    means:
      'Messages that wait will expire before their turn: the pace and the quiet hours let too few go within their time to live, or the connection is paused.',
    nextStep: 'Resume the connection, shorten its least gap or raise its time to live.',
    command: commandLine`connection set NUMBER least_gap=… time_to_live=…`,
    raisedAfterMs: SOON_MS,
    clearedAfterMs: 60 * SECOND_MS,
  },
  backlog_near_limit: {
    of: 'connection',
    severity: 'warning',
    means:
      'Nine tenths of the messages wait that may wait on a connection or in an account (NUNCIO_MAX_WAITING_PER_CONNECTION, NUNCIO_MAX_WAITING_PER_ACCOUNT). At the limit further ones are answered with 429.',
    nextStep:
      'Send less, see on the page of the connection what holds it up, or ask the person who runs Nuncio to raise the limit.',
    command: commandLine`attention`,
    raisedAfterMs: 0,
    clearedAfterMs: 60 * SECOND_MS,
  },
  unconfirmed: {
    of: 'account',
    severity: 'warning',
    means: 'It is unknown whether some messages arrived, and a person should resolve them.',
    nextStep: 'Ask the recipients, then decide for each message: it arrived, or send it again.',
    command: `${commandLine`message resolve ID --arrived`} or --send-again`,
    raisedAfterMs: 0,
    clearedAfterMs: 0,
  },
  token_expiring: {
    of: 'token',
    severity: 'warning',
    means:
      'A token that was used in the last 30 days has less than a fifth of its life left, and at most 7 days; critical within one.',
    nextStep: 'Rotate it on its page, and hand the new one to everybody who uses it.',
    command: null,
    raisedAfterMs: 0,
    clearedAfterMs: 0,
  },
  token_expired_in_use: {
    of: 'token',
    severity: 'critical',
    means: 'A token has expired and is still in use: all requests with it are refused with 401.',
    nextStep: 'Create a new token, and give it to the callers that the page of this one shows.',
    command: null,
    raisedAfterMs: 0,
    clearedAfterMs: 0,
  },
} as const satisfies Record<string, AlarmKindFacts>

export type AlarmKind = keyof typeof ALARM_KINDS
export const ALARM_KIND_NAMES = Object.keys(ALARM_KINDS) as readonly AlarmKind[]
export const ALARM_SEVERITIES = ['critical', 'warning', 'info'] as const satisfies readonly AlarmSeverity[]

export function isAlarmKind(text: string): text is AlarmKind {
  return Object.hasOwn(ALARM_KINDS, text)
}
