import type { SecretPlace, SecretRow } from '../core/ports/secrets.ts'

/** Where a text of a row lies. A code app's secret moves within its row when it is confirmed, so both places are one. */
export function placeOf({ kind, accountId, owner }: SecretRow, name: string): SecretPlace {
  return { purpose: kind, accountId, owner, name: kind === 'second-factor' ? 'totp' : name }
}
