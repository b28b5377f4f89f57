import assert from 'node:assert/strict'
import type { MessageId } from '../../src/core/ids.ts'
import type { AttemptRecord, Disposition } from '../../src/core/ports/lanes.ts'
import { TallyCounter } from '../../src/storage/queries/overview/tally-counter.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addSender,
  attempt,
  head,
  holdLane,
  KEEP,
  type NewWorld,
  open,
  report,
  type StorageWorld,
  type Suite,
  stateOf,
  step,
  timelineOf,
} from './storage-world.ts'

/**
 * What every engine promises about reports of networks: they come late, twice, in any order, and sometimes to the wrong
 * connection.
 */
export function receiptsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('records a report once, however often it arrives', async () => {
    const { world, id, about } = await published(newWorld)
    const delivered = report(world, { ...about, kind: 'delivered' })

    const answers = [await world.lanes.applyReceipt(delivered), await world.lanes.applyReceipt(delivered)]
    await world.lanes.applyReceipt(report(world, { ...about, kind: 'read' }))
    await world.lanes.applyReceipt(delivered)

    assert.deepEqual(answers, ['applied', 'applied'])
    assert.equal(await stateOf(world, id), 'READ')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-delivered', 'receipt-read'])
    await world.close()
  })

  it('records a report once if two processes bring it at the same time', async () => {
    const { world, id, about } = await published(newWorld)
    const delivered = report(world, { ...about, kind: 'delivered' })

    await Promise.all(Array.from({ length: 8 }, () => world.lanes.applyReceipt(delivered)))

    assert.deepEqual(await receiptsOf(world, id), ['receipt-delivered'])
    await world.close()
  })

  it('does not count the repeat of a contrary report as more evidence', async () => {
    const { world, id, about } = await published(newWorld)
    await world.lanes.applyReceipt({
      ...report(world, { ...about, kind: 'failed' }),
      code: 'refused_later',
      words: 'no',
    })
    const contrary = report(world, { ...about, kind: 'delivered' })
    await world.lanes.applyReceipt(contrary)
    const once = await stateOf(world, id)

    await world.lanes.applyReceipt(contrary)

    assert.deepEqual([once, await stateOf(world, id)], ['PUBLISHED', 'PUBLISHED'])
    assert.deepEqual(await receiptsOf(world, id), ['receipt-failed', 'receipt-contrary'])
    await world.close()
  })

  it('recognises reports that contradict an earlier report about the same attempt', async () => {
    const { world, id, about } = await published(newWorld)
    const own = { ...about, attemptNumber: 1, networkId: 'net-1' }
    const kinds = ['failed', 'delivered', 'delivered', 'failed'] as const
    const answers: string[] = []
    for (const kind of kinds) {
      await world.clock.pass(1_000)
      answers.push(await world.lanes.applyReceipt(report(world, { ...own, kind })))
    }

    assert.deepEqual(answers, ['applied', 'contradicted', 'applied', 'contradicted'])
    assert.deepEqual(await receiptsOf(world, id), [
      'receipt-failed',
      'receipt-contrary',
      'receipt-delivered',
      'receipt-contrary',
    ])
    await world.close()
  })

  it('G5: shows once, in the timeline too, that the network knows an attempt by a second id', async () => {
    const { world, id, about } = await published(newWorld)
    const second = report(world, { ...about, attemptNumber: 1, networkId: 'net-2', kind: 'sent' })
    await world.clock.pass(1_000)
    const arrived = report(world, { ...about, attemptNumber: 1, networkId: 'net-2', kind: 'delivered' })

    const answers = [await world.lanes.applyReceipt(second), await world.lanes.applyReceipt(arrived)]
    await world.lanes.applyReceipt(second)
    await world.lanes.applyReceipt(arrived)

    const { timeline } = await world.administration.explainMessage(id)
    assert.deepEqual(answers, ['second-id', 'second-id'])
    assert.deepEqual(
      timeline.flatMap(({ kind, code }) => (kind.startsWith('receipt') ? [[kind, code]] : [])),
      [
        ['receipt-contrary', 'second_network_id'],
        ['receipt-delivered', 'second_network_id'],
      ],
    )
    assert.equal(await stateOf(world, id), 'DELIVERED')
    await world.close()
  })

  it('records a second report of the same kind from another time', async () => {
    const { world, id, about } = await published(newWorld)
    await world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered' }))
    await world.clock.pass(1_000)

    await world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered' }))

    assert.deepEqual(await receiptsOf(world, id), ['receipt-delivered', 'receipt-delivered'])
    await world.close()
  })

  it('records about fifty reports of one message at most, and still moves it forward', async () => {
    const { world, id, about } = await published(newWorld)
    await flood(world, { ...about, kind: 'delivered' }, 80)
    const recorded = (await receiptsOf(world, id)).length

    await flood(world, { ...about, kind: 'failed' }, 20)
    const answer = await world.lanes.applyReceipt(report(world, { ...about, kind: 'read' }))

    assert.deepEqual([recorded, answer, await stateOf(world, id)], [50, 'applied', 'READ'])
    assert.equal((await receiptsOf(world, id)).length, 51)
    await world.close()
  })

  it('does not let a network report failed and delivered for ever, and ends with the evidence', async () => {
    const { world, id, about } = await published(newWorld)
    for (let i = 0; i < 50; i++) {
      await flood(world, { ...about, kind: 'failed' }, 1)
      await flood(world, { ...about, kind: 'delivered' }, 1)
    }
    const recorded = (await receiptsOf(world, id)).length
    await flood(world, { ...about, kind: 'failed' }, 1)
    const state = await stateOf(world, id)

    await world.lanes.applyReceipt(report(world, { ...about, kind: 'read' }))

    assert.ok(recorded >= 50 && recorded <= 62, `${recorded} are recorded`)
    assert.deepEqual([state, await stateOf(world, id)], ['DELIVERED', 'READ'])
    await world.close()
  })

  it('counts only reports, so that many attempts do not use up the limit', async () => {
    const { world, id, about } = await ended(newWorld, [...Array.from({ length: 70 }, () => REJECTED), ACCEPTED])

    await flood(world, { ...about, kind: 'failed', attemptNumber: 1 }, 60)
    await world.lanes.applyReceipt(report(world, { ...about, kind: 'failed' }))
    const failed = await stateOf(world, id)
    await world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered' }))

    assert.deepEqual([failed, await stateOf(world, id)], ['FAILED', 'PUBLISHED'])
    assert.equal((await receiptsOf(world, id)).length, 52)
    await world.close()
  })

  it('G8: takes a report about a message of another connection as one about no message', async () => {
    const { world, id, about } = await published(newWorld, 'wamid.one')
    const other = await addSender(world, { number: '15550001001' })
    const foreign = { ...about, connectionId: other.connectionId }

    const answers = [
      await world.lanes.applyReceipt(report(world, { ...foreign, kind: 'read' })),
      await world.lanes.applyReceipt(
        report(world, { ...foreign, messageId: null, networkId: 'wamid.one', kind: 'read' }),
      ),
    ]

    assert.deepEqual(answers, ['message-unknown', 'message-unknown'])
    assert.equal(await stateOf(world, id), 'PUBLISHED')
    assert.deepEqual(await receiptsOf(world, id), [])
    await world.close()
  })

  it('finds a message by the network’s own id if the report names no other', async () => {
    const { world, id, about } = await published(newWorld, 'wamid.one')
    const unnamed = { ...about, messageId: null }

    const answers = [
      await world.lanes.applyReceipt(report(world, { ...unnamed, networkId: 'wamid.one', kind: 'delivered' })),
      await world.lanes.applyReceipt(report(world, { ...unnamed, networkId: 'wamid.on', kind: 'read' })),
      await world.lanes.applyReceipt(report(world, { ...unnamed, networkId: 'wamid.one\0', kind: 'read' })),
      await world.lanes.applyReceipt(report(world, { ...unnamed, networkId: null, kind: 'read' })),
    ]

    assert.deepEqual(answers, ['applied', 'message-unknown', 'message-unknown', 'message-unknown'])
    assert.equal(await stateOf(world, id), 'DELIVERED')
    await world.close()
  })

  it('applies two reports of one message at once, one by each of its ids', async () => {
    const { world, id, about } = await published(newWorld, 'wamid.one')
    const unnamed = { ...about, messageId: null, networkId: 'wamid.one' }

    const answers = await Promise.all([
      world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered' })),
      world.lanes.applyReceipt(report(world, { ...unnamed, kind: 'read' })),
    ])

    assert.deepEqual(answers, ['applied', 'applied'])
    assert.equal(await stateOf(world, id), 'READ')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-delivered', 'receipt-read'])
    await world.close()
  })

  it('G5: still warns that the recipient may have it twice after it was delivered and read', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE, ACCEPTED_AGAIN])
    const reasons: (string | null)[] = []

    for (const kind of ['delivered', 'read'] as const) {
      await world.lanes.applyReceipt(report(world, { ...about, kind }))
      reasons.push((await world.administration.explainMessage(id)).message.reason)
    }

    assert.equal(await stateOf(world, id), 'READ')
    assert.deepEqual(reasons, ['possible_duplicate', 'possible_duplicate'])
    await world.close()
  })

  it('removes the reason for an unknown result when the message is delivered', async () => {
    const { world, id, about } = await ended(newWorld, [UNCONFIRMED])

    await world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered' }))

    const { message } = await world.administration.explainMessage(id)
    assert.deepEqual([message.state, message.reason], ['DELIVERED', null])
    await world.close()
  })

  it('G5: accepts a report that an unconfirmed message was sent, and finds it by its network id afterwards', async () => {
    const { world, id, about } = await ended(newWorld, [UNCONFIRMED])

    await world.lanes.applyReceipt(report(world, { ...about, networkId: 'wamid.late', kind: 'sent' }))
    const after = await world.administration.explainMessage(id)
    await world.lanes.applyReceipt(
      report(world, { ...about, messageId: null, networkId: 'wamid.late', kind: 'delivered' }),
    )

    assert.deepEqual([after.message.state, after.message.reason], ['PUBLISHED', 'evidence_found'])
    assert.equal(await stateOf(world, id), 'DELIVERED')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-sent', 'receipt-delivered'])
    await world.close()
  })

  it('keeps the network id that it had', async () => {
    const { world, about } = await published(newWorld, 'wamid.one')
    await world.lanes.applyReceipt(report(world, { ...about, networkId: 'wamid.two', kind: 'delivered' }))

    const unnamed = { ...about, messageId: null, kind: 'read' as const }
    const answers = [
      await world.lanes.applyReceipt(report(world, { ...unnamed, networkId: 'wamid.two' })),
      await world.lanes.applyReceipt(report(world, { ...unnamed, networkId: 'wamid.one' })),
    ]

    assert.deepEqual(answers, ['message-unknown', 'applied'])
    await world.close()
  })

  it('records no report of an acceptance that is already known', async () => {
    const { world, id, about } = await published(newWorld)

    const answers = []
    for (const kind of ['sent', 'delivered', 'sent'] as const)
      answers.push(await world.lanes.applyReceipt(report(world, { ...about, kind })))

    assert.deepEqual(answers, ['applied', 'applied', 'applied'])
    assert.equal(await stateOf(world, id), 'DELIVERED')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-delivered'])
    await world.close()
  })

  it('G10: shows why a published message failed, in the network’s words', async () => {
    const { world, id, about } = await published(newWorld)

    await world.lanes.applyReceipt(
      report(world, { ...about, attemptNumber: 1, kind: 'failed', code: 'whatsapp_131026', words: 'undeliverable' }),
    )

    const { message, reasonWords, timeline } = await world.administration.explainMessage(id)
    assert.deepEqual([message.state, message.reason, reasonWords], ['FAILED', 'whatsapp_131026', 'undeliverable'])
    const entry = timeline.find(({ kind }) => kind === 'receipt-failed')
    assert.deepEqual([entry?.code, entry?.words], ['whatsapp_131026', 'undeliverable'])
    await world.close()
  })

  it('G5: only records that an attempt before the last one failed', async () => {
    const { world, id, about } = await ended(newWorld, [REJECTED, ACCEPTED])

    const answer = await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, kind: 'failed' }))

    assert.equal(answer, 'applied')
    assert.equal(await stateOf(world, id), 'PUBLISHED')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-contrary'])
    await world.close()
  })

  it('G5: leaves the message to a person if the last attempt failed and the one before may have arrived', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE, ACCEPTED])

    await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 2, kind: 'failed' }))

    assert.equal(await stateOf(world, id), 'UNCONFIRMED')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-failed'])
    assert.deepEqual(
      (await world.administration.listUnresolved(null)).map((message) => [message.id, message.reason]),
      [[id, 'result_unknown']],
    )
    await world.close()
  })

  it('G10: counts failures that the network reports as unresolved', async () => {
    const { world, about } = await published(newWorld)
    const counter = new TallyCounter(world.store, { wait: async () => {} })

    await world.lanes.applyReceipt(report(world, { ...about, kind: 'failed', code: 'recipient_refused' }))

    await counter.countNext()
    const rows = await world.sql('select state, reason, count from tally_reason')
    assert.deepEqual(
      rows.map((row) => [row['state'], row['reason'], Number(row['count'])]),
      [['FAILED', 'recipient_refused', 1]],
    )
    await world.close()
  })

  it('G5 G10: leaves a message that became unconfirmed again to a person, who can resolve it', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE, UNCONFIRMED])
    const last = { ...about, attemptNumber: 2 }
    await world.lanes.applyReceipt(report(world, { ...last, kind: 'sent' }))

    await world.lanes.applyReceipt(report(world, { ...last, kind: 'failed' }))

    const unresolved = await world.administration.listUnresolved(null)
    const resolved = await world.administration.resolveMessage(id, 'arrived', 'anna')
    assert.deepEqual(
      unresolved.map((message) => [message.id, message.state, message.reason]),
      [[id, 'UNCONFIRMED', 'result_unknown']],
    )
    assert.deepEqual([resolved.state, resolved.reason], ['PUBLISHED', 'marked_arrived'])
    await world.close()
  })

  it('G5: returns a message to a person who had marked it as arrived, if the network reports a failure', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE, UNCONFIRMED])
    await world.administration.resolveMessage(id, 'arrived', 'anna')

    await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 2, kind: 'failed' }))

    assert.deepEqual(
      (await world.administration.listUnresolved(null)).map((message) => [message.id, message.state]),
      [[id, 'UNCONFIRMED']],
    )
    await world.close()
  })

  it('does not ask a person again about a message that was sent again, whatever is reported about the old one', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE, UNCONFIRMED])
    await world.administration.resolveMessage(id, 'send-again', 'anna')
    const last = { ...about, attemptNumber: 2 }

    for (const kind of ['sent', 'failed'] as const) await world.lanes.applyReceipt(report(world, { ...last, kind }))

    assert.equal(await stateOf(world, id), 'UNCONFIRMED')
    assert.deepEqual(await world.administration.listUnresolved(null), [])
    await world.close()
  })

  it('reports a message as failed if the attempt failed by whose id the network knows it', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE, NOT_SENT_AGAIN])
    const first = { ...about, attemptNumber: 1, networkId: 'wamid.first' }

    await world.lanes.applyReceipt(report(world, { ...first, kind: 'sent' }))
    const after = await stateOf(world, id)
    await world.lanes.applyReceipt(report(world, { ...first, kind: 'failed' }))

    assert.deepEqual([after, await stateOf(world, id)], ['PUBLISHED', 'FAILED'])
    await world.close()
  })

  it('G5: does not report a message as failed while a later attempt may have arrived', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE, UNCONFIRMED])
    const first = { ...about, attemptNumber: 1, networkId: 'wamid.first' }

    await world.lanes.applyReceipt(report(world, { ...first, kind: 'sent' }))
    const after = await stateOf(world, id)
    await world.lanes.applyReceipt(report(world, { ...first, kind: 'failed' }))

    const { message } = await world.administration.explainMessage(id)
    assert.deepEqual([after, message.state, message.reason], ['PUBLISHED', 'UNCONFIRMED', 'result_unknown'])
    await world.close()
  })

  it('G5: counts a message as arrived if any of its attempts did', async () => {
    const { world, id, about } = await ended(newWorld, [REJECTED, UNCONFIRMED])

    await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, kind: 'delivered' }))

    assert.equal(await stateOf(world, id), 'DELIVERED')
    await world.close()
  })

  it('records a report about a message that waits again as not sent, and leaves it waiting', async () => {
    const { world, id, about } = await ended(newWorld, [REJECTED])

    const answer = await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, kind: 'delivered' }))

    assert.equal(answer, 'applied')
    assert.equal(await stateOf(world, id), 'QUEUED')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-contrary'])
    await world.close()
  })

  for (const [kind, state] of [
    ['sent', 'PUBLISHED'],
    ['delivered', 'DELIVERED'],
    ['read', 'READ'],
  ] as const) {
    it(`G5: ends a message that waits to be sent once more when the network reports ${kind}`, async () => {
      const { world, id, about, sender, lane } = await ended(newWorld, [SENT_ONCE_MORE])
      const next = await accept(world, sender)
      const [first] = await world.lanes.fetchNext(about.connectionId, 1, 0)
      assert.ok(first)

      const answers = [
        await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, networkId: 'wamid.late', kind })),
        await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, networkId: 'wamid.late', kind })),
      ]
      const opened = await open(world, lane, first)

      const { message, timeline } = await world.administration.explainMessage(id)
      assert.deepEqual([answers, opened], [['applied', 'applied'], { fenced: false, started: false }])
      assert.deepEqual([message.state, message.reason], [state, 'evidence_found'])
      assert.equal(timeline.filter((moment) => moment.kind === `receipt-${kind}`).length, 1)
      assert.equal((await head(world, about.connectionId)).id, next)
      await world.close()
    })
  }

  it('G5 G12: ends a waiting message if the network reports an attempt that the database has lost', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const [id, next] = [await accept(world, sender), await accept(world, sender)]
    await world.administration.holdLanes('restored', 'test')
    const about = { connectionId: sender.connectionId, messageId: id, networkId: 'wamid.one' }

    await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, kind: 'delivered' }))
    await world.lanes.applyReceipt(report(world, { ...about, messageId: next, attemptNumber: 1, kind: 'failed' }))

    const { message } = await world.administration.explainMessage(id)
    assert.deepEqual([message.state, message.reason], ['DELIVERED', 'evidence_found'])
    assert.deepEqual(await receiptsOf(world, id), ['receipt-delivered'])
    assert.equal((await head(world, sender.connectionId)).id, next)
    await world.close()
  })

  it('G5 G12: reports a cancelled message as arrived if the network reports an attempt that the database has lost', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const id = await accept(world, sender)
    await world.administration.cancelMessage(id, 'anna')
    const about = { connectionId: sender.connectionId, messageId: id, networkId: 'wamid.one' }

    await world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered' }))
    const unnumbered = await stateOf(world, id)
    await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, kind: 'read' }))

    const { message } = await world.administration.explainMessage(id)
    assert.deepEqual([unnumbered, message.state, message.reason], ['CANCELLED', 'READ', 'evidence_found'])
    await world.close()
  })

  for (const [how, end] of [
    ['whose result was unknown', UNCONFIRMED],
    ['that waits to be sent once more', SENT_ONCE_MORE],
    ['that was refused', REFUSED],
  ] as const) {
    it(`G10: shows no time before the acceptance of a message ${how}, when the report is of an earlier second`, async () => {
      const { world, id, about } = await ended(newWorld, [end], 7)
      const { message: before } = await world.administration.explainMessage(id)
      const at = before.acceptedAt - 2_007

      await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, kind: 'delivered', at }))

      const { message, timeline } = await world.administration.explainMessage(id)
      const begunAt = timeline.find(({ kind }) => kind === 'attempt-begun')?.at ?? 0
      assert.ok(message.publishedAt !== null && message.publishedAt >= before.acceptedAt, String(message.publishedAt))
      if (end !== REFUSED) assert.ok(message.publishedAt >= begunAt, `${message.publishedAt} is before ${begunAt}`)
      assert.deepEqual(
        timeline.filter(({ at: shown }) => shown < before.acceptedAt),
        [],
      )
      assert.deepEqual(
        timeline.map(({ at: shown }) => shown),
        timeline.map(({ at: shown }) => shown).toSorted((one, other) => one - other),
      )
      const moment = timeline.find(({ kind }) => kind.startsWith('receipt-'))
      assert.equal(moment?.facts['networkTime'], at)
      await world.close()
    })
  }

  it('G5: lets the message wait if the network reports only that the attempt failed', async () => {
    const { world, id, about } = await ended(newWorld, [SENT_ONCE_MORE])

    await world.lanes.applyReceipt(report(world, { ...about, attemptNumber: 1, kind: 'failed' }))

    assert.equal(await stateOf(world, id), 'QUEUED')
    assert.deepEqual(await receiptsOf(world, id), ['receipt-contrary'])
    await world.close()
  })

  it('shows a message that was sent after all as PUBLISHED, with a flag, unless the network reported a failure', async () => {
    const { world, id, about } = await ended(newWorld, [REFUSED])
    const later = await published(newWorld)
    await later.world.lanes.applyReceipt(report(later.world, { ...later.about, kind: 'failed' }))

    await world.lanes.applyReceipt(report(world, { ...about, kind: 'sent' }))
    await later.world.lanes.applyReceipt(report(later.world, { ...later.about, kind: 'sent' }))

    assert.deepEqual([await stateOf(world, id), await receiptsOf(world, id)], ['PUBLISHED', ['receipt-contrary']])
    assert.equal(await stateOf(later.world, later.id), 'FAILED')
    assert.deepEqual(await receiptsOf(later.world, later.id), ['receipt-failed'])
    await world.close()
    await later.world.close()
  })
}

/** Reports the same, one second after another. */
async function flood(world: StorageWorld, given: Parameters<typeof report>[1], count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    await world.clock.pass(1_000)
    await world.lanes.applyReceipt(report(world, given))
  }
}

const ACCEPTED = { outcome: 'accepted', networkId: 'net-1', disposition: AS_PUBLISHED } as const
const ACCEPTED_AGAIN = { ...ACCEPTED, disposition: { ...AS_PUBLISHED, reason: 'possible_duplicate' } } as const
const REJECTED = { outcome: 'rejected', networkId: null, disposition: KEEP } as const
const NOT_SENT_AGAIN = {
  outcome: 'rejected',
  networkId: null,
  disposition: { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: null },
} as const
const SENT_ONCE_MORE = { outcome: 'unknown', networkId: null, disposition: KEEP } as const
const REFUSED = {
  outcome: 'rejected',
  networkId: null,
  disposition: { do: 'finalize', as: 'FAILED', reason: 'recipient_refused', words: null },
} as const
const UNCONFIRMED = {
  outcome: 'unknown',
  networkId: null,
  disposition: { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: null },
} as const

interface End {
  readonly outcome: AttemptRecord['outcome']
  readonly networkId: string | null
  readonly disposition: Disposition
}

function published(newWorld: NewWorld, networkId = 'net-1') {
  return ended(newWorld, [{ ...ACCEPTED, networkId }])
}

/** A message whose attempts ended in these ways, each with a pause before it. */
async function ended(newWorld: NewWorld, ends: readonly End[], eachMs = 0) {
  const world = await newWorld()
  const sender = await addSender(world)
  const id = await accept(world, sender)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  for (const { outcome, networkId, disposition } of ends) {
    const message = await head(world, sender.connectionId)
    await world.clock.pass(eachMs)
    await open(world, lane, message)
    const startedAt = world.clock.now()
    await world.clock.pass(eachMs)
    const made = { ...attempt(world, message, outcome), startedAt, networkId }
    await world.lanes.record(step(world, lane, { finish: { attempt: made, disposition } }))
  }
  return { world, id, sender, lane, about: { connectionId: sender.connectionId, messageId: id } }
}

async function receiptsOf(world: StorageWorld, id: MessageId): Promise<string[]> {
  return (await timelineOf(world, id)).filter((kind) => kind.startsWith('receipt'))
}
