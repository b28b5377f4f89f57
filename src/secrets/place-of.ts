import type { SecretKind, SecretPlace, SecretRow } from '../core/ports/secrets.ts'

const MOVING: Readonly<Partial<Record<SecretKind, string>>> = { 'second-factor': 'totp', webhook: 'secret' }

/**
 * Where a text of a row lies. The secret of a code app moves within its row when it is confirmed, that of a webhook when
 * it is replaced: so both places are one.
 */
export function placeOf({ kind, accountId, owner }: SecretRow, name: string): SecretPlace {
  return { purpose: kind, accountId, owner, name: MOVING[kind] ?? name }
}
