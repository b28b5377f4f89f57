import { call } from '../../api/call.ts'

/** Passkeys need a page over https or from this machine, and a host name: a passkey cannot belong to an IP address. */
export function hasPasskeys(): boolean {
  const isAddress = /^[\d.]+$|:/.test(window.location.hostname)
  return 'PublicKeyCredential' in window && !isAddress
}

export async function signInByPasskey(keep: boolean): Promise<void> {
  // The service is checked first, because a browser remembers an import that failed while the service was away.
  const { ticket, options } = await call('requestPasskeySignIn', {})
  const { startAuthentication } = await import('@simplewebauthn/browser')
  const optionsJSON = options as unknown as Parameters<typeof startAuthentication>[0]['optionsJSON']
  const answer = await startAuthentication({ optionsJSON }).catch(explain)
  await call('signInByPasskey', { body: { ticket, answer: { ...answer }, keep } })
}

/** The device's answer to the challenge, for the server to verify. */
export async function createPasskey(options: Readonly<Record<string, unknown>>): Promise<Record<string, unknown>> {
  const { startRegistration } = await import('@simplewebauthn/browser')
  const optionsJSON = options as unknown as Parameters<typeof startRegistration>[0]['optionsJSON']
  return { ...(await startRegistration({ optionsJSON }).catch(explain)) }
}

/** The errors of browsers are not written for people. */
export class PasskeyNotGiven extends Error {}

function explain(cause: unknown): never {
  const isKnown = cause instanceof Error && cause.name === 'InvalidStateError'
  throw new PasskeyNotGiven(
    isKnown
      ? 'This device has a passkey for you already.'
      : 'No passkey was given: the question was cancelled, or took too long. Try again, or use another way.',
    { cause },
  )
}
