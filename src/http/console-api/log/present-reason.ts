import { explainReason } from '../../../core/reasons.ts'

interface PresentedReason {
  readonly code: string
  readonly meaning: string
  readonly nextStep: string
  readonly words: string | null
}

/** `state`: the state of the message, if it is the reason of a message. */
export function presentReason(code: string, words: string | null, state: string | null = null): PresentedReason {
  const { sentence, inConsole: nextStep, words: said } = explainReason(code, state, words)
  // The cause is a text of ours, not of a network.
  if (code === 'storage_unavailable' && words !== null)
    return { code, meaning: `${words} Nothing can be accepted or sent.`, nextStep, words: null }
  return { code, meaning: sentence, nextStep, words: said }
}
