import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { messageStorageKeepsItsPromises } from './message-storage.ts'
import { newSqliteWorld } from './sqlite-world.ts'
import { ANNA, accept, addSender, attempt, head, holdLane, KEEP, open, stateOf, step } from './storage-world.ts'

describe('message storage on SQLite', () => {
  messageStorageKeepsItsPromises({ it }, newSqliteWorld)

  it('G7: shows the deletion of a token by another process at the next turn, and answers at once', async () => {
    const world = await newSqliteWorld()
    const sender = await addSender(world)
    const before = world.intake.findToken(sender.sha256)

    await world.administration.deleteToken(sender.tokenId, null, 'test')
    await new Promise<void>((resolve) => setImmediate(resolve))
    const after = world.intake.findToken(sender.sha256)

    assert.ok(before && 'deletedAt' in before && after && 'deletedAt' in after)
    assert.equal(before.deletedAt, null)
    assert.notEqual(after.deletedAt, null)
    await world.close()
  })

  it('does not count a message as waiting that was cancelled with its connection during an attempt', async () => {
    const world = await newSqliteWorld({ maxWaitingPerAccount: 1 })
    const sender = await addSender(world)
    await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    await world.administration.removeConnection(sender.connectionId, true, 'test')
    const before = world.intake.isBacklogFull(sender.accountId, null)

    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message, 'rejected'), disposition: KEEP } }),
    )

    assert.deepEqual([before, world.intake.isBacklogFull(sender.accountId, null)], ['account_backlog_full', null])
    await world.close()
  })

  it('counts a dropped message once, although a person has cancelled it first', async () => {
    const world = await newSqliteWorld({ maxWaitingPerAccount: 1 })
    const sender = await addSender(world)
    const id = await accept(world, sender)
    await accept(world, sender)
    const noticed = Promise.withResolvers<unknown>()
    await world.storage.start({ lanesChanged: noticed.resolve })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const { sequence } = await head(world, sender.connectionId)
    await world.administration.cancelMessage(id, 'anna')
    await noticed.promise

    await world.lanes.record(
      step(world, lane, { discard: { sequence, as: 'FAILED', reason: 'media_status', words: null } }),
    )

    assert.equal(await stateOf(world, id), 'CANCELLED')
    assert.equal(world.intake.isBacklogFull(sender.accountId, null), 'account_backlog_full')
    await world.close()
  })
})
