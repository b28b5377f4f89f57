import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'vitest'
import { SENT_AFTER_REJECTION } from '../../../src/core/reasons/bridge.ts'
import { type BridgeWorld, newBridgeWorld } from './bridge-world.ts'
import { becomes, promisingIn, sendBy } from './channel-world.ts'

const ACCEPTED = { result: 'accepted', networkId: 'net-1' }
const REPORTED_WITHIN_MS = 10_000

describe('an adapter that breaks a promise', () => {
  const promises = promisingIn({ it }, () => newBridgeWorld())

  promises(
    'reports as sent an attempt that it had rejected: the report shows that, and the alarm gets it',
    async (world) => {
      const to = world.recipientWhen('refuses')!
      const handover = await world.handover({ to })
      const { kind } = await sendBy(world.channel, handover)

      await report(world, handover.messageId, 'delivered')

      assert.equal(kind, 'rejected')
      assert.deepEqual(
        world.receipts.map(({ kind: reported, code }) => [reported, code]),
        [['delivered', SENT_AFTER_REJECTION]],
      )
      assert.deepEqual(await broken(world), [['sent-after-rejection', handover.messageId]])
      assert.deepEqual(noted(world), ['sent-after-rejection'])
    },
  )

  promises('reports as sent an attempt that it had denied and closed', async (world) => {
    const handover = await world.handover()
    const evidence = await world.channel.reconcile({ ...handover, startedAt: Date.now() })

    await report(world, handover.messageId, 'sent')

    assert.equal(evidence.kind, 'not-sent')
    assert.deepEqual(await broken(world), [['sent-after-rejection', handover.messageId]])
  })

  promises('reports a rejected attempt as failed: that is no contradiction', async (world) => {
    const handover = await world.handover({ to: world.recipientWhen('refuses')! })
    await sendBy(world.channel, handover)

    await report(world, handover.messageId, 'failed')

    assert.deepEqual([await broken(world), noted(world)], [[], []])
  })

  promises('contradicts itself, or gives an attempt two ids: each is kept once', async (world) => {
    const handover = await world.handover()
    for (const end of ['contradicted', 'second-id', 'contradicted'] as const) {
      world.receiptEnd = end
      await report(world, handover.messageId, 'delivered')
    }

    assert.deepEqual(await broken(world), [
      ['contradiction', handover.messageId],
      ['second-id', handover.messageId],
    ])
  })

  promises(
    'answers for another attempt: the result is reported as unknown, and nothing more is sent',
    async (world) => {
      const to = '15550007999'
      world.adapter.faults.set(to, {
        kind: 'crafted',
        answer: ({ id }) => world.adapter.signed(id, { type: 'outcome', attemptId: `${randomUUID()}_1`, ...ACCEPTED }),
      })
      const handover = await world.handover({ to })
      const outcome = await sendBy(world.channel, handover)
      const next = await sendBy(world.channel, await world.handover())

      assert.deepEqual(outcome, { kind: 'unknown', words: 'The adapter answered for another attempt.' })
      assert.ok(next.kind === 'rejected' && next.failure.code === 'bridge_not_ready')
      assert.deepEqual(await broken(world), [['other-answer', handover.messageId]])
    },
  )

  promises('reports about another account: nothing is kept', async (world) => {
    const handover = await world.handover({ to: world.recipientWhen('refuses')! })
    await sendBy(world.channel, handover)
    await world.bringForeignReports?.(handover.messageId)
    world.receiptEnd = 'message-unknown'
    await report(world, handover.messageId, 'delivered')

    assert.deepEqual([await broken(world), noted(world)], [[], []])
  })
})

describe('an adapter that keeps its promises', () => {
  const promises = promisingIn({ it }, () => newBridgeWorld())

  promises('answers that it does not know: the log does not call that a broken connection', async (world) => {
    const send = async (to: string, words: string | null) => {
      world.adapter.faults.set(to, {
        kind: 'crafted',
        answer: ({ id, attemptId }) =>
          world.adapter.signed(id, {
            type: 'outcome',
            attemptId,
            result: 'unknown',
            ...(words === null ? {} : { words }),
          }),
      })
      return sendBy(world.channel, await world.handover({ to }))
    }

    assert.deepEqual(await send('15550007998', 'WAHA answered 500: session closed'), {
      kind: 'unknown',
      words: 'The adapter does not know what became of it: WAHA answered 500: session closed',
    })
    assert.deepEqual(await send('15550007997', null), {
      kind: 'unknown',
      words: 'The adapter does not know what became of it.',
    })
  })

  promises(
    'uses one id for an attempt, marked as its own, in its answer, in evidence and in reports',
    async (world) => {
      const handover = await world.handover()
      const outcome = await sendBy(world.channel, handover)
      const evidence = await world.channel.reconcile({ ...handover, startedAt: Date.now() })
      const reported = await becomes(REPORTED_WITHIN_MS, () => world.receipts.length === 3)

      const ids = [outcome, evidence, ...world.receipts].map((one) => ('networkId' in one ? one.networkId : null))
      assert.match(ids[0] ?? '', /^bridge:net-/)
      assert.deepEqual([reported, ids], [true, Array(5).fill(ids[0])])
    },
  )
})

/** Reports about a message, and waits until the report was applied. */
async function report(world: BridgeWorld, messageId: string, kind: string): Promise<void> {
  const before = applied(world)
  const { connectionId } = world
  const status = await world.adapter.postReceipts(world.callbackUrl, [
    { attemptId: `${messageId}_1`, connectionId, kind, at: Date.now() + before },
  ])
  assert.equal(status, 200)
  assert.ok(await becomes(REPORTED_WITHIN_MS, () => applied(world) > before), 'the report was not applied')
}

function applied({ events }: BridgeWorld): number {
  return events.filter(({ event }) => event === 'callback.applied').length
}

function noted({ events }: BridgeWorld): readonly string[] {
  return events.flatMap((event) => (event.event === 'bridge.promise_broken' ? event.promise : []))
}

async function broken({ storage }: BridgeWorld) {
  const found = await storage.watch.readBrokenPromises()
  return found
    .flatMap((one) => one.broken.map(({ promise, messageId }) => [promise, messageId]))
    .toSorted(([a = ''], [b = '']) => a.localeCompare(b))
}
