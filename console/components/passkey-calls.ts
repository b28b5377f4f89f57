import { call } from '../api/call.ts'
import { CallProblem } from '../api/call-problem.ts'

type Options = Readonly<Record<string, unknown>>

interface Challenge {
  readonly ticket: string
  readonly options: Options
}

/** Passkeys need a page over https or from this machine, and a host name: a passkey cannot belong to an IP address. */
export function hasPasskeys(): boolean {
  const isAddress = /^[\d.]+$|:/.test(window.location.hostname)
  return 'PublicKeyCredential' in window && !isAddress
}

export async function signInByPasskey(keep: boolean): Promise<void> {
  await call('signInByPasskey', { body: { ...(await answer(await call('requestPasskeySignIn', {}))), keep } })
}

export async function stepUpByPasskey(): Promise<void> {
  await call('stepUpByPasskey', { body: await answer(await call('requestPasskeyStepUp', {})) })
}

// Imports only after the service has given a challenge, so the service is not away: a browser remembers a failed import.
async function answer({ ticket, options }: Challenge) {
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const optionsJSON = options as unknown as Parameters<typeof startAuthentication>[0]['optionsJSON']
  return { ticket, answer: { ...(await startAuthentication({ optionsJSON }).catch(explain)) } }
}

/** The device's answer to the challenge, for the server to verify. */
export async function createPasskey(options: Options): Promise<Record<string, unknown>> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  const optionsJSON = options as unknown as Parameters<typeof startRegistration>[0]['optionsJSON']
  return { ...(await startRegistration({ optionsJSON }).catch(explain)) }
}

/** The errors of browsers are not written for people. */
function explain(cause: unknown): never {
  const isKnown = cause instanceof Error && cause.name === 'InvalidStateError'
  throw new CallProblem({
    status: 400,
    code: 'passkey_not_given',
    message: isKnown
      ? 'This device has a passkey for you already.'
      : 'No passkey was given: the question was cancelled, or took too long. Try again, or use another way.',
    cause,
  })
}
