import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import type { LaneViews } from '../../../core/ports/console/lanes.ts'
import { createLaneViews } from './lane-views.ts'

let world: AdministrationWorld
let lanes: LaneViews
let accountId: AccountId
let id: ConnectionId

async function open(engine: EngineName): Promise<() => Promise<void>> {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  lanes = createLaneViews(world.store)
  accountId = await world.account()
  id = await world.connection(accountId)
  return close
}

describe.each(ENGINES)('messages with an unknown result, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('show messages with an unknown result, newest first, until a person resolves them', async () => {
    const other = await world.connection(accountId, '15550001001')
    const made: MessageId[] = []
    for (let at = 0; at < 25; at++)
      made.push((await world.accept({ connectionId: id, state: 'UNCONFIRMED', reason: 'result_unknown' })).id)
    const elsewhere = await world.accept({ connectionId: other, state: 'UNCONFIRMED', reason: 'stopped_while_sending' })
    const unresolved = (after: string | null, connectionId: ConnectionId | null = null) =>
      lanes.listUnresolved({ accountId, connectionId, after })

    const first = await unresolved(null)
    const second = await unresolved(first.next)
    const ofOther = await unresolved(null, other)
    await lanes.resolveMessage({ accountId, id: elsewhere.id }, 'arrived', 'anna')
    const again = await lanes.resolveMessage({ accountId, id: made[0] as MessageId }, 'send-again', 'anna')

    assert.deepEqual([first.items[0]?.id, first.items[0]?.reason], [elsewhere.id, 'stopped_while_sending'])
    assert.deepEqual([first.items.length, second.items.length, second.next], [20, 6, null])
    assert.deepEqual(
      ofOther.items.map((item) => item.id),
      [elsewhere.id],
    )
    assert.equal(again.state, 'QUEUED')
    assert.deepEqual((await unresolved(null, other)).items, [])
    assert.equal((await unresolved(first.next)).items.length, 5)
  })

  it('G8: show what is unresolved, however much another account has of that', async () => {
    const mine: string[] = []
    for (let i = 0; i < 22; i++)
      mine.unshift((await world.accept({ connectionId: id, state: 'UNCONFIRMED', reason: 'result_unknown' })).id)
    const stranger = await world.account('Stranger')
    await world.acceptMany(5_000, await world.connection(stranger, '15550002000'), 'UNCONFIRMED')

    const first = await lanes.listUnresolved({ accountId, connectionId: null, after: null })
    const second = await lanes.listUnresolved({ accountId, connectionId: null, after: first.next })

    assert.deepEqual(
      [first, second].map(({ items }) => items.map((item) => item.id)),
      [mine.slice(0, 20), mine.slice(20)],
    )
    assert.equal(second.next, null)
  })
})
