import { commandLine } from '../command-line.ts'
import { NO_ACTION, type ReasonRow } from '../sentences/texts.ts'

const SETTINGS = { opens: 'connection' } as const
const TRIED_AGAIN = 'You need not do anything while it waits: it is tried again.'

/** What WhatsApp says to a linked device. */
export const WHATSAPP_WEB_REASONS = {
  device_unlinked: {
    list: 'Phone not linked',
    cause: 'The phone of {number} is not linked, or was unlinked.',
    nextStep: 'Link the phone of the number. What waits is then sent.',
    command: commandLine`connection pair NUMBER`,
    ...SETTINGS,
  },
  channel_not_installed: {
    list: 'Channel not installed',
    cause: 'The packages of the channel are not installed on this machine.',
    nextStep: 'Ask the person who runs Nuncio to install them. Sending then goes on by itself.',
    command: commandLine`channel install whatsapp-web`,
  },
  session_unreadable: {
    list: 'Session cannot be decrypted',
    cause: 'The stored session of {number} cannot be decrypted: its key is missing, or it was changed.',
    nextStep:
      'Ask the person who runs Nuncio to restore the key ring. If the key is lost, unlink the number here, log the device out on its phone, and link it again.',
    command: commandLine`connection unlink NUMBER`,
    ...SETTINGS,
  },
  session_taken: {
    list: 'Session in use elsewhere',
    cause: 'The session of {number} was opened somewhere else, and WhatsApp ended this one.',
    nextStep: 'End the other installation, then log in here again: “Use here”.',
    command: commandLine`connection use-here NUMBER`,
    ...SETTINGS,
  },
  number_banned: {
    list: 'Number banned by WhatsApp',
    cause: ['WhatsApp has banned {number} until {until}.', 'WhatsApp has locked or banned {number}.'],
    nextStep: 'Open WhatsApp on the phone of the number and follow what it says. Then log in again: “Use here”.',
    command: commandLine`connection use-here NUMBER`,
    ...SETTINGS,
  },
  number_restricted: {
    list: 'Number restricted by WhatsApp',
    cause: ['WhatsApp restricts {number} until {until}.', 'WhatsApp restricts {number}.'],
    nextStep: 'Wait, and send less to people who never wrote to this number. Retrying makes it longer.',
    ...SETTINGS,
  },
  client_refused: {
    list: 'Login rejected by WhatsApp',
    cause: 'WhatsApp does not let this program log in, so {number} cannot send.',
    nextStep: 'You need not do anything at first: it is tried again. If it lasts, update Nuncio.',
    ...SETTINGS,
    causes: [
      {
        when: { words: / with code 405$/ },
        list: 'WhatsApp Web too old',
        cause: 'WhatsApp rejects this version of WhatsApp Web, so {number} cannot send. It is tried again.',
        nextStep: 'Ask the person who runs Nuncio to update the channel. If no update helps, report it.',
        command: commandLine`channel install whatsapp-web`,
        example: 'WhatsApp rejected the login with code 405',
      },
      {
        when: { words: / with code 4(?:09|1\d)$/ },
        list: 'WhatsApp rejects the connection',
        cause: 'WhatsApp rejects the connection of {number}. It is tried again.',
        nextStep: 'You need not do anything at first. If it lasts, link the phone again.',
        command: commandLine`connection pair NUMBER`,
        example: 'WhatsApp rejected the login with code 411',
      },
    ],
  },
  first_contacts_locked: {
    list: 'First contacts locked',
    cause: [
      'WhatsApp does not let {number} write to people who never wrote to it, until {until}.',
      'WhatsApp does not let {number} write to people who never wrote to it.',
    ],
    nextStep: 'You need not do anything: it is sent then. Until then, send to people who know the number.',
  },
  new_recipients: {
    list: 'Enough new recipients for now',
    cause: [
      '{words} More is allowed from {until} on.',
      '{words}',
      '{number} has written to as many new recipients within 24 hours as it may.',
    ],
    nextStep:
      'You need not do anything: it is sent then, and recipients of earlier messages go on. The settings of the connection say how many are allowed.',
    command: commandLine`connection set NUMBER new_recipients_per_day=…`,
    ...SETTINGS,
  },
  not_on_whatsapp: {
    list: 'Not on WhatsApp',
    cause: '{to} is not on WhatsApp.',
    nextStep: 'Check the number, and send a new message to the right one.',
    failsAgain: true,
  },
  recipient_lookup: {
    list: 'Looking up the recipient',
    cause: 'WhatsApp is being asked whether {to} is registered, and with which devices.',
    nextStep: NO_ACTION,
  },
  recipient_rate_limited: {
    list: 'Too fast to one recipient',
    cause: [
      'WhatsApp asked {number} to send more slowly to {to} until {until}.',
      'WhatsApp asked {number} to send more slowly to {to}.',
    ],
    nextStep: 'You need not do anything: it is tried again. Messages to others go on.',
  },
  stanza_refused: {
    list: 'Rejected by WhatsApp',
    cause: 'WhatsApp rejected the form of the message. The devices of the recipient are asked for again.',
    nextStep: NO_ACTION,
    causes: [
      {
        when: { state: 'FAILED' },
        list: 'Rejected twice by WhatsApp',
        cause: 'WhatsApp rejected the form of the message twice.',
        nextStep: 'Retry it later. If it fails again, report it.',
        command: commandLine`message retry ID`,
      },
    ],
  },
  network_refused: {
    list: 'Rejected by WhatsApp, tried again',
    cause: 'WhatsApp rejected the message without a reason that Nuncio knows.',
    nextStep: TRIED_AGAIN,
  },
} as const satisfies Record<string, ReasonRow>
