import assert from 'node:assert/strict'
import { addSender, type NewWorld, type Suite } from './storage-world.ts'

/** What every engine promises about the stored state of channels. */
export function channelMemoryKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it('keeps one entry of a kind and key for a connection, and the first one stays', async () => {
    const world = await newWorld()
    const { connectionId } = await addSender(world)
    const memory = world.channelState('sandbox')
    const entry = { connectionId, key: 'key', value: '{"first":true}', at: 1 }

    const answers = await Promise.all([memory.add('kind', entry), memory.add('kind', { ...entry, value: 'second' })])

    assert.deepEqual(answers, [true, false])
    assert.equal((await memory.find('kind', connectionId, 'key'))?.value, '{"first":true}')
    await world.close()
  })

  it('G6: skips an entry that is no longer wanted when its turn comes, and adds the others', async () => {
    const world = await newWorld()
    const { connectionId } = await addSender(world)
    const memory = world.channelState('sandbox')
    const entry = { connectionId, value: 'value', at: 1 }
    let isWanted = true
    const additions = [
      memory.add('kind', { ...entry, key: 'late', isWanted: () => isWanted }),
      memory.add('kind', { ...entry, key: 'other', isWanted: () => true }),
    ]

    isWanted = false

    assert.deepEqual(await Promise.all(additions), [false, true])
    assert.equal(await memory.find('kind', connectionId, 'late'), null)
    assert.equal(await memory.add('kind', { ...entry, key: 'late' }), true)
    await world.close()
  })

  it('G8: keeps channels, kinds and connections apart', async () => {
    const world = await newWorld()
    const [one, other] = [await addSender(world), await addSender(world)]
    const memory = world.channelState('sandbox')
    await memory.add('kind', { connectionId: one.connectionId, key: 'key', value: 'value', at: 1 })

    assert.equal(await memory.find('kind', other.connectionId, 'key'), null)
    assert.equal(await memory.find('other', one.connectionId, 'key'), null)
    assert.equal(await world.channelState('other').find('kind', one.connectionId, 'key'), null)
    assert.deepEqual(await world.channelState('other').list('kind', { connectionId: null, after: 0, limit: 10 }), [])
    await world.close()
  })

  it('lists entries oldest first, after a position, for one connection or for all', async () => {
    const world = await newWorld()
    const [one, other] = [await addSender(world), await addSender(world)]
    const memory = world.channelState('sandbox')
    for (const [key, { connectionId }] of [
      ['a', one],
      ['b', other],
      ['c', one],
    ] as const) {
      await memory.add('kind', { connectionId, key, value: key, at: 1 })
    }

    const all = await memory.list('kind', { connectionId: null, after: 0, limit: 10 })
    const rest = await memory.list('kind', { connectionId: null, after: all[0]!.position, limit: 1 })
    const own = await memory.list('kind', { connectionId: one.connectionId, after: 0, limit: 10 })

    assert.deepEqual(
      [all, rest, own].map((entries) => entries.map(({ key }) => key)),
      [['a', 'b', 'c'], ['b'], ['a', 'c']],
    )
    await world.close()
  })

  it('returns due entries, the earliest first, and none without a time', async () => {
    const world = await newWorld()
    const { connectionId } = await addSender(world)
    const memory = world.channelState('sandbox')
    for (const [key, remindAt] of [['late', 30], ['early', 10], ['never'], ['middle', 20]] as const) {
      await memory.add('kind', { connectionId, key, value: key, at: 1, ...(remindAt !== undefined && { remindAt }) })
    }
    await memory.add('other', { connectionId, key: 'other', value: 'other', at: 1, remindAt: 1 })

    const dueBy = async (now: number, limit = 10) => (await memory.due('kind', now, limit)).map(({ key }) => key)
    const answers = [await dueBy(9), await dueBy(10), await dueBy(30), await dueBy(30, 2)]
    const [first] = await memory.due('kind', 10, 1)
    await memory.remove('kind', first!.position)

    assert.deepEqual(answers, [[], ['early'], ['early', 'middle', 'late'], ['early', 'middle']])
    assert.deepEqual([first?.value, first?.at, first?.connectionId], ['early', 1, connectionId])
    assert.deepEqual(await dueBy(30), ['middle', 'late'])
    await world.close()
  })

  it('finds many keys of one kind and connection at once', async () => {
    const world = await newWorld()
    const [one, other] = [await addSender(world), await addSender(world)]
    const memory = world.channelState('sandbox')
    for (const key of ['a', 'b', 'c']) await memory.add('kind', { ...one, key, value: `value ${key}`, at: 1 })
    await memory.add('kind', { connectionId: other.connectionId, key: 'd', value: 'd', at: 1 })
    await memory.add('other', { connectionId: one.connectionId, key: 'e', value: 'e', at: 1 })

    const find = async (...keys: string[]) =>
      (await memory.findSome('kind', one.connectionId, keys))
        .map(({ key, value }) => [key, value])
        .toSorted(([a], [b]) => (a! < b! ? -1 : 1))
    const answers = [await find('c', 'a', 'a', 'unknown', 'no\0body', 'd', 'e'), await find()]

    assert.deepEqual(answers, [
      [
        ['a', 'value a'],
        ['c', 'value c'],
      ],
      [],
    ])
    await world.close()
  })

  it('returns some due entries of each connection in turn, if that is wanted', async () => {
    const world = await newWorld()
    const [loud, quiet] = [await addSender(world), await addSender(world)]
    const memory = world.channelState('sandbox')
    const add = async ({ connectionId }: typeof loud, keys: readonly string[]) => {
      for (const [i, key] of keys.entries())
        await memory.add('kind', { connectionId, key, value: key, at: 1, remindAt: 10 + i })
    }
    await add(loud, ['a', 'b', 'c', 'd'])
    await add(quiet, ['y', 'z'])

    const due = async (now: number, limit: number, mostEach: number) =>
      (await memory.dueByTurns('kind', now, { limit, mostEach })).map(({ key }) => key)

    assert.deepEqual(
      [await due(99, 10, 3), await due(99, 3, 3), await due(10, 10, 3), await due(99, 10, 1)],
      [
        ['a', 'y', 'b', 'z', 'c'],
        ['a', 'y', 'b'],
        ['a', 'y'],
        ['a', 'y'],
      ],
    )
    await world.close()
  })

  it('removes one entry, also when called twice, and gives its position to no other', async () => {
    const world = await newWorld()
    const { connectionId } = await addSender(world)
    const memory = world.channelState('sandbox')
    await memory.add('kind', { connectionId, key: 'a', value: 'a', at: 1 })
    const first = await memory.find('kind', connectionId, 'a')
    await memory.remove('kind', first!.position)
    await memory.remove('kind', first!.position)

    await memory.add('kind', { connectionId, key: 'b', value: 'b', at: 1 })

    assert.equal(await memory.find('kind', connectionId, 'a'), null)
    assert.ok((await memory.find('kind', connectionId, 'b'))!.position > first!.position)
    await world.close()
  })
}
