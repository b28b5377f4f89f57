import assert from 'node:assert/strict'
import type { Channel, Evidence, OpenQuestion } from '../../../src/core/ports/channel.ts'
import { becomes, hasArrived, type NewChannelWorld, promisingIn, type Suite, sendBy, within } from './channel-world.ts'
import { questionAbout } from './given-messages.ts'

const EVIDENCE_WITHIN_MS = 10_000
const LATE_MS = 300

/** What a channel can say later about an attempt whose worker died, or whose connection broke. */
export function evidenceIsTrue(suite: Suite, newWorld: NewChannelWorld): void {
  const promises = promisingIn(suite, newWorld)

  promises('G5: finds evidence of a message that arrived, whichever worker is asked', async (world) => {
    if (world.channel.capabilities.evidenceWaitMs === 0) return
    // The attempt stays open while its result is unknown.
    world.receiptEnd = 'too-early'
    const handover = await world.handover()
    const outcome = await sendBy(world.channel, handover)
    const other = await world.startAnother()

    const found = [
      await askUntilKnown(other, questionAbout(handover)),
      await askUntilKnown(world.channel, questionAbout(handover)),
    ]

    assert.ok(outcome.kind === 'accepted')
    for (const each of found) assert.deepEqual(each, { kind: 'accepted', networkId: outcome.networkId })
  })

  promises('G5: never reports not-sent for a message that arrived, or accepted for one that did not', async (world) => {
    world.receiptEnd = 'too-early'
    for (const error of ['drops-after', 'hangs-after', 'drops-before'] as const) {
      const to = world.recipientWhen(error)
      if (to === null) continue
      const handover = await world.handover({ to })
      const abort = new AbortController()
      const sending = sendBy(world.channel, handover, { signal: abort.signal })
      // There is nothing to find of a call that is stopped before the message was sent.
      if (error === 'hangs-after') await becomes(EVIDENCE_WITHIN_MS, () => hasArrived(world, to))
      else await within(LATE_MS, sending)
      abort.abort()
      await sending

      const evidence = await world.channel.reconcile(questionAbout(handover))

      assert.notEqual(evidence.kind, (await hasArrived(world, to)) ? 'not-sent' : 'accepted', error)
    }
  })

  promises('G5: keeps its word that an attempt was not sent', async (world) => {
    const handover = await world.handover()
    const evidence = await (await world.startAnother()).reconcile(questionAbout(handover))
    assert.notEqual(evidence.kind, 'accepted')
    if (evidence.kind !== 'not-sent') return

    // A worker that counted as dead resumes just before it calls the network.
    const outcome = await sendBy(world.channel, handover)

    assert.notEqual(outcome.kind, 'accepted')
    assert.deepEqual(await world.arrived(), [])
  })

  promises('distinguishes the attempts of a message', async (world) => {
    if (world.channel.capabilities.evidenceWaitMs === 0) return
    world.receiptEnd = 'too-early'
    const first = await world.handover()
    await sendBy(world.channel, first)
    await askUntilKnown(world.channel, questionAbout(first))

    const second = await world.channel.reconcile(questionAbout({ ...first, attemptNumber: 2 }))

    assert.notEqual(second.kind, 'accepted')
  })

  promises('has no outside effect when it is asked', async (world) => {
    const handover = await world.handover()
    await sendBy(world.channel, handover)
    const before = await world.arrived()

    for (let i = 0; i < 3; i++) {
      await world.channel.reconcile(questionAbout(handover))
      await world.channel.reconcile(questionAbout(await world.handover({ text: 'never sent' })))
    }
    await new Promise((resolve) => setTimeout(resolve, LATE_MS))

    assert.deepEqual(await world.arrived(), before)
  })

  promises('never throws while storage is away, and reports nothing as certain then', async (world) => {
    const question = questionAbout(await world.handover())
    const restore = world.loseStorage()

    const evidence = await world.channel.reconcile(question)

    restore()
    assert.ok(evidence.kind === 'nothing-yet' || evidence.kind === 'nothing-ever', JSON.stringify(evidence))
  })
}

async function askUntilKnown(channel: Channel, question: OpenQuestion): Promise<Evidence> {
  let evidence: Evidence = { kind: 'nothing-yet' }
  await becomes(EVIDENCE_WITHIN_MS, async () => {
    evidence = await channel.reconcile(question)
    return evidence.kind !== 'nothing-yet'
  })
  return evidence
}
