import assert from 'node:assert/strict'
import type { AccountId } from '../../src/core/ids.ts'
import type { BlockLists } from '../../src/core/ports/recipients.ts'
import { addSender, type NewWorld, RECIPIENT, type StorageWorld, type Suite } from './storage-world.ts'

const OTHER = '15550100001'

/** What every engine promises about blocked recipients when attempts begin. */
export function blockedRecipientsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  const proves = (name: string, prove: (world: StorageWorld) => Promise<void>) =>
    it(name, async () => {
      const world = await newWorld()
      try {
        await prove(world)
      } finally {
        await world.close()
      }
    })

  proves('G13: no recipient is blocked while none was', async (world) => {
    const { accountId } = await addSender(world)

    assert.equal(await world.blocked.isBlocked(accountId, RECIPIENT), false)
  })

  proves('G13: a block is known at the latest a second after it was committed, and so is its end', async (world) => {
    const { accountId } = await addSender(world)
    const known = [await world.blocked.isBlocked(accountId, RECIPIENT)]

    await block(world.blockLists, accountId, RECIPIENT)
    await world.clock.pass(world.hintsAgeMs)
    known.push(await world.blocked.isBlocked(accountId, RECIPIENT), await world.blocked.isBlocked(accountId, OTHER))
    await world.blockLists.unblock(accountId, [RECIPIENT], 'test')
    await world.clock.pass(world.hintsAgeMs)
    known.push(await world.blocked.isBlocked(accountId, RECIPIENT))

    assert.deepEqual(known, [false, true, false, false])
  })

  proves('G8: a block is of its account alone', async (world) => {
    const [mine, others] = [await addSender(world), await addSender(world, { number: '15550001001' })]
    await block(world.blockLists, mine.accountId, RECIPIENT)

    assert.equal(await world.blocked.isBlocked(mine.accountId, RECIPIENT), true)
    assert.equal(await world.blocked.isBlocked(others.accountId, RECIPIENT), false)
  })

  proves('G13: each change of a list is followed: more, one out, another account, all out', async (world) => {
    const [mine, others] = [await addSender(world), await addSender(world, { number: '15550001001' })]
    const { blockLists, clock } = world
    const read = async () => {
      await clock.pass(world.hintsAgeMs)
      const asked = [mine, others].flatMap(({ accountId }) =>
        [RECIPIENT, OTHER].map(async (number) => ((await world.blocked.isBlocked(accountId, number)) ? 'x' : '-')),
      )
      return (await Promise.all(asked)).join('')
    }
    const seen = [await read()]

    for (const step of [
      () => block(blockLists, mine.accountId, RECIPIENT),
      () => block(blockLists, mine.accountId, OTHER),
      () => block(blockLists, others.accountId, OTHER),
      () => blockLists.unblock(mine.accountId, [RECIPIENT], 'test'),
      () => blockLists.unblock(mine.accountId, [OTHER], 'test'),
      () => block(blockLists, mine.accountId, RECIPIENT, OTHER),
      () => blockLists.unblock(others.accountId, [OTHER], 'test'),
    ]) {
      await step()
      seen.push(await read())
    }

    assert.deepEqual(seen, ['----', 'x---', 'xx--', 'xx-x', '-x-x', '---x', 'xx-x', 'xx--'])
  })

  proves('a list shows how many it holds, and what, in pages and by the digits it begins with', async (world) => {
    const { accountId } = await addSender(world)
    const { blockLists } = world
    const numbers = ['15550100003', '15550100001', '4915112345678', '15550100002']

    const first = await blockLists.block(accountId, { numbers, reason: 'asked to' }, 'anna')
    const again = await blockLists.block(accountId, { numbers: [...numbers, '4915112345679'], reason: null }, 'ben')

    assert.deepEqual(
      [first, again],
      [
        { blocked: 4, already: 0 },
        { blocked: 1, already: 4 },
      ],
    )
    assert.equal(await blockLists.countBlocks(accountId), 5)
    const page = await blockLists.listBlocks(accountId, { find: '1555', after: null, limit: 2 })
    const rest = await blockLists.listBlocks(accountId, { find: '1555', after: page.next, limit: 2 })
    assert.deepEqual(
      [...page.items, ...rest.items].map(({ recipient, reason, blockedBy }) => [recipient, reason, blockedBy]),
      ['15550100001', '15550100002', '15550100003'].map((number) => [number, 'asked to', 'anna']),
    )
    assert.equal(rest.next, null)
    await assert.rejects(blockLists.unblock(accountId, ['15550199999'], 'anna'), { code: 'recipient_not_blocked' })
  })
}

async function block(lists: BlockLists, accountId: AccountId, ...numbers: string[]): Promise<void> {
  await lists.block(accountId, { numbers, reason: null }, 'test')
}
