import assert from 'node:assert/strict'
import { DEFAULT_LANE_POLICY } from '../../src/core/connection/lane-policy.ts'
import type { AccountId, ConnectionId } from '../../src/core/ids.ts'
import type { NetworkLink } from '../../src/core/ports/administration.ts'
import { addSender, type NewWorld, type StorageWorld, type Suite } from './storage-world.ts'

const CHANNEL = 'whatsapp-cloud'

/** What every engine promises about the connections that it returns to a channel. */
export function channelConnectionsAreFound({ it }: Suite, newWorld: NewWorld): void {
  it('finds the connections of a callback URL, living ones first and removed ones without secrets', async () => {
    const world = await newWorld()
    const { accountId } = await addSender(world)
    const first = await add(world, accountId, { networkKey: '1', callbackApp: 'app' })
    const second = await add(world, accountId, { networkKey: '2', callbackApp: 'app' })
    await add(world, accountId, { networkKey: '3', callbackApp: 'other' })
    await add(world, accountId, { networkKey: '4', callbackApp: null })
    const connections = world.channelConnections(CHANNEL)

    const before = await connections.ofCallbackApp('app')
    await world.administration.removeConnection(first, true, 'test')
    const after = await connections.ofCallbackApp('app')

    assert.deepEqual(
      before.map(({ id, isRemoved }) => [id, isRemoved]),
      [first, second].toSorted().map((id) => [id, false]),
    )
    assert.deepEqual(
      after.map(({ id, networkKey, isRemoved, settings }) => [id, networkKey, isRemoved, settings]),
      [
        [second, '2', false, { token: SEALED, id: '2' }],
        [first, '1', true, { id: '1' }],
      ],
    )
    await world.close()
  })

  it('finds one by its id, removed or not, with its account', async () => {
    const world = await newWorld()
    const { accountId } = await addSender(world)
    const id = await add(world, accountId, { networkKey: '1', callbackApp: null })
    const connections = world.channelConnections(CHANNEL)

    const living = await connections.find(id)
    await world.administration.removeConnection(id, true, 'test')
    const removed = await connections.find(id)

    const rest = { id, accountId, number: '15550002001', networkKey: '1', callbackApp: null }
    assert.deepEqual(living, { ...rest, settings: { token: SEALED, id: '1' }, isRemoved: false })
    assert.deepEqual(removed, { ...rest, settings: { id: '1' }, isRemoved: true })
    await world.close()
  })

  it('G8: shows a channel no connection of another channel, none without a network, and none that never existed', async () => {
    const world = await newWorld()
    const { accountId, connectionId } = await addSender(world)
    const id = await add(world, accountId, { networkKey: '1', callbackApp: 'app' })
    const [own, other] = [world.channelConnections(CHANNEL), world.channelConnections('sandbox')]

    const found = [
      await other.find(id),
      await other.find(connectionId),
      await own.find(connectionId),
      await own.find('unknown' as ConnectionId),
      await own.find('no\0body' as ConnectionId),
      ...(await other.ofCallbackApp('app')),
      ...(await own.ofCallbackApp('ap')),
      ...(await own.ofCallbackApp('')),
      ...(await own.ofCallbackApp('app\0')),
    ]

    assert.deepEqual(found, [null, null, null, null, null])
    await world.close()
  })

  it('finds what was changed just before', async () => {
    const world = await newWorld()
    const { accountId } = await addSender(world)
    const id = await add(world, accountId, { networkKey: '1', callbackApp: 'app' })
    const connections = world.channelConnections(CHANNEL)
    await connections.ofCallbackApp('app')

    const change = { policy: DEFAULT_LANE_POLICY, channelSettings: { id: 'new' } }
    await world.administration.changeConnection(id, change, 'test')
    const [settings] = await connections.ofCallbackApp('app')
    await world.administration.changeConnection(
      id,
      { ...change, link: { networkKey: '1', callbackApp: 'moved' } },
      'test',
    )

    assert.deepEqual(settings?.settings, { id: 'new' })
    assert.deepEqual(await connections.ofCallbackApp('app'), [])
    assert.equal((await connections.ofCallbackApp('moved')).length, 1)
    await world.close()
  })
}

const SEALED = 'v1.key.nonce.text.tag'

async function add(world: StorageWorld, accountId: AccountId, link: NetworkLink): Promise<ConnectionId> {
  const wanted = {
    accountId,
    number: `1555000200${link.networkKey}`,
    channel: CHANNEL,
    policy: DEFAULT_LANE_POLICY,
    channelSettings: { token: SEALED, id: link.networkKey },
    link,
  }
  return (await world.administration.addConnection(wanted, 'test')).id
}
