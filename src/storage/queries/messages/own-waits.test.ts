import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { ConnectionId } from '../../../core/ids.ts'

let world: AdministrationWorld
let connectionId: ConnectionId

describe.each(ENGINES)('messages that wait, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    connectionId = await world.connection(await world.account())
    return close
  })

  it('each says what it waits for itself, also where its lane goes on past it', async () => {
    const retry = (until: number) =>
      JSON.stringify({
        tries: 1,
        resent: false,
        crashes: 0,
        wait: { kind: 'retry', reason: 'retrying', words: '503', until },
      })
    for (const type of ['message', 'message', 'image', 'message'] as const) await world.accept({ connectionId, type })
    const rows = await world.all('select sequence from message order by sequence')
    for (const at of [0, 3])
      await world.run(
        'update message set retry = ? where sequence = ?',
        retry(NOON + 1),
        rows[at]!['sequence'] as number,
      )
    const moving = await reasons()
    await world.lane(connectionId, { reason: 'all_deferred', until: NOON + 1 })
    const deferred = await reasons()
    await world.lane(connectionId, { reason: 'trouble', until: NOON + 1 })
    const stopped = await reasons()
    world.now += 1
    const over = await reasons()

    assert.deepEqual(moving, ['retrying', 'behind_others', 'media_pending', 'retrying'])
    assert.deepEqual(deferred, moving)
    assert.deepEqual(stopped, ['trouble', 'behind_others', 'trouble', 'trouble'])
    assert.deepEqual(over, ['due', 'behind_others', 'media_pending', 'behind_others'])
  })
})

async function reasons(): Promise<(string | null)[]> {
  const found = []
  const all = { accountId: null, connectionId: null, state: null, limit: null }
  for await (const { reason } of world.administration.listMessages(all)) found.unshift(reason)
  return found
}
