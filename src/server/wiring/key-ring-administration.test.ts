import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, it } from 'vitest'
import { AdministrationWorld, ENGINES } from '../../../test/support/administration-world/open-administration-world.ts'
import { temporaryFolder } from '../../../test/support/journey/start-nuncio.ts'
import type { Settings } from '../../config/read-settings.ts'
import type { ConnectionId } from '../../core/ids.ts'
import { type SecretPlace, type SecretRow, type SecretStore, SecretUnreadable } from '../../core/ports/secrets.ts'
import type { KeyRing } from '../../secrets/key-ring.ts'
import { KeyRingFile } from '../../secrets/key-ring-file.ts'
import { createSecretStore } from '../../storage/queries/secrets/secret-store.ts'
import { createKeyRingAdministration, type KeyRingAdministration } from './key-ring-administration.ts'
import { openSecrets } from './open-secrets.ts'

const SIX_MINUTES = 6 * 60_000

let world: AdministrationWorld
let settings: Settings
let store: SecretStore
let keyRing: KeyRingAdministration
let now: number
let accountId: string

function placeOf(owner: string, name = 'accessToken'): SecretPlace {
  return { purpose: 'connection', accountId, owner, name }
}

function openRing(): Promise<KeyRing> {
  return store.readKeyFacts().then((facts) => openSecrets(settings, { facts, store }))
}

/** Connections with a secret each, and one text that is none. */
async function addConnections(ring: KeyRing, count: number): Promise<ConnectionId[]> {
  const ids: ConnectionId[] = []
  for (let at = 0; at < count; at++) {
    const id = await world.connection(accountId as never, String(15_550_001_000 + at))
    await writeSettings(id, {
      phoneNumberId: '1',
      accessToken: ring.seal(`token ${at}`, placeOf(id)),
      linkPreview: true,
    })
    ids.push(id)
  }
  return ids
}

function writeSettings(id: ConnectionId, given: Readonly<Record<string, unknown>>): Promise<void> {
  return world.run('update connection set channel_settings = ? where id = ?', JSON.stringify(given), id)
}

async function readSettings(id: ConnectionId): Promise<Record<string, unknown>> {
  const [row] = await world.all('select channel_settings from connection where id = ?', id)
  return JSON.parse(String(row?.['channel_settings'])) as Record<string, unknown>
}

async function addTotp(personId: string, secret: Uint8Array | null, begun: Uint8Array | null): Promise<void> {
  await world.run(
    `insert into person (id, email, email_key, name, created_at) values (?, ?, ?, 'Anna', 0)`,
    personId,
    `${personId}@example.org`,
    `${personId}@example.org`,
  )
  const values = { person_id: personId, secret: asBuffer(secret), begun_secret: asBuffer(begun) }
  await world.store.database
    .insertInto('totp')
    .values({ ...values, confirmed_at: 1, last_step: null })
    .execute()
}

function asBuffer(bytes: Uint8Array | null): Buffer | null {
  return bytes && Buffer.from(bytes)
}

async function readTotp(personId: string) {
  return world.store.database
    .selectFrom('totp')
    .select(['secret', 'begun_secret'])
    .where('person_id', '=', personId)
    .executeTakeFirstOrThrow()
}

describe.each(ENGINES)('the keys of the key ring, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    settings = { keyRingFile: join(temporaryFolder(), 'keys', 'key-ring.json') } as Settings
    store = createSecretStore(world.store)
    now = Date.now()
    const { administration } = world
    keyRing = createKeyRingAdministration({ settings, store, administration, now: () => now })
    accountId = await world.account()
    return close
  })

  /** Something happens each time before a row is replaced. */
  function keyRingWith(before: (row: SecretRow) => Promise<void>): KeyRingAdministration {
    const replaceSecrets: SecretStore['replaceSecrets'] = async (row, texts) => {
      await before(row)
      return store.replaceSecrets(row, texts)
    }
    const { administration } = world
    return createKeyRingAdministration({
      settings,
      store: { ...store, replaceSecrets },
      administration,
      now: () => now,
    })
  }

  const rotate = () => keyRing.rotate('test', () => {})

  it('are one at the first start, which seals the canary alone', async () => {
    const { file, keys, isRotating } = await keyRing.list()

    assert.deepEqual([file, isRotating], [settings.keyRingFile, false])
    assert.deepEqual(
      keys.map(({ state, secrets }) => [state, secrets]),
      [['current', 1]],
    )
  })

  it('are counted by what they seal, and one that is not in the ring is reported', async () => {
    const ring = await openRing()
    const [id] = await addConnections(ring, 3)
    await addTotp('per_1', Buffer.from(ring.seal('s', { ...placeOf('per_1', 'totp'), purpose: 'second-factor' })), null)
    const foreign = 'v1.k00000000.AAAAAAAAAAAAAAAA.AAAA.AAAAAAAAAAAAAAAAAAAAAA'
    await writeSettings(id!, { accessToken: foreign })

    const { keys } = await keyRing.list()
    assert.deepEqual(
      keys.map(({ state, secrets }) => [state, secrets]),
      [
        ['current', 4],
        ['missing', 1],
      ],
    )
  })

  it('seal nothing when they are only added, and are added once', async () => {
    const ring = await openRing()
    const added = await keyRing.addKey('test')
    const again = await keyRing.addKey('test')
    const [id] = await addConnections(ring, 1)

    assert.deepEqual([added.isNew, again.isNew, again.id], [true, false, added.id])
    assert.deepEqual(
      (await keyRing.list()).keys.map(({ state, secrets }) => [state, secrets]),
      [
        ['current', 2],
        ['next', 0],
      ],
    )
    assert.equal(ring.open(String((await readSettings(id!))['accessToken']), placeOf(id!)), 'token 0')
  })

  it('are rotated: all is sealed with a new one, opens as before, and what is no secret stays', async () => {
    const ring = await openRing()
    const ids = await addConnections(ring, 250)
    const totp = { ...placeOf('per_1', 'totp'), purpose: 'second-factor', accountId: null } as const
    await addTotp('per_1', Buffer.from(ring.seal('one', totp)), Buffer.from(ring.seal('two', totp)))
    const before = ring.keys.sealsWith.id
    const { id, secrets, unreadable } = await rotate()

    assert.deepEqual([secrets, unreadable, id !== before], [252, [], true])
    const { keys, isRotating } = await keyRing.list()
    assert.deepEqual(
      keys.map(({ state, secrets: count }) => [state, count]),
      [
        ['old', 0],
        ['current', 253],
      ],
    )
    assert.equal(isRotating, false)
    // Opened by a process that has been running all the time.
    for (const [at, one] of ids.entries()) {
      const { accessToken, ...others } = await readSettings(one)
      assert.deepEqual(others, { phoneNumberId: '1', linkPreview: true })
      if (at === 0) ring.readAgain()
      assert.equal(ring.open(String(accessToken), placeOf(one)), `token ${at}`)
    }
    const { secret, begun_secret } = await readTotp('per_1')
    assert.deepEqual(
      [secret, begun_secret].map((bytes) => ring.open(String(asBuffer(bytes)), totp)),
      ['one', 'two'],
    )
    const [audit] = await world.audited('secrets.rotate')
    assert.deepEqual([audit?.object, audit?.actor], [id, 'test'])
  })

  it('lose no change of a setting that is made while they are rotated', async () => {
    const ring = await openRing()
    const ids = await addConnections(ring, 30)
    const written = new Map<ConnectionId, string>()
    const old = ring.keys.sealsWith
    // Between reading a row and replacing it, another process changes every third one, and had sealed it before the rotation.
    await keyRingWith(async (row) => {
      const id = row.owner as ConnectionId
      if (ids.indexOf(id) % 3 === 0 && !written.has(id)) {
        written.set(id, 'changed')
        await writeSettings(id, {
          phoneNumberId: '2',
          accessToken: old.seal('changed', placeOf(id)),
          linkPreview: false,
        })
      }
    }).rotate('test', () => {})

    assert.equal(written.size, 10)
    ring.readAgain()
    for (const [at, id] of ids.entries()) {
      const { phoneNumberId, accessToken } = await readSettings(id)
      const [number, token] = at % 3 === 0 ? ['2', 'changed'] : ['1', `token ${at}`]
      assert.deepEqual([phoneNumberId, ring.open(String(accessToken), placeOf(id))], [number, token])
    }
    assert.deepEqual(
      (await keyRing.list()).keys.map(({ secrets }) => secrets),
      [0, 31],
    )
  })

  it('are rotated to the end by a second run when the first one was stopped', async () => {
    const ring = await openRing()
    await addConnections(ring, 120)
    let left = 50
    const killed = keyRingWith(async () => {
      if (left-- === 0) throw new Error('killed')
    })
    await assert.rejects(
      killed.rotate('test', () => {}),
      /killed/,
    )
    const between = await keyRing.list()
    const { id } = await rotate()
    const after = await keyRing.list()

    assert.equal(between.isRotating, true)
    assert.deepEqual(
      between.keys.map(({ state, secrets }) => [state, secrets]),
      [
        ['old', 71],
        ['current', 50],
      ],
    )
    // No third key.
    assert.deepEqual([after.keys.map(({ secrets }) => secrets), after.isRotating], [[0, 121], false])
    assert.equal(after.keys[1]?.id, id)
  })

  it('are not rotated under the other machines, which would not have the new one', async () => {
    await openRing()
    await world.run(`update worker set host = 'db2', heartbeat_until = ?`, world.now + 15_000)

    await assert.rejects(rotate(), { code: 'key_elsewhere_missing', message: /\(db2\).*nuncio secrets add-key/ })
    // With the file copied meanwhile.
    const { id } = await keyRing.addKey('test')
    assert.equal((await rotate()).id, id)
  })

  it('say where a secret lies that no key opens, and rotate the others', async () => {
    const ring = await openRing()
    const [one, other] = await addConnections(ring, 2)
    // The row of one copied onto the other: a secret opens only where it was sealed.
    await writeSettings(one!, await readSettings(other!))
    const { secrets, unreadable } = await rotate()

    assert.equal(secrets, 1)
    assert.deepEqual(
      unreadable.map((sentence) => sentence.includes(`accessToken of ${one}`)),
      [true],
    )
    ring.readAgain()
    const copied = String((await readSettings(one!))['accessToken'])
    assert.throws(() => ring.open(copied, placeOf(one!)), SecretUnreadable)
  })

  it('are dropped when nothing is sealed with them, and not before', async () => {
    const ring = await openRing()
    const [id] = await addConnections(ring, 1)
    const old = ring.keys.sealsWith.id
    const left = await readSettings(id!)
    await assert.rejects(keyRing.removeKey(old, 'test'), { code: 'key_in_use', message: /^2 secrets are sealed/ })
    await rotate()
    await assert.rejects(keyRing.removeKey(old, 'test'), { code: 'key_in_use', message: /^Until .* may still store/ })
    now += SIX_MINUTES
    const sealedAnew = await readSettings(id!)
    await writeSettings(id!, left)
    await assert.rejects(keyRing.removeKey(old, 'test'), { code: 'key_in_use', message: /^A secret is sealed/ })
    await writeSettings(id!, sealedAnew)
    await keyRing.removeKey(old, 'test')

    const { keys } = await keyRing.list()
    assert.deepEqual(
      keys.map(({ state, secrets }) => [state, secrets]),
      [['current', 2]],
    )
    await assert.rejects(keyRing.removeKey(old, 'test'), { code: 'key_unknown' })
    await assert.rejects(keyRing.removeKey(keys[0]!.id, 'test'), { code: 'key_in_use' })
    // One that was only added goes at once.
    const { id: added } = await keyRing.addKey('test')
    await keyRing.removeKey(added, 'test')
    assert.equal((await keyRing.list()).keys.length, 1)
  })

  it('must be those of the database, or nothing starts', async () => {
    await openRing()
    const mine = readFileSync(settings.keyRingFile, 'utf8')
    const elsewhere = { keyRingFile: join(temporaryFolder(), 'other.json') } as Settings
    const facts = await store.readKeyFacts()

    await assert.rejects(openSecrets(elsewhere, { facts, store }), {
      code: 'key_ring_missing',
      message: /^There is no key ring at .*other\.json, .* Restore .* backup, or copy it from another machine/,
    })
    new KeyRingFile(elsewhere.keyRingFile).make(now)
    await assert.rejects(openSecrets(elsewhere, { facts, store }), {
      code: 'key_ring_foreign',
      message: /other\.json does not belong to this database: .* Restore .* backup, or copy it from another machine/,
    })
    // Of two machines that made one each, the second one finds the canary of the first.
    await assert.rejects(openSecrets(elsewhere, { facts: { canary: null }, store }), {
      code: 'key_ring_foreign',
    })
    const sealed = facts.canary!.sealed
    // Another letter than the one that stands there: a fixed one would now and then be the same.
    const spoilt = `${sealed.slice(0, -2)}${sealed.at(-2) === 'A' ? 'B' : 'A'}${sealed.at(-1)}`
    await world.run(`update key_ring set canary = ?`, spoilt)
    await assert.rejects(openRing(), { code: 'key_ring_foreign', message: /the row was changed/ })
    writeFileSync(settings.keyRingFile, mine.slice(0, -9))
    await assert.rejects(openRing(), { code: 'key_ring_unusable' })
  })
})
