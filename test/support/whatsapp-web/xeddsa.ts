import { createRequire } from 'node:module'

type IsSignedBy = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean

/** Checks a signature of libsignal with Node's Ed25519, by the same code as the channel's wrapper. */
export const { isSignedBy } = createRequire(import.meta.url)(
  '../../../extras/whatsapp-web/signal/src/is-signed-by.js',
) as { readonly isSignedBy: IsSignedBy }
