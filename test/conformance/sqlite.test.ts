import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { messageStorageKeepsItsPromises } from './message-storage.ts'
import { newSqliteWorld } from './sqlite-world.ts'
import { addSender } from './storage-world.ts'

describe('message storage on SQLite', () => {
  messageStorageKeepsItsPromises({ it }, newSqliteWorld)

  it('G7: shows the deletion of a token by another process from the next turn on, and answers at once', async () => {
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
})
