import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { ANY_RECIPIENT, openCloudWorld } from '../../../test/support/cloud-world/cloud-world.ts'
import { NumberMemory } from './number-memory.ts'
import { keyOf, WindowMemory } from './window-memory.ts'

const HOUR_MS = 3_600_000

describe('what is remembered of a window', () => {
  it('ends after a day, and sooner when the recipient writes', async () => {
    const { windows, id, clock } = await openMemories()
    await windows.close(id, ANY_RECIPIENT, clock.now())

    const closed = await windows.isClosed(id, ANY_RECIPIENT, clock.now() + 23 * HOUR_MS)
    const over = await windows.isClosed(id, ANY_RECIPIENT, clock.now() + 24 * HOUR_MS)
    await windows.reopen(id, `+${ANY_RECIPIENT}`, clock.now() + 1)

    assert.deepEqual([closed, over, await windows.isClosed(id, ANY_RECIPIENT, clock.now() + 2)], [true, false, false])
  })

  it('does not open by what was written before it closed, whenever that is reported', async () => {
    const { windows, id, clock } = await openMemories()
    await windows.close(id, ANY_RECIPIENT, clock.now())

    await windows.reopen(id, ANY_RECIPIENT, clock.now() - HOUR_MS)

    assert.equal(await windows.isClosed(id, ANY_RECIPIENT, clock.now()), true)
  })

  it('counts from the last refusal, and a late report of an earlier one changes nothing', async () => {
    const { windows, id, clock } = await openMemories()
    const noon = clock.now()
    await windows.close(id, ANY_RECIPIENT, noon)
    await windows.close(id, ANY_RECIPIENT, noon + 10 * HOUR_MS)
    await windows.close(id, ANY_RECIPIENT, noon + HOUR_MS)

    assert.equal(await windows.isClosed(id, ANY_RECIPIENT, noon + 33 * HOUR_MS), true)
  })

  it('is learnt anew after the clock was set back', async () => {
    const { windows, id, clock } = await openMemories()
    const noon = clock.now()
    await windows.close(id, ANY_RECIPIENT, noon)
    const before = await windows.isClosed(id, ANY_RECIPIENT, noon - HOUR_MS)
    await windows.closeNow(id, ANY_RECIPIENT, noon - HOUR_MS)

    assert.deepEqual([before, await windows.isClosed(id, ANY_RECIPIENT, noon - HOUR_MS)], [false, true])
  })

  it('does not depend on a few minutes between Meta’s clock and ours', async () => {
    const { windows, id, clock } = await openMemories()
    await windows.close(id, ANY_RECIPIENT, clock.now() + 60_000)
    const closed = await windows.isClosed(id, ANY_RECIPIENT, clock.now())
    await windows.reopen(id, ANY_RECIPIENT, clock.now())

    assert.deepEqual([closed, await windows.isClosed(id, ANY_RECIPIENT, clock.now())], [true, false])
  })

  it.each([
    ['541145678901', '5491145678901'],
    ['5491145678901', '541145678901'],
    ['551187654321', '5511987654321'],
    ['525512345678', '5215512345678'],
  ])('closes for %s, and opens when the same person writes as %s', async (writtenTo, writer) => {
    const { windows, id, clock } = await openMemories()
    await windows.close(id, writtenTo, clock.now())

    await windows.reopen(id, writer, clock.now() + 1)

    assert.equal(await windows.isClosed(id, writtenTo, clock.now() + 2), false)
  })

  it.each([
    ['5511987654321', '551187654321'],
    ['5215512345678', '525512345678'],
    ['5491145678901', '541145678901'],
    ['+1 (555) 000-1234', '15550001234'],
  ])('is the same under both spellings of a number: %s', (one, other) => {
    assert.equal(keyOf(one), keyOf(other))
  })

  it('is of one number each', () => {
    assert.notEqual(keyOf('5511987654321'), keyOf('5511887654321'))
    assert.notEqual(keyOf('15550001234'), keyOf('15550001235'))
  })
})

describe('what is remembered of a number', () => {
  it('is what was reported last, in whichever order it came', async () => {
    const { numbers, id, clock } = await openMemories()
    const noon = clock.now()
    await numbers.record(id, { at: noon + 2, quality: 'UNFLAGGED', messagingLimit: 'TIER_1K' })
    await numbers.record(id, { at: noon + 1, quality: 'FLAGGED', throughput: 'HIGH' })
    await numbers.record(id, { at: noon + 3, account: 'ACCOUNT_RESTRICTION' })

    assert.deepEqual(await numbers.read(id), {
      isFlagged: false,
      throughputPerSecond: 1_000,
      messagingLimit: 'TIER_1K',
      accountEvent: 'ACCOUNT_RESTRICTION',
    })
  })

  it('is nothing to begin with', async () => {
    const { numbers, id } = await openMemories()

    assert.deepEqual(numbers.peek(id), await numbers.read(id))
  })
})

async function openMemories() {
  const { memory, clock, sender } = await openCloudWorld()
  return { windows: new WindowMemory(memory), numbers: new NumberMemory(memory, clock), id: sender.connectionId, clock }
}
