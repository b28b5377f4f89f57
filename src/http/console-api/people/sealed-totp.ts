import type { SecretPlace, Secrets } from '../../../core/ports/secrets.ts'

/** The encrypted secret as stored in the database. */
export function sealTotp(secrets: Secrets, personId: string, secret: Buffer): Buffer {
  return Buffer.from(secrets.seal(secret.toString('latin1'), placeOf(personId)))
}

export function openTotp(secrets: Secrets, personId: string, kept: Uint8Array): Buffer {
  return Buffer.from(secrets.open(Buffer.from(kept).toString('latin1'), placeOf(personId)), 'latin1')
}

/** The same before and after confirmation, when the database moves the secret to another column. */
function placeOf(personId: string): SecretPlace {
  return { purpose: 'second-factor', accountId: null, owner: personId, name: 'totp' }
}
