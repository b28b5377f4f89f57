import type { SecretKind, SecretPlace, SecretRow } from '../core/ports/secrets.ts'

const MOVING: Readonly<Partial<Record<SecretKind, string>>> = { 'second-factor': 'totp', webhook: 'secret' }

/**
 * The place of a text in a row. Confirming a code app moves its secret to another column, and so does replacing the secret of
 * a webhook. So both columns count as one place.
 */
export function placeOf({ kind, accountId, owner }: SecretRow, name: string): SecretPlace {
  return { purpose: kind, accountId, owner, name: MOVING[kind] ?? name }
}
