import { commandLine } from '../../../core/command-line.ts'
import { explainReason } from '../../../core/reasons.ts'

/** The next step in the console, for reasons whose general text names a CLI command. */
const IN_THE_CONSOLE: Readonly<Record<string, string>> = {
  paused: 'Resume the connection on its page.',
  credentials_refused: 'Give the connection valid credentials on its page, then resume it.',
  database_went_back: `Check what was sent meanwhile and cancel what must not go out again. Then the operator releases the lanes: ${commandLine`hold --release`}`,
  service_stopped:
    'Ask the person who runs Nuncio to start a process that sends, or to restart the one that stands still.',
  storage_unavailable:
    'Ask the person who runs Nuncio to make room on the disk or to repair the database. Sending goes on by itself.',
  result_unknown: 'Ask the recipient, then choose “It arrived” or “Send again”.',
  stopped_while_sending: 'Ask the recipient, then choose “It arrived” or “Send again”.',
  quarantined:
    'Ask the recipient, then choose “It arrived” or “Send again”, which may stop Nuncio again. Report it with its id.',
  call_timed_out: 'Ask the recipient, then choose “It arrived” or “Send again”.',
}

/** The same for a message that is FAILED. */
const IN_THE_CONSOLE_IF_FAILED: typeof IN_THE_CONSOLE = {
  quarantined:
    'Find out what is special about it, and report it with its id. “Retry” tries it again, which may stop Nuncio again.',
}

interface PresentedReason {
  readonly code: string
  readonly meaning: string
  readonly nextStep: string
  readonly words: string | null
}

/** `state`: the state of the message, if it is the reason of a message. */
export function presentReason(code: string, words: string | null, state: string | null = null): PresentedReason {
  const { sentence, nextStep: ofCli, words: said } = explainReason(code, state, words)
  const nextStep = (state === 'FAILED' && IN_THE_CONSOLE_IF_FAILED[code]) || IN_THE_CONSOLE[code] || ofCli
  // The cause is a text of ours, not of a network.
  if (code === 'storage_unavailable' && words !== null)
    return { code, meaning: `${words} Nothing can be accepted or sent.`, nextStep, words: null }
  return { code, meaning: sentence, nextStep, words: said }
}
