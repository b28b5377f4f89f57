import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newSqliteWorld } from '../../../test/conformance/sqlite-world.ts'
import { ANNA, accept, addSender, holdLane } from '../../../test/conformance/storage-world.ts'
import { testSecrets } from '../../../test/support/secrets.ts'
import { EncryptedSessionStore } from '../../secrets/session-store.ts'
import { Findings } from '../../storage/queries/verify/findings.ts'
import { verifySessions } from './verify-sessions.ts'

const CREDENTIALS = Buffer.from('the credentials')
const KEYS = ['first', 'second'].map((id) => ({ kind: 'pre-key', id, recipient: null, value: Buffer.from(id) }))

describe('verifying sessions beside a running service', () => {
  it('finds no damage where a number was linked again since its row was read', async () => {
    const { found, link, unlink } = await openSession()

    const findings = await found(async () => {
      await unlink()
      await link()
    })

    assert.deepEqual(findings, [])
  })

  it('finds no damage where a number was linked again and then unlinked', async () => {
    const { found, link, unlink } = await openSession()

    const findings = await found(async () => {
      await unlink()
      await link()
    }, unlink)

    assert.deepEqual(findings, [])
  })

  it('finds damage once, and names the number, also when its data key is sealed anew meanwhile', async () => {
    const { found, damage, rotate, connectionId } = await openSession()
    await damage()

    const findings = await found(rotate)

    assert.deepEqual(
      findings.map(({ code, count, where }) => ({ code, count, where })),
      [{ code: 'session_damaged', count: 1, where: [`connection 15550001000 (${connectionId}): a pre-key`] }],
    )
    assert.match(
      findings[0]?.nextStep ?? '',
      /connection unlink NUMBER\), log the device out .* connection pair NUMBER/,
    )
  })
})

async function openSession() {
  const world = await newSqliteWorld()
  onTestFinished(() => world.close())
  const { accountId, ...sender } = await addSender(world)
  await accept(world, { accountId, ...sender })
  const { connectionId, epoch } = await holdLane(world, ANNA, sender.connectionId)
  const lane = { connectionId, accountId, epoch }
  const secrets = testSecrets()
  const store = new EncryptedSessionStore({ rows: world.sessions, secrets })
  const link = async () => void (await (await store.open(lane))?.write({ credentials: CREDENTIALS, keys: KEYS }))
  await link()
  return {
    connectionId,
    link,
    unlink: async () => void (await store.remove(lane)),
    damage: () => world.sql(`update channel_session_key set value = x'01' where id = 'first'`),
    rotate: async () => {
      const place = { purpose: 'session', accountId, owner: connectionId, name: 'data_key' } as const
      const [row] = await world.sql('select data_key from channel_session')
      const sealed = secrets.seal(secrets.open(String(row?.['data_key']), place), place)
      await world.sql(`update channel_session set data_key = '${sealed}'`)
    },
    /** What is found while these happen, one after each batch of rows: the sessions, then the keys of the only one. */
    found: async (...meanwhile: readonly (() => Promise<unknown>)[]) => {
      const findings = new Findings()
      const events = meanwhile.values()
      const rest = async () => void (await events.next().value?.())
      await verifySessions(secrets, { store: world.store, findings, rest, onProgress: () => {} })
      return findings.all
    },
  }
}
