import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newSqliteWorld } from '../../test/conformance/sqlite-world.ts'
import { ANNA, accept, addSender, holdLane } from '../../test/conformance/storage-world.ts'
import { SecretUnreadable } from '../core/ports/secrets.ts'
import { countSecrets } from '../server/wiring/key-ring-administration.ts'
import { createSecretStore } from '../storage/queries/secrets/secret-store.ts'
import { Key } from './key.ts'
import { KeyRing } from './key-ring.ts'
import { resealAll } from './rotate.ts'
import { EncryptedSessionStore } from './session-store.ts'

const CREDENTIALS = Buffer.from('the noise key of the session')
const KEY = { kind: 'session', id: '15550100000.0', recipient: '15550100000', value: Buffer.from('the root key') }

describe('an encrypted session', () => {
  it('is read as it was written, also after it was opened again', async () => {
    const { world, store, lane } = await openWorld()
    const session = await opened(store, lane)
    const before = [session.credentials, session.mustReset]

    const isWritten = await session.write({ credentials: CREDENTIALS, keys: [KEY] })
    const isChanged = await session.write({ keys: [{ ...KEY, id: 'other' }] })
    const again = await opened(store, lane)
    const keys = await again.read('session', [KEY.id, 'other', 'none'])

    assert.deepEqual([before, isWritten, isChanged], [[null, false], true, true])
    assert.deepEqual(again.credentials, CREDENTIALS)
    assert.deepEqual(
      [...keys],
      [KEY.id, 'other'].map((id) => [id, KEY.value]),
    )
    await world.close()
  })

  it('leaves nothing readable in the database', async () => {
    const { world, store, lane } = await openWorld()

    await (await opened(store, lane)).write({ credentials: CREDENTIALS, keys: [KEY] })

    const rows = [
      ...(await world.sql('select data_key, credentials from channel_session')),
      ...(await world.sql('select value from channel_session_key')),
    ]
    const stored = rows.flatMap((row) => Object.values(row).map((value) => Buffer.from(value as string)))
    assert.equal(stored.length, 3)
    for (const bytes of stored) assert.ok(![CREDENTIALS, KEY.value].some((plain) => bytes.includes(plain)))
    await world.close()
  })

  it('opens no value of another place, and none that was changed', async () => {
    const { world, store, lane } = await openWorld()
    const session = await opened(store, lane)
    await session.write({ credentials: CREDENTIALS, keys: [KEY, { ...KEY, id: 'moved' }, { ...KEY, id: 'changed' }] })

    await world.sql(
      `update channel_session_key set value = (select value from channel_session_key where id = '${KEY.id}') where id = 'moved'`,
    )
    await world.sql(
      `update channel_session_key set value = cast(substr(value, 1, length(value) - 1) || x'00' as blob) where id = 'changed'`,
    )

    for (const id of ['moved', 'changed']) await assert.rejects(session.read('session', [id]), SecretUnreadable)
    assert.equal((await session.read('session', [KEY.id])).size, 1)
    await world.close()
  })

  it('goes on while its data key is sealed with another key, and opens with that alone afterwards', async () => {
    const { world, ring, keys, store, lane } = await openWorld()
    const session = await opened(store, lane)
    await session.write({ credentials: CREDENTIALS, keys: [KEY] })
    const next = Key.make(2)
    keys.keys.push(next)
    keys.sealsWith = next
    ring.readAgain()

    const { secrets } = await resealAll({ store: createSecretStore(world.store), ring, onProgress: () => {} })
    const isWritten = await session.write({ keys: [{ ...KEY, id: 'later' }] })
    keys.keys.shift()
    const again = await opened(store, lane)

    assert.deepEqual([secrets, isWritten, again.credentials], [1, true, CREDENTIALS])
    assert.equal((await again.read('session', [KEY.id, 'later'])).size, 2)
    assert.deepEqual([...(await countSecrets(createSecretStore(world.store)))], [[next.id, 1]])
    keys.keys[0] = Key.make(3)
    const stranger = new EncryptedSessionStore({ rows: world.sessions, secrets: ringOf(keys) })
    await assert.rejects(stranger.open(lane), SecretUnreadable)
    await world.close()
  })

  it('G12: says that it must be reset after all lanes were held, until it was', async () => {
    const { world, store, lane } = await openWorld()
    const session = await opened(store, lane)
    await session.write({ credentials: CREDENTIALS, keys: [KEY] })

    await world.administration.holdLanes('test', 'test')
    const whileHeld = await store.open(lane)
    await world.administration.releaseHold('test')
    const found = await opened(store, lane)
    await found.write({ credentials: CREDENTIALS, reset: ['session'] })
    const after = await opened(store, lane)

    assert.deepEqual([whileHeld, found.mustReset, after.mustReset], [null, true, false])
    assert.equal((await after.read('session', [KEY.id])).size, 0)
    assert.equal(await session.write({ keys: [KEY] }), false)
    await world.close()
  })
})

async function openWorld() {
  const world = await newSqliteWorld()
  const first = Key.make(1)
  const keys = { keys: [first], sealsWith: first }
  const ring = ringOf(keys)
  const { accountId, ...sender } = await addSender(world)
  await accept(world, { accountId, ...sender })
  const { connectionId, epoch } = await holdLane(world, ANNA, sender.connectionId)
  const store = new EncryptedSessionStore({ rows: world.sessions, secrets: ring })
  return { world, ring, keys, store, lane: { connectionId, accountId, epoch } }
}

function ringOf(keys: { keys: Key[]; sealsWith: Key }): KeyRing {
  return new KeyRing({ place: 'the ring of the test', read: () => ({ ...keys, keys: [...keys.keys] }) })
}

async function opened(store: EncryptedSessionStore, lane: Parameters<EncryptedSessionStore['open']>[0]) {
  const session = await store.open(lane)
  assert.ok(session)
  return session
}
