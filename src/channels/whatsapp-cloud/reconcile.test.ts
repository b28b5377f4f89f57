import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HELLO, lastSent, openCloudWorld } from '../../../test/support/cloud-world/cloud-world.ts'
import { Echoes } from '../receipts/echoes.ts'
import { readCorrelationData } from './statuses/correlation-data.ts'

describe('an attempt with an unknown result', () => {
  it('G5: is settled by a report that gives our mark back, by a worker that did not make it', async () => {
    const { handover, send, openChannel, simulator, memory, sender, clock } = await openCloudWorld()
    simulator.dropAfterActing({ times: 1 })
    const message = handover(HELLO)
    const outcome = await send(message)
    const { messageId, accountId, connectionId, to } = message
    const open = { messageId, accountId, connectionId, to, attemptNumber: 1, startedAt: 0 }
    const another = openChannel()
    const before = await another.reconcile(open)

    const { opaque, wamid } = lastSent(simulator)
    const mark = readCorrelationData(opaque)
    assert.ok(mark)
    await new Echoes(memory).keep(sender.connectionId, mark, { networkId: wamid, now: clock.now() })

    assert.deepEqual([outcome.kind, before.kind], ['unknown', 'nothing-yet'])
    assert.deepEqual(await another.reconcile(open), { kind: 'accepted', networkId: wamid })
    // Another attempt of the same message is another question.
    assert.deepEqual(await another.reconcile({ ...open, attemptNumber: 2 }), { kind: 'nothing-yet' })
  })

  it('has no evidence yet while storage is away, and asking changes nothing', async () => {
    const { handover, channel, storage } = await openCloudWorld()
    const { messageId, accountId, connectionId, to } = handover(HELLO)
    await storage.close()

    const evidence = await channel.reconcile({ messageId, accountId, connectionId, to, attemptNumber: 1, startedAt: 0 })

    assert.deepEqual(evidence, { kind: 'nothing-yet' })
  })
})
