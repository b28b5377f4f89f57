import { commandLine } from '../command-line.ts'

/** How a try ended, with what it means and what the owner of the receiver can do. The codes are stable. */
export const TRY_CODES = {
  delivered: ['The receiver took it: it answered with a status of 200 to 299.', 'Nothing.'],
  refused_status: [
    'The receiver answered {status}, not 200 to 299.',
    'Search the receiver’s log for the webhook-id. It must answer 2xx once it has stored the notice.',
  ],
  redirected: [
    'The receiver answered with a redirect, and those are not followed.',
    'Give the webhook the address that the redirect leads to.',
  ],
  gone: [
    'The receiver answered 410: it wants no more notices, so the webhook was disabled.',
    'Enable the webhook again if that was not meant.',
  ],
  name_unknown: ['The name in the URL could not be looked up.', 'Check the host name and its DNS records.'],
  unreachable: ['No connection to the receiver could be made, or it broke.', 'Check that the receiver runs.'],
  tls: ['No safe connection to the receiver could be made.', 'Check the receiver’s certificate.'],
  timeout: [
    'The receiver did not answer within the time that a try has.',
    'Store the notice first and answer at once; work on it afterwards.',
  ],
  blocked: [
    'The URL leads to an address that webhooks are not posted to: a private one, or one that the operator has closed.',
    'Use another address on the internet. Or have the operator open it, then restart: a private one by its network, such as NUNCIO_WEBHOOK_ALLOWED_PRIVATE=127.0.0.0/8, one that is closed by taking it out of NUNCIO_OUTBOUND_DENIED_CIDRS.',
  ],
  protocol: ['What the receiver answered is not usable HTTP/1.1.', 'Check what answers at that address.'],
  secret_unreadable: [
    'The webhook’s secret cannot be opened with the key ring of this installation, so nothing was posted.',
    `Have the operator run: ${commandLine`secrets list`}. Or rotate the secret of the webhook.`,
  ],
} as const satisfies Record<string, readonly [sentence: string, nextStep: string]>

export type TryCode = keyof typeof TRY_CODES

/** The sentences about a try. They are empty if a newer version wrote a code that this one does not know. */
export function explainTry({ code, status }: { readonly code: string; readonly status: number | null }): {
  readonly sentence: string
  readonly nextStep: string
} {
  const [sentence, nextStep] = TRY_CODES[code as TryCode] ?? ['', '']
  return { sentence: sentence.replace('{status}', String(status)), nextStep }
}
