import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { MEDIA_TYPES } from '../../../src/core/message/message.ts'
import type { Failure, Outcome, Prepared } from '../../../src/core/ports/channel.ts'
import { type ChannelWorld, type NewChannelWorld, promisingIn, type Suite, sendBy } from './channel-world.ts'
import { ANY_RECIPIENT } from './given-messages.ts'

const TEXTS: Readonly<Record<string, string>> = {
  'a short text': 'Hello',
  'line breaks, tabs and white space at both ends': '  one\r\n\ttwo\n\n ',
  'faces of several code points': '👩‍👩‍👧‍👦 🇪🇺 👍🏽 é',
  'letters with combining marks': 'e\u0301 A\u030a \u1100\u1161',
  'text from right to left': 'שלום עולם, مرحبا 123',
  'characters of markup': '*bold* _it_ ~no~ ```code``` {{1}} <b>&amp;</b> \\n "quoted"',
  'the most code points allowed': `${'😀'.repeat(4_095)}.`,
}

/** Messages arrive as given when nothing fails, and nothing else arrives. */
export function messagesAreHandedOver(suite: Suite, newWorld: NewChannelWorld): void {
  const promises = promisingIn(suite, newWorld)

  for (const [what, text] of Object.entries(TEXTS)) {
    promises(`hands over once, and byte for byte: ${what}`, async (world) => {
      const outcome = await sendBy(world.channel, await world.handover({ text }))

      assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome))
      assert.deepEqual(await world.arrived(), [{ to: ANY_RECIPIENT, type: 'message', text, name: null, sha256: null }])
    })
  }

  for (const type of MEDIA_TYPES) {
    promises(`hands over once, and byte for byte: ${type} with its caption`, async (world) => {
      const caption = type === 'audio' ? null : 'שלום 👩‍👧 \n*x*'
      const handover = await world.handover({ type, caption })

      const outcome = await sendBy(world.channel, handover)

      const [first, ...others] = await world.arrived()
      assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome))
      assert.deepEqual([first?.to, first?.type, first?.text], [ANY_RECIPIENT, type, caption])
      assert.equal(first?.sha256, handover.media?.sha256)
      if (type === 'document' && handover.content.type !== 'message') assert.equal(first?.name, handover.content.name)
      assert.deepEqual(others, [])
    })
  }

  promises('returns for each accepted message the id that the network gave it', async (world) => {
    const [one, other] = await Promise.all([sendOne(world, 'one'), sendOne(world, 'other')])

    assert.ok(one.kind === 'accepted' && other.kind === 'accepted')
    assert.ok(one.networkId !== '' && one.networkId !== other.networkId)
  })

  promises('prepares without an effect that a recipient sees, and harmlessly twice', async (world) => {
    const { channel } = world
    const handover = await world.handover({ type: 'image', caption: 'one' })
    const { signal } = new AbortController()

    const prepared = [await channel.prepare?.(handover, signal), await channel.prepare?.(handover, signal)]
    const before = await world.arrived()
    const outcome = await channel.send(handover, signal, () => true)

    assert.deepEqual(before, [])
    for (const each of prepared) assert.ok(!each || each.kind === 'ready', JSON.stringify(each))
    assert.equal(outcome.kind, 'accepted')
    assert.equal((await world.arrived()).length, 1)
  })

  promises('continues with what another worker has prepared', async (world) => {
    const handover = await world.handover({ type: 'image' })
    const { signal } = new AbortController()
    await world.channel.prepare?.(handover, signal)

    const outcome = await (await world.startAnother()).send(handover, signal, () => true)

    assert.equal(outcome.kind, 'accepted', JSON.stringify(outcome))
  })

  promises('sends no message whose attachment was not prepared, and asks for that', async (world) => {
    if (!world.channel.prepare) return
    const handover = await world.handover({ type: 'image' })

    const outcome = await world.channel.send(handover, new AbortController().signal, () => true)

    assert.equal(failureOf(outcome)?.class, 'transient')
    assert.deepEqual(await world.arrived(), [])
  })

  promises('reports media_lost for a missing attachment, and that a retry is possible', async (world) => {
    const { channel } = world
    const handover = await world.handover({ type: 'image' })
    await rm(handover.media?.path ?? '')
    const { signal } = new AbortController()

    const prepared = await channel.prepare?.(handover, signal)
    const failure = prepared ? failureIn(prepared) : failureOf(await channel.send(handover, signal, () => true))

    assert.deepEqual([failure?.class, failure?.code], ['transient', 'media_lost'])
    assert.deepEqual(await world.arrived(), [])
  })

  promises('returns an outcome for a message whose connection has no settings, and never throws', async (world) => {
    for (const given of [{}, { type: 'image' }] as const) {
      const outcome = await sendBy(world.channel, await world.handover({ ...given, settings: {} }))

      assert.ok(['accepted', 'rejected'].includes(outcome.kind))
    }
  })

  promises('returns an outcome for a message whose attachment is missing, and never throws', async (world) => {
    const handover = { ...(await world.handover({ type: 'image' })), media: null }

    const outcome = await sendBy(world.channel, handover)

    if (outcome.kind !== 'accepted') assert.deepEqual(await world.arrived(), [])
  })
}

async function sendOne(world: ChannelWorld, text: string): Promise<Outcome> {
  return sendBy(world.channel, await world.handover({ text }))
}

function failureOf(outcome: Outcome): Failure | null {
  return outcome.kind === 'rejected' ? outcome.failure : null
}

function failureIn(prepared: Prepared): Failure | null {
  return prepared.kind === 'failed' ? prepared.failure : null
}
