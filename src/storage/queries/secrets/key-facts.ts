import type { KeyFacts } from '../../../core/ports/secrets.ts'

/** One row, in the words of both engines. */
export const KEY_FACTS = `select (select key_id from key_ring) as key_id, (select canary from key_ring) as canary`

export function toKeyFacts(row: Readonly<Record<string, unknown>> | undefined): KeyFacts {
  const keyId = row?.['key_id']
  return { canary: typeof keyId === 'string' ? { keyId, sealed: String(row?.['canary']) } : null }
}
