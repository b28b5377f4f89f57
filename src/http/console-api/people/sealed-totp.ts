import type { SecretPlace, Secrets } from '../../../core/ports/secrets.ts'

/** As it is kept: the letters of the sealed text. */
export function sealTotp(secrets: Secrets, personId: string, secret: Buffer): Buffer {
  return Buffer.from(secrets.seal(secret.toString('latin1'), placeOf(personId)))
}

export function openTotp(secrets: Secrets, personId: string, kept: Uint8Array): Buffer {
  return Buffer.from(secrets.open(Buffer.from(kept).toString('latin1'), placeOf(personId)), 'latin1')
}

/** The same before and after it was confirmed: the database moves it from the one column to the other. */
function placeOf(personId: string): SecretPlace {
  return { purpose: 'second-factor', accountId: null, owner: personId, name: 'totp' }
}
