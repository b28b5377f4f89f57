import assert from 'node:assert/strict'
import type { Outcome } from '../../../src/core/ports/channel.ts'
import { isReasonCode } from '../../../src/core/reasons.ts'
import {
  becomes,
  type ChannelWorld,
  hasArrived,
  type NetworkError,
  type NewChannelWorld,
  promisingIn,
  type Suite,
  sendBy,
  within,
} from './channel-world.ts'

const SOON_MS = 4_500
// A call that is stopped before its message was sent would prove nothing here.
const TAKEN_WITHIN_MS = 10_000
// Long enough for a message that is sent although its call was cut off.
const LATE_MS = 300

/** What a channel says when something fails. It says `rejected` only of a message that certainly does not arrive. */
export function errorsAreReportedHonestly(suite: Suite, newWorld: NewChannelWorld): void {
  const promises = promisingIn(suite, newWorld)
  const when = (error: NetworkError, name: string, prove: (world: ChannelWorld, to: string) => Promise<void>) =>
    promises(name, async (world) => {
      const to = world.recipientWhen(error)
      if (to !== null) await prove(world, to)
    })

  when('refuses', 'reports rejected, with a reason, if the network refuses a message', async (world, to) => {
    const outcome = await sendBy(world.channel, await world.handover({ to }))

    assert.equal(outcome.kind, 'rejected')
    assert.equal(outcome.kind === 'rejected' && outcome.failure.class, 'permanent')
    assert.ok(outcome.kind === 'rejected' && isReasonCode(outcome.failure.code))
    assert.deepEqual(await world.arrived(), [])
  })

  when('is-away', 'reports that the connection cannot send, and not that the message is wrong', async (world, to) => {
    const outcome = await sendBy(world.channel, await world.handover({ to }))

    assert.equal(outcome.kind === 'rejected' && outcome.failure.class, 'connection')
    assert.deepEqual(await world.arrived(), [])
  })

  for (const error of ['drops-before', 'drops-after'] as const) {
    when(
      error,
      `G5: reports nothing as certain when the line ${error.replace('-', ' ')} the network acts`,
      async (world, to) => {
        const outcome = await sendBy(world.channel, await world.handover({ to }))

        await assertHonest(world, outcome)
        assert.notEqual(outcome.kind, 'accepted')
      },
    )

    when(
      error,
      `never repeats by itself when the line ${error.replace('-', ' ')} the network acts`,
      async (world, to) => {
        await sendBy(world.channel, await world.handover({ to }))
        await later()

        assert.equal((await world.arrived()).length, error === 'drops-after' ? 1 : 0)
      },
    )
  }

  for (const error of ['hangs-before', 'hangs-after'] as const) {
    when(error, `G5: ends soon and honestly when it is stopped in mid-call: ${error}`, async (world, to) => {
      const abort = new AbortController()
      const sending = sendBy(world.channel, await world.handover({ to }), { signal: abort.signal })
      if (error === 'hangs-after') await becomes(TAKEN_WITHIN_MS, () => hasArrived(world, to))
      else await later()

      abort.abort()
      const outcome = await within(SOON_MS, sending)

      assert.ok(outcome, `it had not ended after ${SOON_MS} ms`)
      await assertHonest(world, outcome)
    })
  }

  promises('G6: sends nothing if it is stopped before it begins', async (world) => {
    const outcome = await within(
      SOON_MS,
      sendBy(world.channel, await world.handover(), { signal: AbortSignal.abort() }),
    )
    await later()

    assert.equal(outcome?.kind, 'rejected')
    assert.deepEqual(await world.arrived(), [])
  })

  for (const type of [undefined, 'image'] as const) {
    promises(`G6: sends nothing after the claim has expired: ${type ?? 'text'}`, async (world) => {
      const handover = await world.handover(type ? { type } : {})
      const { signal } = new AbortController()
      if (type) await world.channel.prepare?.(handover, signal)
      let holds = true

      const sending = world.channel.send(handover, signal, () => holds)
      // Whatever it waits for comes after this.
      holds = false
      const outcome = await sending
      await later()

      assert.equal(outcome.kind, 'rejected', JSON.stringify(outcome))
      assert.deepEqual(await world.arrived(), [])
    })
  }

  promises('ends soon if it is stopped while it prepares a message', async (world) => {
    const { channel } = world
    if (!channel.prepare) return
    const abort = new AbortController()
    const preparing = channel.prepare(await world.handover({ type: 'video' }), abort.signal)
    abort.abort()

    assert.ok(await within(SOON_MS, preparing), `it had not ended after ${SOON_MS} ms`)
  })

  promises(
    'never throws while storage is away, and reports rejected only for a message that does not arrive',
    async (world) => {
      const handovers = [await world.handover(), await world.handover({ type: 'image' })]
      const restore = world.loseStorage()

      for (const handover of handovers) {
        const outcome = await sendBy(world.channel, handover)
        await assertHonest(world, outcome)
      }
      restore()
    },
  )

  when('repeats-secrets', 'repeats no secret, even if the network does', async (world, to) => {
    const outcome = await sendBy(world.channel, await world.handover({ to }))

    assert.equal(outcome.kind, 'rejected')
    for (const secret of world.secrets) assert.ok(!JSON.stringify(outcome).includes(secret), 'a secret was disclosed')
  })
}

/** Asserts that a message that was reported as not sent does not arrive, now or a while later. */
async function assertHonest(world: ChannelWorld, outcome: Outcome): Promise<void> {
  await later()
  const { length } = await world.arrived()
  if (outcome.kind === 'rejected')
    assert.equal(length, 0, `said to be rejected, but it arrived: ${JSON.stringify(outcome)}`)
  if (outcome.kind === 'accepted') assert.equal(length, 1, 'said to be accepted, but it did not arrive')
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, LATE_MS))
}
