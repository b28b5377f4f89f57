import { join } from 'node:path'
import type { Settings } from '../../../src/config/read-settings.ts'
import { KeyRing } from '../../../src/secrets/key-ring.ts'
import { KeyRingFile } from '../../../src/secrets/key-ring-file.ts'
import { CREDENTIALS, openSessionCipher } from '../../../src/secrets/session-store.ts'
import { readRows } from '../journey/engines.ts'

/** A secret that must not be stored anywhere in clear text. */
export interface PlainSecret {
  readonly what: string
  /** The forms in which it could be written: bytes, base64, hexadecimal, and as Node prints bytes. */
  readonly forms: readonly Buffer[]
}

// A key of 32 bytes as JSON stores it.
const KEY_IN_BASE64 = /[A-Za-z0-9+/]{43}=/g
// A linked number has 812 one-time keys, all alike. Some of them are enough.
const MOST_OF_A_KIND = 20

export function textSecret(what: string, text: string): PlainSecret {
  return { what, forms: [Buffer.from(text)] }
}

/** The keys of all linked devices, decrypted with the key ring. */
export async function readSessionSecrets(place: {
  readonly database: Settings['database']
  readonly dataDir: string
}): Promise<readonly PlainSecret[]> {
  const ring = new KeyRing(new KeyRingFile(join(place.dataDir, 'keys', 'key-ring.json')))
  const sessions = await readRows(
    place,
    'select s.*, c.account_id from channel_session s join connection c on c.id = s.connection_id',
  )
  const secrets = new Map<string, PlainSecret>()
  for (const { connection_id, account_id, data_key, credentials } of sessions) {
    const connectionId = String(connection_id)
    const sealed = { connectionId, accountId: account_id, dataKey: data_key } as never
    const cipher = openSessionCipher(ring, sealed)
    secrets.set('data key', bytesSecret('data key', cipher.dataKey))
    const keys = await readRows(
      place,
      `select kind, id, value from channel_session_key where connection_id = '${connectionId}'`,
    )
    const texts = [
      ['credentials', cipher.open(credentials as Uint8Array, CREDENTIALS)] as const,
      ...keys.map(({ kind, id, value }) => {
        const at = { kind: String(kind), id: String(id) }
        return [at.kind, cipher.open(value as Uint8Array, at)] as const
      }),
    ]
    for (const [kind, text] of texts)
      for (const [found] of text.toString().matchAll(KEY_IN_BASE64)) {
        const isEnough = [...secrets.values()].filter(({ what }) => what === kind).length >= MOST_OF_A_KIND
        if (!isEnough) secrets.set(found, bytesSecret(kind, Buffer.from(found, 'base64')))
      }
  }
  return [...secrets.values()]
}

/** The names of the secrets that these bytes contain. */
export function findSecrets(bytes: Buffer, secrets: readonly PlainSecret[]): readonly string[] {
  return secrets.filter(({ forms }) => forms.some((form) => bytes.includes(form))).map(({ what }) => what)
}

function bytesSecret(what: string, bytes: Buffer): PlainSecret {
  const hex = bytes.toString('hex')
  const texts = [
    bytes.toString('base64'),
    bytes.toString('base64url'),
    hex,
    // This is how Node prints a buffer.
    hex.replaceAll(/..(?!$)/g, '$& '),
    bytes.join(','),
  ]
  return { what, forms: [bytes, ...texts.map((text) => Buffer.from(text))] }
}
