import { hostname } from 'node:os'
import type { Settings } from '../../config/read-settings.ts'
import { commandLine } from '../../core/command-line.ts'
import type { Instant } from '../../core/ids.ts'
import type { Administration } from '../../core/ports/administration.ts'
import type { SecretStore } from '../../core/ports/secrets.ts'
import { Refusal } from '../../core/refusals.ts'
import { allRows } from '../../secrets/all-rows.ts'
import { Key, keyIdOf } from '../../secrets/key.ts'
import type { KeyRing } from '../../secrets/key-ring.ts'
import { KeyRingFile } from '../../secrets/key-ring-file.ts'
import { type Resealed, resealAll } from '../../secrets/rotate.ts'
import { openSecrets } from './open-secrets.ts'

// Between sealing a secret and storing it a process may ask the network about it, for at most half a minute. This is ten times
// as long, and there is no hurry to remove a key.
const OLD_KEY_KEPT_MS = 5 * 60_000

/** `current`: new secrets are sealed with it. `next`: the next rotation will use it. `missing`: it is not in the ring. */
export type KeyState = 'current' | 'next' | 'old' | 'missing'

interface KeyView {
  readonly id: string
  /** Null when it is not in the ring. */
  readonly madeAt: Instant | null
  readonly state: KeyState
  /** How many secrets in the database are sealed with it. */
  readonly secrets: number
}

export interface KeyRingView {
  /** The file. */
  readonly file: string
  readonly keys: readonly KeyView[]
  /** True when a rotation was begun and has not come to its end. */
  readonly isRotating: boolean
}

interface AddedKey {
  readonly id: string
  readonly file: string
  /** False when there was a key already that nothing is sealed with yet. */
  readonly isNew: boolean
}

export interface Rotation extends Resealed {
  readonly id: string
  readonly file: string
}

/** What the operator does with the key ring while the service runs. Every method refuses when the ring is the wrong one. */
export interface KeyRingAdministration {
  list(): Promise<KeyRingView>
  /** A key that nothing is sealed with before the next rotation. */
  addKey(by: string): Promise<AddedKey>
  /** Refuses with `key_elsewhere_missing`. Stopped in the middle, it can be run again. */
  rotate(by: string, onProgress: (secrets: number) => void): Promise<Rotation>
  /** Refuses with `key_unknown` and `key_in_use`. */
  removeKey(id: string, by: string): Promise<void>
}

interface Parts {
  readonly settings: Settings
  readonly store: SecretStore
  readonly administration: Pick<Administration, 'listWorkers'>
  readonly now: () => Instant
}

export function createKeyRingAdministration(parts: Parts): KeyRingAdministration {
  return {
    list: () => list(parts),
    addKey: (by) => addKey(parts, by),
    rotate: (by, onProgress) => rotate(parts, by, onProgress),
    removeKey: (id, by) => removeKey(parts, id, by),
  }
}

async function open({ settings, store }: Parts): Promise<{ readonly file: KeyRingFile; readonly ring: KeyRing }> {
  const ring = await openSecrets(settings, { facts: await store.readKeyFacts(), store })
  return { file: new KeyRingFile(settings.keyRingFile), ring }
}

async function list(parts: Parts): Promise<KeyRingView> {
  const { ring } = await open(parts)
  const { keys, sealsWith } = ring.keys
  const counts = new Map(await countSecrets(parts.store))
  const { canary } = await parts.store.readKeyFacts()
  const current = keys.indexOf(sealsWith)
  const views = keys.map(({ id, madeAt }, at): KeyView => {
    const secrets = counts.get(id) ?? 0
    counts.delete(id)
    return { id, madeAt, state: at === current ? 'current' : at > current ? 'next' : 'old', secrets }
  })
  const missing = Array.from(counts, ([id, secrets]): KeyView => ({ id, madeAt: null, state: 'missing', secrets }))
  return { file: ring.place, keys: [...views, ...missing], isRotating: canary?.keyId !== sealsWith.id }
}

async function addKey(parts: Parts, by: string): Promise<AddedKey> {
  const { file } = await open(parts)
  const now = parts.now()
  let added: AddedKey | null = null
  file.change((found) => {
    const unused = found.keys.slice(found.keys.indexOf(found.sealsWith) + 1).at(-1)
    const key = unused ?? Key.make(now)
    added = { id: key.id, file: file.place, isNew: !unused }
    return unused ? null : { ...found, keys: [...found.keys, key] }
  }, now)
  const result = added as unknown as AddedKey
  if (result.isNew) await parts.store.noteKeyChange('add-key', result.id, by)
  return result
}

async function rotate(parts: Parts, by: string, onProgress: (secrets: number) => void): Promise<Rotation> {
  const { file, ring } = await open(parts)
  const { canary } = await parts.store.readKeyFacts()
  const newest = ring.keys.keys.at(-1)
  const { sealsWith } = ring.keys
  if (newest === sealsWith && canary?.keyId === sealsWith.id) {
    await refuseOthersWithout(parts, file)
    await addKey(parts, by)
  }
  const now = parts.now()
  // From here on all processes with this file seal with the new key, so the work below cannot grow.
  file.change((found) => {
    const last = found.keys.at(-1)
    return last && last !== found.sealsWith ? { ...found, sealsWith: last, since: now } : null
  }, now)
  ring.readAgain()
  const { id } = ring.keys.sealsWith
  await parts.store.noteKeyChange('rotate', id, by)
  return { id, file: file.place, ...(await resealAll({ store: parts.store, ring, onProgress })) }
}

/** Other machines without the key would get secrets that they cannot open. */
async function refuseOthersWithout({ administration }: Parts, file: KeyRingFile): Promise<void> {
  const workers = await administration.listWorkers()
  const hosts = workers.flatMap(({ host, isAlive }) => (isAlive && host !== null && host !== hostname() ? [host] : []))
  if (hosts.length === 0) return
  throw new Refusal(
    'key_elsewhere_missing',
    `Other machines serve this database (${[...new Set(hosts)].join(', ')}) and do not have the new key yet. Run ${commandLine`secrets add-key`}, copy ${file.place} to them, and then rotate.`,
  )
}

async function removeKey(parts: Parts, id: string, by: string): Promise<void> {
  const { file } = await open(parts)
  const counts = await countSecrets(parts.store)
  const now = parts.now()
  file.change((found) => {
    const key = found.keys.find((one) => one.id === id)
    if (!key)
      throw new Refusal('key_unknown', `There is no key ${id} in ${file.place}. See them: ${commandLine`secrets list`}`)
    refuseUsed(key, counts.get(id) ?? 0)
    const isNext = found.keys.indexOf(key) > found.keys.indexOf(found.sealsWith)
    if (key === found.sealsWith) refuseUsed(key, null)
    const keptUntil = found.since + OLD_KEY_KEPT_MS
    if (!isNext && now < keptUntil)
      throw new Refusal(
        'key_in_use',
        `Until ${new Date(keptUntil).toISOString()} a process may still store a secret that it sealed with ${id} before the rotation. Drop it after that.`,
      )
    return { ...found, keys: found.keys.filter((one) => one !== key) }
  }, now)
  await parts.store.noteKeyChange('remove-key', id, by)
}

/** `secrets` null: it is the one that new secrets are sealed with. */
function refuseUsed({ id }: Key, secrets: number | null): void {
  if (secrets === 0) return
  const what = secrets === null ? 'New secrets are' : secrets === 1 ? 'A secret is' : `${secrets} secrets are`
  throw new Refusal(
    'key_in_use',
    `${what} sealed with the key ${id}. Seal them with another: ${commandLine`secrets rotate`}`,
  )
}

/** How many secrets each key seals, by its id, the canary among them. Keys that seal nothing are left out. */
export async function countSecrets(store: SecretStore): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  const count = (keyId: string | null) => keyId !== null && counts.set(keyId, (counts.get(keyId) ?? 0) + 1)
  for await (const row of allRows(store)) for (const text of Object.values(row.texts)) count(keyIdOf(text))
  const { canary } = await store.readKeyFacts()
  count(canary?.keyId ?? null)
  return counts
}
