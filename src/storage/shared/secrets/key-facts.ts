import type { KeyFacts } from '../../../core/ports/secrets.ts'

// A sealed text is several times as long, and what older versions stored of a code app is 20 bytes.
const LONGEST_PLAIN_BYTES = 40

/** One row, in the words of both engines. */
export const KEY_FACTS = `select (select key_id from key_ring) as key_id, (select canary from key_ring) as canary,
  exists (select 1 from totp
    where length(secret) <= ${LONGEST_PLAIN_BYTES} or length(begun_secret) <= ${LONGEST_PLAIN_BYTES}) as has_plain`

export function toKeyFacts(row: Readonly<Record<string, unknown>> | undefined): KeyFacts {
  const keyId = row?.['key_id']
  const canary = typeof keyId === 'string' ? { keyId, sealed: String(row?.['canary']) } : null
  return { canary, hasPlain: Boolean(row?.['has_plain']) }
}
