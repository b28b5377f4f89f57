import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { listChannelMemory, type WantedMemory } from './list-channel-state.ts'

describe.each(ENGINES)('what a channel remembers, on %s', (engine) => {
  let world: AdministrationWorld
  let accountId: AccountId

  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    accountId = await world.account()
    const connections = [await world.connection(accountId), await world.connection(accountId, '15550001001')]
    for (let at = 0; at < 6; at++) await remember(`entry-${at}`, connections[at % 2] as ConnectionId)
    return close
  })

  function remember(key: string, connectionId: ConnectionId): Promise<void> {
    const sql = `insert into channel_memory (kind, connection_id, key, value, at) values ('sandbox.inbox', ?, ?, '{}', 1)`
    return world.run(sql, connectionId, key)
  }

  async function list(wanted: Partial<WantedMemory>): Promise<string[]> {
    const keys: string[] = []
    const all = { kind: 'sandbox.inbox', accountId: null, number: null, limit: null, ...wanted }
    for await (const { key } of listChannelMemory(world.store.database, all)) keys.push(key)
    return keys
  }

  it('is listed from the oldest on, and with a limit from the newest ones on', async () => {
    assert.deepEqual(await list({}), ['entry-0', 'entry-1', 'entry-2', 'entry-3', 'entry-4', 'entry-5'])
    assert.deepEqual(await list({ limit: 2 }), ['entry-4', 'entry-5'])
    assert.deepEqual(await list({ limit: 2, number: '15550001000', accountId }), ['entry-2', 'entry-4'])
    assert.equal((await list({ limit: 100 })).length, 6)
    assert.deepEqual(await list({ limit: 0 }), [])
  })
})
