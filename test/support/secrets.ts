import type { Secrets } from '../../src/core/ports/secrets.ts'
import { KEY_BYTES, Key } from '../../src/secrets/key.ts'
import { KeyRing } from '../../src/secrets/key-ring.ts'

const MADE_AT = Date.UTC(2026, 0, 1)

/** A key ring with one key, the same in every test and stored in no file. */
export function testSecrets(): Secrets {
  const key = new Key(Buffer.alloc(KEY_BYTES, 7), MADE_AT)
  return new KeyRing({ place: 'the ring of the test', read: () => ({ keys: [key], sealsWith: key }) })
}
