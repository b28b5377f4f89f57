import { explainReason } from '../../../core/reasons.ts'

/** What to do where the table names a command of the CLI, as people do it in the console. */
const IN_THE_CONSOLE: Readonly<Record<string, string>> = {
  paused: 'Resume the connection on its page.',
  credentials_refused: 'Give the connection valid credentials on its page, then resume it.',
  database_went_back:
    'Look at what was sent meanwhile and cancel what must not go out again. Then the operator releases the lanes: nuncio hold --release',
  storage_unavailable:
    'Ask the person who runs Nuncio to make room on the disk or to repair the database. Sending goes on by itself.',
  fate_unknown: 'Ask the recipient, then choose “It arrived” or “Send again”.',
  worker_died: 'Ask the recipient, then choose “It arrived” or “Send again”.',
  quarantined: 'Look at what is special about it, then choose “It arrived” or “Send again”.',
  call_timed_out: 'Ask the recipient, then choose “It arrived” or “Send again”.',
}

export interface ToldReason {
  readonly code: string
  readonly meaning: string
  readonly nextStep: string
  readonly words: string | null
}

export function tellReason(code: string, words: string | null): ToldReason {
  const { sentence, nextStep: ofCli } = explainReason(code)
  const nextStep = IN_THE_CONSOLE[code] ?? ofCli
  // The cause is ours, and no words of a network.
  if (code === 'storage_unavailable' && words !== null)
    return { code, meaning: `${words} Nothing can be accepted or sent.`, nextStep, words: null }
  return {
    code,
    meaning: sentence,
    nextStep,
    words,
  }
}
