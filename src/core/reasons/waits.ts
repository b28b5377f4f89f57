import { commandLine } from '../command-line.ts'
import { COPIED } from '../copied-hold.ts'
import { NO_ACTION, type ReasonRow } from '../sentences/texts.ts'

const SETTINGS = { opens: 'connection' } as const
const RESUME = commandLine`connection resume NUMBER`
const CHECK_AND_RELEASE = 'Cancel what was sent meanwhile. Then ask the person who runs Nuncio to release all numbers.'

/** Why a message waits, or all messages of a number. */
export const WAIT_REASONS = {
  behind_others: {
    list: ['{ahead} before it', 'Waits its turn'],
    cause: [
      '{before} before it; it should be sent about {turn}.',
      '{before} before it.',
      'It waits for earlier messages of {number}, or for an earlier one to {to}.',
    ],
    nextStep: 'You need not do anything: it moves up by itself.',
    causes: [
      {
        when: { fact: 'earlier' },
        list: 'Waits for one to the same recipient',
        cause: 'It waits for {earlier}.',
        nextStep: 'You need not do anything: it is sent after that one.',
      },
    ],
  },
  all_deferred: {
    list: 'All wait for something',
    cause: 'Each waiting message of {number} waits for something of its own.',
    nextStep: 'You need not do anything: each is sent when its wait is over.',
  },
  due: { list: 'Next, any moment', cause: 'It is next, and is sent within a second.', nextStep: NO_ACTION },
  sending: {
    list: 'Being sent',
    cause: ['Attempt {n} began {at}. {network} has not answered yet.', '{network} has not answered yet.'],
    nextStep: NO_ACTION,
  },
  awaiting_evidence: {
    list: 'Asking what became of it',
    cause: [
      'Its result is unknown. Nuncio waits for a report from {network} until {until}.',
      'Its result is unknown. Nuncio waits for a report from {network}.',
    ],
    nextStep: 'You need not do anything: it becomes Published or Unconfirmed.',
  },
  media_pending: {
    list: 'File not downloaded yet',
    cause: ['{words}', 'Its file is downloaded soon.'],
    nextStep: NO_ACTION,
    causes: [
      {
        when: { words: /./ },
        list: 'Download will be tried again',
        nextStep: 'If the fault is at the file host, fix it before the next try.',
        example: 'files.example answered 404 (not found). The next try is number 2 of 4.',
      },
    ],
  },
  media_uploading: {
    list: 'Uploading its file',
    cause: 'Nuncio uploads the file to {network}.',
    nextStep: 'You need not do anything: it is sent after that.',
  },
  retrying: {
    list: ['Retry ({nth} of nine)', 'Retry'],
    cause: [
      'The last attempt did not leave: {cause} The next try is the {nth} of nine.',
      'The last attempt did not leave. The next try is the {nth} of nine.',
      'The last attempt did not leave: {cause}',
      'The last attempt did not leave. The next one comes by itself.',
    ],
    nextStep: NO_ACTION,
    causes: [
      {
        // Given where an attempt before the last has an unknown result.
        when: { fact: 'refusedN' },
        list: 'Sent once more soon',
        cause: [
          'Attempt {refusedN} did not leave: {cause} But attempt {n} before may have arrived.',
          'Attempt {refusedN} did not leave, but an earlier one may have arrived.',
        ],
        nextStep: 'If {to} has it, cancel this one.',
        command: commandLine`message cancel ID`,
      },
      {
        // Given where the last attempt has an unknown result.
        when: { fact: 'n' },
        list: 'Sent once more soon',
        cause:
          'The result of attempt {n} is unknown. {number} is set to send once more in that case; it may arrive twice.',
        nextStep: 'If {to} has it, cancel this one.',
        command: commandLine`message cancel ID`,
      },
    ],
  },
  connection_away: {
    list: ['No line to {network}', 'No line'],
    cause: '{number} cannot reach {network}.',
    nextStep: 'You need not do anything: it goes on by itself. If it lasts, check the network of this machine.',
    command: commandLine`connection check NUMBER`,
    ...SETTINGS,
    causes: [
      {
        when: { words: /^a test number:/ },
        list: 'Sandbox away',
        cause: '{to} is {words}.',
        nextStep: NO_ACTION,
        example: 'a test number: the sandbox is away for 10 seconds',
      },
    ],
  },
  credentials_refused: {
    list: 'Credentials rejected',
    cause: '{network} rejects the credentials of {number}.',
    nextStep: 'Enter valid credentials in the settings of the connection, then resume it.',
    command: RESUME,
    ...SETTINGS,
  },
  rate_limited: {
    list: 'Too fast',
    cause: ['{network} asked {number} to slow down until {until}.', '{network} asked {number} to slow down.'],
    nextStep: 'You need not do anything. If it happens often, raise the least gap.',
    ...SETTINGS,
  },
  trouble: {
    list: 'Errors in a row',
    cause: ['Several tries in a row failed. The last: {cause}', 'Several tries in a row failed, so {number} waits.'],
    nextStep: 'You need not do anything: it goes on by itself. If it lasts, fix that cause.',
    command: commandLine`connection check NUMBER`,
    ...SETTINGS,
  },
  pace: {
    list: 'Paced',
    cause: [
      '{number} sends one message each {gap}. {before} before it, so it is sent about {turn}.',
      '{number} sends one message each {gap}. {before} before it.',
      '{number} sends one message each {gap}.',
      '{number} waits a while after each message: its least gap.',
    ],
    nextStep: 'You need not do anything. To send faster, lower the least gap.',
    command: commandLine`connection set NUMBER least_gap=…`,
    ...SETTINGS,
  },
  quiet_hours: {
    list: ['Quiet hours until {quietUntil}', 'Quiet hours'],
    cause: [
      '{number} sends nothing until {until}. {before} before it.',
      '{number} sends nothing until {until}.',
      '{number} sends nothing until {quietUntil}. {before} before it.',
      '{number} sends nothing until {quietUntil}.',
      '{number} sends nothing at this time of day: its quiet hours.',
    ],
    nextStep: 'You need not do anything. To send now, change the quiet hours.',
    command: commandLine`connection set NUMBER quiet_hours=…`,
    ...SETTINGS,
  },
  backlog_confirmation: {
    list: 'Waits for your approval',
    cause: '{number} stood still for longer than it may, so a person has to approve what has piled up.',
    nextStep: 'Check what waits. Then approve it, or cancel what is too old.',
    command: commandLine`connection approve-backlog NUMBER`,
    ...SETTINGS,
  },
  paused: {
    list: ['Paused by {who}', 'Paused'],
    cause: ['{who} paused {number} {at}.', '{number} is paused.'],
    nextStep: 'Resume {number}.',
    command: RESUME,
    ...SETTINGS,
  },
  database_went_back: {
    list: 'All numbers are held',
    cause: ['A person held all numbers: “{words}”.', 'A person held all numbers.'],
    nextStep: 'Ask the person who runs Nuncio to release them when that is over.',
    command: commandLine`hold --release`,
    causes: [
      {
        when: { words: /^it was restored from/ },
        list: 'Held after a restore',
        cause: 'The database was restored from a backup. What was sent since is not known here.',
        nextStep: CHECK_AND_RELEASE,
        example: 'it was restored from the backup of 2026-11-26 03:00',
      },
      {
        when: { words: /^a standby was promoted / },
        list: 'Held after a failover',
        cause:
          'The database server was replaced and may lack the last messages. What was sent since is not known here.',
        nextStep: CHECK_AND_RELEASE,
        example: 'a standby was promoted that lacks the last commits',
      },
      {
        when: { words: / older state of the database/ },
        list: 'Held: database may be older',
        cause: 'The database may be older than it was. What was sent since is not known here.',
        nextStep: CHECK_AND_RELEASE,
        example: 'it is an older state of the database, such as a backup that was restored',
      },
      {
        when: { words: new RegExp(`^${COPIED}`) },
        list: 'Held: data copied elsewhere',
        cause: 'This data was copied to another database, and only one of the two may send.',
        nextStep: 'Ask the person who runs Nuncio which of the two sends now.',
        command: commandLine`hold`,
        example: 'the data were copied to PostgreSQL at localhost:5432/nuncio',
      },
    ],
  },
  service_stopped: {
    list: 'Nuncio is not running',
    cause: 'Nuncio is not running, so nothing is sent.',
    nextStep: 'Ask the person who runs Nuncio to start it.',
    command: commandLine`serve`,
    causes: [
      {
        when: { words: / still holds the data\. / },
        list: 'Nuncio stands still',
        cause: '{words}',
        nextStep: 'Ask the person who runs Nuncio to restart that process.',
        command: commandLine`workers`,
        example:
          'Process 4711 has shown no sign of life since 26 Nov 2026, 04:19:57 UTC, but still holds the data. Nothing is sent.',
      },
      {
        when: { words: /^No process / },
        list: 'No process sends',
        cause: '{words}',
        nextStep: 'Ask the person who runs Nuncio to start a process that sends.',
        command: commandLine`workers`,
        example: 'No process sends. The last sign of life of one was on 26 Nov 2026, 04:19:57 UTC.',
      },
    ],
  },
  process_gone: {
    list: 'Its process shows no sign of life',
    cause:
      'The process that sends for {number} shows no sign of life. If it stays away, another one takes over within 20 s.',
    nextStep: NO_ACTION,
    command: commandLine`workers`,
  },
  storage_unavailable: {
    list: 'Nothing can be stored',
    cause: [
      '{words} Nothing can be accepted or sent.',
      'Nothing can be accepted or sent, because nothing can be stored.',
    ],
    nextStep: 'Ask the person who runs Nuncio to make room or repair the database. Nuncio goes on by itself.',
    command: commandLine`doctor`,
    causes: [
      { when: { words: /disk .*full|no room|no space/i }, list: 'Disk full', example: 'The disk is full.' },
      { when: { words: /database/i }, list: 'Database away', example: 'The database cannot be reached.' },
    ],
  },
} as const satisfies Record<string, ReasonRow>
