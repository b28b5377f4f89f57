import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  accept,
  addConnection,
  addSender,
  BEN,
  candidate,
  type Sender,
  type WorldOptions,
} from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'
import type { SpoolId } from '../../../core/ids.ts'

// After a count that took long, the next rests for 19 times as long, by the real clock.
const LONGEST_REST_MS = 50_000

describe('the limits of what may wait on PostgreSQL', () => {
  it('counts what another process accepted', async () => {
    const { world, sender } = await limited({ maxWaitingPerConnection: 3 })
    const other = world.processOf(BEN, 'other' as SpoolId).intake
    await Promise.all([1, 2, 3].map(() => accept(world, sender)))

    const before = other.isBacklogFull(sender.accountId, sender.number)
    await learns(world, () => other.isBacklogFull(sender.accountId, sender.number) === 'connection_backlog_full')

    assert.equal(before, null)
    await world.close()
  })

  it('counts the whole account, over its connections, and none of another', async () => {
    const { world, sender } = await limited({ maxWaitingPerAccount: 2 })
    const stranger = await addSender(world)
    const number = '15550002000'
    await addConnection(world, sender.accountId, { number })

    await accept(world, sender)
    await accept(world, { ...sender, number })
    await accept(world, stranger)

    await learns(world, () => world.intake.isBacklogFull(sender.accountId, null) === 'account_backlog_full')
    world.intake.isBacklogFull(stranger.accountId, null)
    await learns(world, () => world.intake.isBacklogFull(sender.accountId, number) === 'account_backlog_full')
    assert.equal(world.intake.isBacklogFull(stranger.accountId, stranger.number), null)
    await world.close()
  })

  it('counts nothing for a number that is no connection, nor what waited on a removed one of that number', async () => {
    const { world, sender } = await limited({ maxWaitingPerConnection: 1 })
    await accept(world, sender)
    const isFull = () => world.intake.isBacklogFull(sender.accountId, sender.number) !== null
    await learns(world, isFull)

    await world.administration.removeConnection(sender.connectionId, true, 'test')
    await addConnection(world, sender.accountId, { number: sender.number })

    await learns(world, () => !isFull())
    assert.equal(world.intake.isBacklogFull(sender.accountId, '15559999999'), null)
    await world.close()
  })

  it('has counted again by the time at which a refused caller may retry', async () => {
    const { world, sender } = await limited({ maxWaitingPerConnection: 1 })
    const isFull = () => world.intake.isBacklogFull(sender.accountId, sender.number) !== null
    await accept(world, sender)
    await learns(world, isFull)
    const session = await world.session()
    await session.query('delete from queued')

    isFull()
    await world.clock.pass(1_100)
    // The count is on its way by now, without a request for it.
    await waitUntil('there is room', async () => !isFull(), { deadlineMs: LONGEST_REST_MS, everyMs: 5 })

    await world.close()
  })

  it('goes by the last count while the database is away', async () => {
    const { world, sender } = await limited({ maxWaitingPerConnection: 1 })
    await accept(world, sender)
    const isFull = () => world.intake.isBacklogFull(sender.accountId, sender.number) !== null
    await learns(world, isFull)

    await world.storage.close()
    await world.clock.pass(5_000)

    assert.equal(isFull(), true)
    await world.close()
  })

  it('counts many in steps, and goes on where its time was over', async () => {
    const { world, sender } = await limited({ maxWaitingPerConnection: 25_000 })
    const session = await world.session()
    await session.query(
      `insert into queued (sequence, id, account_id, connection_id, body, body_crc, recipient, type, accepted_at)
         select i, 'm' || i, $1, $2, '{}', 0, '1', 'message', 0 from generate_series(1, 25000) i`,
      [sender.accountId, sender.connectionId],
    )
    const { accountId, number } = sender
    const count = async (places: readonly number[], withinMs: number) => {
      const { rows } = await session.query('select count_waiting($1, $2, $3, $4, $5) as counts', [
        [accountId, accountId, accountId],
        [null, number, number],
        places,
        [100_000, 100_000, 700],
        withinMs,
      ])
      return rows[0].counts
    }

    assert.equal(await count([0, 0, 0], 10_000), '25000,25000,700')
    assert.equal(await count([5_000, 24_000, 24_990], 10_000), '20000,1000,10')
    // No time at all: nothing is counted, and each goes on from where it was.
    assert.equal(await count([7, 8, 9], -1), '0 7,0 8,0 9')
    // It checks its time often, because accepting waits as long.
    const stopsEarly = async () => {
      const counted = Number.parseInt(await count([0, 0, 0], 1), 10)
      return counted > 0 && counted < 10_000
    }
    await waitUntil('it stops within the first ten thousand', stopsEarly, { deadlineMs: 30_000 })
    await learns(world, () => world.intake.isBacklogFull(accountId, number) === 'connection_backlog_full')
    await session.query('delete from queued where sequence = 12345')
    await learns(world, () => world.intake.isBacklogFull(accountId, number) === null)
    await world.close()
  })

  it('accepts on, and asks nothing, where there is no limit', async () => {
    const { world, sender } = await limited({})

    const refused = world.intake.isBacklogFull(sender.accountId, sender.number)
    const result = await world.intake.accept(candidate(world, sender))

    assert.deepEqual([refused, result.kind], [null, 'accepted'])
    await world.close()
  })
})

async function limited(limits: WorldOptions): Promise<{ world: PostgresWorld; sender: Sender }> {
  const world = await newPostgresWorld(limits)
  return { world, sender: await addSender(world) }
}

async function learns(world: PostgresWorld, isSo: () => boolean): Promise<void> {
  await waitUntil(
    'it has learned',
    async () => {
      await world.clock.pass(50)
      return isSo()
    },
    { deadlineMs: LONGEST_REST_MS, everyMs: 5 },
  )
}
