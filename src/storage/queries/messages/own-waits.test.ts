import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import { createLaneViews } from '../lanes/lane-views.ts'

let world: AdministrationWorld
let accountId: AccountId
let connectionId: ConnectionId

describe.each(ENGINES)('messages that wait, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    accountId = await world.account()
    connectionId = await world.connection(accountId)
    return close
  })

  it('each says what it waits for itself, also where its lane goes on past it', async () => {
    for (const type of ['message', 'message', 'image', 'message'] as const) await world.accept({ connectionId, type })
    const rows = await world.all('select sequence from message order by sequence')
    for (const at of [0, 3])
      await world.run(
        'update message set retry = ? where sequence = ?',
        retryUntil(NOON + 1),
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

  it('say which earlier message to the same recipient they wait for', async () => {
    const [first, other, second] = [
      await world.accept({ connectionId }),
      await world.accept({ connectionId, to: '15550100009' }),
      await world.accept({ connectionId }),
    ]
    await world.run('update message set retry = ? where sequence = ?', retryUntil(NOON + 1), first.sequence)

    await world.lane(connectionId, { reason: 'all_deferred', until: NOON + 500 })
    const own = { reason: 'retrying', words: '503', until: NOON + 1 }

    const shown = []
    for (const { id } of [first, other, second]) {
      const { message, waitsFor, laneWait } = await world.administration.explainMessage(id)
      shown.push([message.reason, waitsFor, laneWait])
    }

    const earlier = { id: first.id, type: 'message', reason: 'retrying', until: NOON + 1 }
    assert.deepEqual(shown, [
      ['retrying', null, own],
      ['behind_others', null, null],
      ['behind_others', earlier, null],
    ])
  })

  it.each<[how: string, cancel: (id: MessageId) => Promise<unknown>]>([
    ['was cancelled', (id) => world.administration.cancelMessage(id, 'anna')],
    [
      'was cancelled with all others',
      () => createLaneViews(world.store).cancelWaiting({ accountId, id: connectionId }, null, 'anna'),
    ],
    ['was cancelled with its connection', () => world.administration.removeConnection(connectionId, true, 'anna')],
  ])('G10: say what one waited for itself that %s meanwhile, and for how long', async (_, cancel) => {
    const { id, sequence } = await world.accept({ connectionId })
    await world.accept({ connectionId, to: '15550100009' })
    const wait = { reason: 'new_recipients', words: null, since: NOON, until: NOON + 3_600_000 }
    await world.defer(sequence, { kind: 'rate-limit', ...wait })
    world.now += 60_000
    await cancel(id)

    const { message, timeline } = await world.administration.explainMessage(id)

    assert.equal(message.state, 'CANCELLED')
    assert.deepEqual(timeline.map(({ kind, code, facts }) => [kind, code, facts['waitedMs'] ?? null]).slice(1, 2), [
      ['waiting', 'new_recipients', 60_000],
    ])
    assert.equal(timeline.length, 3)
  })

  it('are tried at once when a person does not want to wait for the next try, which changes no other', async () => {
    const [first, second] = [await world.accept({ connectionId }), await world.accept({ connectionId })]
    for (const { sequence } of [first, second])
      await world.run('update message set retry = ? where sequence = ?', retryUntil(NOON + 1), sequence)
    const changed = (await world.changedLanes()).length

    const { id, reason } = await world.administration.retryMessage(first.id, 'anna')

    assert.deepEqual([id, reason], [first.id, 'due'])
    assert.deepEqual(await reasons(), ['due', 'retrying'])
    assert.ok((await world.changedLanes()).length > changed)
    await assert.rejects(world.administration.retryMessage(first.id, 'anna'), { code: 'message_not_ended' })
  })
})

function retryUntil(until: number): string {
  const wait = { kind: 'retry', reason: 'retrying', words: '503', until }
  return JSON.stringify({ tries: 1, resent: false, crashes: 0, wait })
}

async function reasons(): Promise<(string | null)[]> {
  const found = []
  const all = { accountId: null, connectionId: null, state: null, limit: null }
  for await (const { reason } of world.administration.listMessages(all)) found.unshift(reason)
  return found
}
