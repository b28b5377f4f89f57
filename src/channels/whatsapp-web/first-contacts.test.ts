import assert from 'node:assert/strict'
import { describe, it, onTestFinished } from 'vitest'
import { newSqliteWorld } from '../../../test/conformance/sqlite-world.ts'
import type { ConnectionId, MessageId } from '../../core/ids.ts'
import type { Handover } from '../../core/ports/channel.ts'
import { FirstContacts } from './first-contacts.ts'
import { readReportedFacts } from './reported-facts.ts'
import type { ReadySession } from './session.ts'
import type { ContactLock } from './thread/messages.ts'

const CONNECTION = 'con_1' as ConnectionId
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const ACCEPTED = { kind: 'accepted', networkId: 'id' } as const
const UNKNOWN = { kind: 'unknown', words: 'no answer' } as const
const [ANNA, BEN, CARA, DORA] = ['15551110001', '15551110002', '15551110003', '15551110004'] as const

describe('new recipients of a WhatsApp Web number', () => {
  it('may be as many within 24 hours as are allowed; then they wait, and known ones go on', async () => {
    const world = await openWorld(2)
    await world.write(ANNA)
    await world.pass(HOUR_MS)
    await world.write(BEN)

    const [toNew, toKnown] = [await world.check(CARA), await world.check(ANNA)]

    assert.deepEqual(toNew, {
      scope: 'recipient',
      until: world.start + DAY_MS,
      reason: 'new_recipients',
      words: '2 of 2 new recipients were written to within 24 hours, so none is left.',
    })
    assert.equal(toKnown, null)
  })

  it('are allowed again a day after the earliest of them', async () => {
    const world = await openWorld(2)
    await world.write(ANNA)
    await world.pass(HOUR_MS)
    await world.write(BEN)
    await world.pass(DAY_MS - HOUR_MS)

    const first = await world.check(CARA)
    await world.write(CARA)
    const second = await world.check(DORA)

    assert.equal(first, null)
    assert.equal(second?.until, world.start + HOUR_MS + DAY_MS)
  })

  it('are not counted when they were written to before, also by a process that does not know it yet', async () => {
    const world = await openWorld(1)
    await world.write(ANNA)
    await world.pass(2 * DAY_MS)
    world.restart()
    await world.write(ANNA)

    assert.equal(await world.check(BEN), null)
  })

  it('count over a restart, and when it is unknown whether they got the message', async () => {
    const world = await openWorld(2)
    await world.write(ANNA)
    await world.write(BEN, UNKNOWN)
    world.restart()

    assert.equal((await world.check(CARA))?.reason, 'new_recipients')
  })

  it('are decided from memory for the lane, once it is known who is known', async () => {
    const world = await openWorld(1)
    await world.write(ANNA)
    await world.pass(2 * DAY_MS)
    await world.write(BEN)
    world.restart()
    await world.check(BEN)

    const atFirst = world.delayOf(ANNA)
    await world.check(ANNA)

    assert.equal(atFirst?.until, world.now() + 1_000)
    assert.equal(world.delayOf(ANNA), null)
    await world.check(CARA)
    assert.equal(world.delayOf(CARA)?.until, world.now() + DAY_MS)
  })

  it('are unlimited where the allowance is off', async () => {
    const world = await openWorld(null)
    for (const to of [ANNA, BEN, CARA]) await world.write(to)

    assert.equal(await world.check(DORA), null)
    assert.deepEqual(await world.facts(), [
      { label: 'New recipients', value: '3 within 24 hours, without a limit', tone: 'plain', isOwn: true },
    ])
  })

  it('wait while WhatsApp locks them, until it ends the lock or its time is over', async () => {
    const world = await openWorld(30)
    await world.write(ANNA)
    world.answer = { isActive: true, until: world.now() + HOUR_MS }

    const lock = await world.contacts.locked(CONNECTION, world.ready)
    const [toNew, toKnown] = [await world.check(BEN), await world.check(ANNA)]
    world.restart()
    const afterRestart = await world.check(BEN)
    await world.pass(HOUR_MS)

    assert.equal(lock.until, world.start + HOUR_MS)
    assert.deepEqual([toNew?.reason, toNew?.until], ['first_contacts_locked', world.start + HOUR_MS])
    assert.equal(toKnown, null)
    assert.equal(afterRestart?.until, world.start + HOUR_MS)
    assert.equal(await world.check(BEN), null)
  })

  it('wait for a day when WhatsApp does not say for how long, and are not tried before', async () => {
    const world = await openWorld(30)
    world.answer = { isActive: false, until: null }
    await world.contacts.locked(CONNECTION, world.ready)

    await world.pass(DAY_MS - 1)
    const before = await world.check(ANNA)
    await world.asked()
    await world.pass(1)

    assert.equal(before?.reason, 'first_contacts_locked')
    assert.equal(await world.check(ANNA), null)
  })

  it.each([
    {
      title: 'nothing',
      answer: { isActive: false, until: null },
      value: /^Held back until .+, because WhatsApp rejected one: /,
    },
    {
      title: 'that there is a lock',
      answer: { isActive: true, until: null },
      value: /^Held back until .+, because WhatsApp locks them without saying until when: /,
    },
    { title: 'until when', answer: { isActive: true, until: HOUR_MS }, value: /^Locked by WhatsApp until / },
  ])(
    'have the end of their lock shown as WhatsApp’s only where it says it; it says $title',
    async ({ answer, value }) => {
      const world = await openWorld(30)
      world.answer = { ...answer, until: answer.until && world.now() + answer.until }

      await world.contacts.locked(CONNECTION, world.ready)

      assert.match((await world.facts())[1]?.value ?? '', value)
    },
  )

  it('are asked about at most every ten minutes, and go on when WhatsApp has ended the lock early', async () => {
    const world = await openWorld(30)
    world.answer = { isActive: true, until: world.now() + DAY_MS }
    await world.contacts.locked(CONNECTION, world.ready)
    await world.pass(10 * MINUTE_MS - 1)
    await world.contacts.locked(CONNECTION, world.ready)
    await world.check(ANNA)
    const askedAtFirst = world.questions
    world.answer = { isActive: false, until: null }

    await world.pass(1)
    await world.check(ANNA)
    await world.asked()

    assert.deepEqual([askedAtFirst, world.questions], [1, 2])
    assert.equal(await world.check(ANNA), null)
  })

  it('do not wait for what a clock has noted that ran ahead', async () => {
    const world = await openWorld(1)
    world.jump(30 * DAY_MS)
    await world.write(ANNA)
    await world.contacts.locked(CONNECTION, world.ready)
    world.jump(-30 * DAY_MS)
    world.restart()

    const locked = await world.check(BEN)
    await world.pass(DAY_MS)

    assert.deepEqual([locked?.reason, locked?.until], ['first_contacts_locked', world.start + DAY_MS])
    assert.equal(await world.check(BEN), null)
  })

  it('are asked about every ten minutes also when the clock jumps', async () => {
    const world = await openWorld(30)
    world.answer = { isActive: true, until: world.now() + DAY_MS }
    await world.contacts.locked(CONNECTION, world.ready)
    world.jump(-HOUR_MS)

    await world.pass(10 * MINUTE_MS)
    await world.check(ANNA)

    assert.equal(world.questions, 2)
  })

  it('are shown with how many were used, how many are left and when more is allowed', async () => {
    const world = await openWorld(2)
    await world.write(ANNA)
    const some = await world.facts()
    await world.write(BEN)
    const all = await world.facts()
    world.answer = { isActive: true, until: world.now() + HOUR_MS }
    await world.contacts.locked(CONNECTION, world.ready)

    assert.deepEqual(some, [
      { label: 'New recipients', value: '1 of 2 within 24 hours, 1 left', tone: 'plain', isOwn: true },
    ])
    assert.match(all[0]?.value ?? '', /^2 of 2 within 24 hours, none left; more is allowed from .+ UTC on$/)
    const [, lock] = await world.facts()
    assert.match(lock?.value ?? '', /^Locked by WhatsApp until \d\d:\d\d UTC/)
    assert.equal(lock?.isOwn, undefined)
  })
})

async function openWorld(newRecipientsPerDay: number | null) {
  const storage = await newSqliteWorld()
  onTestFinished(() => storage.close())
  const { clock } = storage
  const memory = storage.channelState('whatsapp-web')
  const settings = { newRecipientsPerDay }
  const ready = {
    socket: {
      contactLock: async () => {
        world.questions += 1
        return world.answer
      },
    },
  } as unknown as ReadySession
  const open = () => new FirstContacts({ memory, clock, findReady: () => ready })
  const nextTo = (to: string) =>
    ({ connectionId: CONNECTION, messageId: 'message-1' as MessageId, to, settings }) as unknown as Handover
  const world = {
    start: clock.now(),
    ready,
    contacts: open(),
    answer: { isActive: false, until: null } as ContactLock,
    questions: 0,
    now: () => clock.now(),
    pass: (ms: number) => clock.pass(ms),
    jump: (ms: number) => clock.setNow(ms),
    restart() {
      world.contacts = open()
    },
    check: (to: string) => world.contacts.check(nextTo(to)),
    delayOf: (to: string) => world.contacts.delayOf(nextTo(to), clock.now()),
    async write(to: string, outcome: typeof ACCEPTED | typeof UNKNOWN = ACCEPTED) {
      await world.contacts.noteSent(nextTo(to), outcome)
    },
    /** What was asked behind the caller's back has been answered. */
    asked: () => new Promise((resolve) => setTimeout(resolve, 20)),
    facts: () => readReportedFacts({ memory, id: CONNECTION, settings, now: clock.now() }),
  }
  return world
}
