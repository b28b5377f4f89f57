import assert from 'node:assert/strict'
import { deferredMessagesKeepTheirPromises } from './deferred-messages.ts'
import { pastWaitsKeepTheirPromises } from './past-waits.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addConnection,
  addSender,
  attempt,
  BEN,
  beat,
  claim,
  head,
  holdLane,
  KEEP,
  type NewWorld,
  open,
  report,
  type Sender,
  type StorageWorld,
  type Suite,
  settled,
  stateOf,
  step,
  timelineOf,
} from './storage-world.ts'

const CLAIM_MS = 15_000

/** What every engine promises the dispatcher. */
export function lanesKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  claimsKeepTheirPromises({ it }, newWorld)
  stepsKeepTheirPromises({ it }, newWorld)
  deferredMessagesKeepTheirPromises({ it }, newWorld)
  pastWaitsKeepTheirPromises({ it }, newWorld)
  orphansKeepTheirPromises({ it }, newWorld)
  expiryKeepsItsPromises({ it }, newWorld)
  receiptsKeepTheirPromises({ it }, newWorld)
}

function claimsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('G2: gives a lane to one of two workers that claim it at once', async () => {
    const { world, sender } = await waiting(newWorld)
    await Promise.all([beat(world, ANNA), beat(world, BEN)])

    const claims = await Promise.all([claim(world, ANNA), claim(world, BEN)])

    assert.deepEqual(
      claims.map((lanes) => lanes.length).sort((a, b) => a - b),
      [0, 1],
    )
    assert.equal(claims.flat()[0]?.connectionId, sender.connectionId)
    await world.close()
  })

  it('G6: takes a lane over only after its owner’s lease has expired, under a new epoch', async () => {
    const { world, sender } = await waiting(newWorld)
    const hers = await holdLane(world, ANNA, sender.connectionId)
    await beat(world, BEN, 10 * CLAIM_MS)

    await world.clock.pass(CLAIM_MS - 1)
    const tooEarly = await claim(world, BEN)
    await world.clock.pass(1)
    const [his] = await claim(world, BEN)

    assert.deepEqual(tooEarly, [])
    assert.ok(his && his.epoch > hers.epoch)
    assert.equal(await world.lanes.inspect(hers), null)
    await world.close()
  })

  it('G6: takes a lane from a worker whose heartbeat was written before the clock was set back', async () => {
    const { world, sender } = await waiting(newWorld)
    const hers = await holdLane(world, ANNA, sender.connectionId)
    await beat(world, ANNA, 3_600_000)

    const living = await world.lanes.heartbeat(BEN, CLAIM_MS)
    const [his] = await claim(world, BEN)

    assert.deepEqual(living, [BEN])
    assert.ok(his && his.epoch > hers.epoch)
    await world.close()
  })

  it('G6: gives a worker its own lane again under a new epoch', async () => {
    const { world, sender } = await waiting(newWorld)
    const first = await holdLane(world, ANNA, sender.connectionId)
    const second = await holdLane(world, ANNA, sender.connectionId)

    assert.ok(second.epoch > first.epoch)
    await world.close()
  })

  it('frees the lanes of a worker that deletes its lease', async () => {
    const { world, sender } = await waiting(newWorld)
    await holdLane(world, ANNA, sender.connectionId)

    await world.lanes.deleteLease(ANNA)

    assert.equal((await holdLane(world, BEN, sender.connectionId)).connectionId, sender.connectionId)
    await world.close()
  })

  it('G6: frees a released lane, unless its epoch has moved on', async () => {
    const { world, sender } = await waiting(newWorld)
    const old = await holdLane(world, ANNA, sender.connectionId)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    await beat(world, BEN)

    await world.lanes.release([old])
    const stillHeld = await claim(world, BEN)
    await world.lanes.release([lane])

    assert.deepEqual(stillHeld, [])
    assert.equal((await claim(world, BEN)).length, 1)
    await world.close()
  })

  it('claims lanes with work that the worker does not hold yet, up to the limit', async () => {
    const { world, sender } = await waiting(newWorld)
    const second = { ...sender, number: '15550002000' }
    const secondId = await addConnection(world, sender.accountId, { number: second.number })
    const idleId = await addConnection(world, sender.accountId, { number: '15550003000' })
    await accept(world, second)
    await beat(world, ANNA)
    const everything = { only: null, held: new Set<typeof secondId>(), shouldDefer: () => false, limit: 100 }
    const request = { worker: ANNA, ...everything }

    const limited = await world.lanes.claim({ ...request, limit: 1 })
    const others = await world.lanes.claim({ ...request, held: new Set([sender.connectionId]) })
    const chosen = await world.lanes.claim({ ...request, only: [idleId, secondId] })

    assert.equal(limited.length, 1)
    assert.deepEqual(ids(others), [secondId])
    assert.deepEqual(ids(chosen), [secondId])
    await world.close()
  })

  it('leaves a lane that is assigned to another worker, and offers only free lanes', async () => {
    const { world, sender } = await waiting(newWorld)
    const second = { ...sender, number: '15550002000' }
    const secondId = await addConnection(world, sender.accountId, { number: second.number })
    await accept(world, second)
    await holdLane(world, BEN, secondId)
    await beat(world, ANNA)
    const asked: string[] = []
    const everything = { only: null, held: new Set<typeof secondId>(), limit: 100 }
    const leave = (id: string) => asked.push(id) > 0

    const left = await world.lanes.claim({ worker: ANNA, ...everything, shouldDefer: leave })
    const taken = await claim(world, ANNA)

    assert.deepEqual(left, [])
    assert.deepEqual([...new Set(asked)], [sender.connectionId])
    assert.deepEqual(ids(taken), [sender.connectionId])
    await world.close()
  })

  it('returns to each worker, when it renews its lease, all workers with a valid lease', async () => {
    const { world } = await waiting(newWorld)
    const alone = await beat(world, ANNA)
    await world.clock.pass(1)
    const both = await beat(world, BEN)

    await world.clock.pass(CLAIM_MS - 1)
    const later = await beat(world, BEN)
    await beat(world, ANNA)
    await world.lanes.deleteLease(ANNA)
    const retired = await beat(world, BEN)

    assert.deepEqual([alone, [...both].sort(), later, retired], [[ANNA], [ANNA, BEN], [BEN], [BEN]])
    await world.close()
  })

  it('G4: claims no paused lane, except to end its open attempt', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await world.administration.setConnectionState(sender.connectionId, 'paused', 'test')
    const without = await claim(world, ANNA)

    await world.administration.setConnectionState(sender.connectionId, 'active', 'test')
    const again = await holdLane(world, ANNA, sender.connectionId)
    await open(world, again, message)
    await world.administration.setConnectionState(sender.connectionId, 'paused', 'test')
    const [withOne] = await claim(world, ANNA)

    assert.deepEqual(without, [])
    assert.equal(lane.mayOpen, true)
    assert.equal(withOne?.mayOpen, false)
    assert.equal(withOne.open?.message.sequence, message.sequence)
    await world.close()
  })

  it('G4: finds the attempt that was open when its worker died, and counts the crash', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)

    await world.clock.pass(CLAIM_MS)
    const his = await holdLane(world, BEN, sender.connectionId)
    await world.clock.pass(CLAIM_MS)
    const hers = await holdLane(world, ANNA, sender.connectionId)

    assert.deepEqual([his.open?.number, his.open?.crashes], [1, 1])
    assert.equal(hers.open?.crashes, 2)
    await world.close()
  })

  it('G10: shows in the timeline of a message that Nuncio stopped during its attempt, and not that it waited for evidence', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)

    await world.clock.pass(CLAIM_MS)
    const his = await holdLane(world, BEN, sender.connectionId)
    const close = {
      attempt: attempt(world, message, 'unknown'),
      disposition: { do: 'await-evidence', until: world.clock.now() + 60_000, words: 'reset' },
    } as const
    await world.lanes.record(step(world, his, { finish: close }))
    await world.clock.pass(CLAIM_MS)
    await holdLane(world, ANNA, sender.connectionId)

    const { timeline } = await world.administration.explainMessage(message.id)
    assert.deepEqual(
      timeline.filter(({ kind }) => kind === 'recovered').map(({ facts }) => facts),
      [{ attempt: 1 }],
    )
    await world.close()
  })

  it('counts no crash against an attempt that only waits for evidence, and keeps its deadline', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const until = world.clock.now() + 60_000
    const close = {
      attempt: attempt(world, message, 'unknown'),
      disposition: { do: 'await-evidence', until, words: 'reset' },
    } as const
    await world.lanes.record(step(world, lane, { finish: close }))

    await world.clock.pass(CLAIM_MS)
    const his = await holdLane(world, BEN, sender.connectionId)

    assert.deepEqual([his.open?.crashes, his.open?.evidenceUntil], [0, until])
    await world.close()
  })

  it('G10: shows once that an attempt was cut off, when, and then how the wait for evidence ended', async () => {
    const { world, sender } = await waiting(newWorld)
    await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const stories = []
    for (const end of ['accepted', 'unknown'] as const) {
      const message = await head(world, sender.connectionId)
      await open(world, lane, message)
      const begun = attempt(world, message, 'unknown')
      await world.clock.pass(15)
      const broken = { ...begun, endedAt: world.clock.now() }
      const until = world.clock.now() + 60_000
      const close = { attempt: broken, disposition: { do: 'await-evidence', until, words: 'reset' } } as const
      await world.lanes.record(step(world, lane, { finish: close }))
      await world.lanes.record(step(world, lane, { finish: close }))
      const meanwhile = await timelineOf(world, message.id)
      await world.clock.pass(1_800)
      const code = end === 'accepted' ? 'evidence_found' : 'result_unknown'
      const found = { ...attempt(world, message, end), startedAt: begun.startedAt, code, words: null }
      const unconfirmed = { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: null } as const
      const disposition = end === 'accepted' ? AS_PUBLISHED : unconfirmed
      await world.lanes.record(step(world, lane, { finish: { attempt: found, disposition } }))
      const { timeline } = await world.administration.explainMessage(message.id)
      const entries = timeline.map(({ at, kind, code: reported, words }) => [
        at - begun.startedAt,
        kind,
        reported,
        words,
      ])
      stories.push({ meanwhile, entries: entries.slice(1) })
    }

    const begun = ['accepted', 'attempt-begun', 'attempt-unknown']
    const broke = [
      [0, 'attempt-begun', null, null],
      [15, 'attempt-unknown', null, 'reset'],
    ]
    assert.deepEqual(stories, [
      {
        meanwhile: begun,
        entries: [...broke, [1_815, 'attempt-accepted', 'evidence_found', null], [1_815, 'settled', null, null]],
      },
      {
        meanwhile: ['accepted', 'waiting', 'attempt-begun', 'attempt-unknown'],
        entries: [
          // The wait for evidence of the first message.
          [0, 'waiting', 'behind_others', null],
          ...broke,
          [1_815, 'evidence', null, null],
          [1_815, 'settled', 'result_unknown', null],
        ],
      },
    ])
    await world.close()
  })

  it('G5: waits only for evidence of the open attempt, and of no earlier one', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const late = {
      attempt: attempt(world, message, 'unknown'),
      disposition: { do: 'await-evidence', until: world.clock.now() + 60_000, words: 'reset' },
    } as const
    const close = { attempt: attempt(world, message, 'rejected'), disposition: KEEP }
    const again = { sequence: message.sequence, number: 2 }
    await world.lanes.record(step(world, lane, { finish: close, start: again }))

    const result = await world.lanes.record(step(world, lane, { finish: late }))
    const found = await world.lanes.inspect(lane)

    assert.deepEqual(result, { fenced: true })
    assert.deepEqual([found?.open?.number, found?.open?.evidenceUntil], [2, null])
    await world.close()
  })

  it('G12: treats an attempt that was open while all lanes were held as unknown, and no later one', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    await world.administration.holdLanes('why', 'test')
    await world.administration.releaseHold('test')
    await world.clock.pass(CLAIM_MS)
    const his = await holdLane(world, BEN, sender.connectionId)
    await accept(world, sender)
    await world.lanes.record(step(world, his, { finish: settled(world, message) }))
    await open(world, his, await head(world, sender.connectionId))
    await world.clock.pass(CLAIM_MS)
    const hers = await holdLane(world, ANNA, sender.connectionId)

    assert.deepEqual([his.open?.isPossiblySuperseded, hers.open?.isPossiblySuperseded], [true, false])
    await world.close()
  })
}

function stepsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('G6: writes nothing under an epoch that has moved on', async () => {
    const { world, sender, id } = await waiting(newWorld)
    const late = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, late, message)
    await world.clock.pass(CLAIM_MS)
    const his = await holdLane(world, BEN, sender.connectionId)
    const memory = { head: null, failureStreak: null, wait: { reason: 'paused', words: null, until: null } }

    const results = [
      await world.lanes.record(step(world, late, { finish: settled(world, message), memory })),
      await world.lanes.record(
        step(world, late, { discard: { sequence: message.sequence, as: 'FAILED', reason: 'busy', words: null } }),
      ),
      await open(world, late, message),
    ]

    assert.deepEqual(results, [{ fenced: true }, { fenced: true }, { fenced: true }])
    assert.equal(await stateOf(world, id), 'SENDING')
    const now = await world.lanes.inspect(his)
    assert.equal(now?.open?.message.sequence, message.sequence)
    assert.equal(now.memory.wait, null)
    await world.close()
  })

  it('G4: settles one message and opens the next in one step', async () => {
    const { world, sender, id } = await waiting(newWorld)
    const second = await accept(world, sender, { text: 'second' })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const [one, two] = await world.lanes.fetchNext(sender.connectionId, 2, 0)
    await open(world, lane, one!)

    const result = await world.lanes.record(
      step(world, lane, { finish: settled(world, one!), start: { sequence: two!.sequence, number: 1 } }),
    )

    assert.deepEqual(result, { fenced: false, started: true })
    assert.deepEqual([await stateOf(world, id), await stateOf(world, second)], ['PUBLISHED', 'SENDING'])
    assert.deepEqual(await timelineOf(world, id), ['accepted', 'attempt-begun', 'attempt-accepted', 'settled'])
    await world.close()
  })

  it('G2: opens no second attempt of a connection', async () => {
    const { world, sender } = await waiting(newWorld)
    await accept(world, sender, { text: 'second' })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const [one, two] = await world.lanes.fetchNext(sender.connectionId, 2, 0)
    await open(world, lane, one!)

    const opened = await open(world, lane, two!).then(
      (result) => !result.fenced && result.started,
      () => false,
    )

    assert.equal(opened, false)
    assert.equal((await world.lanes.inspect(lane))?.open?.message.sequence, one!.sequence)
    await world.close()
  })

  it('G4: answers a repeated opening like the first, because the first answer may have been lost', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)

    const answers = [await open(world, lane, message), await open(world, lane, message)]

    assert.deepEqual(answers, [
      { fenced: false, started: true },
      { fenced: false, started: true },
    ])
    await world.close()
  })

  it('G6: fences a repeated end of an attempt, whatever the first one wrote', async () => {
    const { world, sender, id } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const close = { attempt: attempt(world, message, 'rejected'), disposition: KEEP }
    const again = step(world, lane, { finish: close, start: { sequence: message.sequence, number: 2 } })

    const answers = [await world.lanes.record(again), await world.lanes.record(again)]

    assert.deepEqual(answers, [{ fenced: false, started: true }, { fenced: true }])
    assert.equal((await world.lanes.inspect(lane))?.open?.number, 2)
    assert.equal(await stateOf(world, id), 'SENDING')
    await world.close()
  })

  it('opens no attempt if another process has cancelled the message or paused the connection', async () => {
    const { world, sender, id } = await waiting(newWorld)
    await accept(world, sender, { text: 'second' })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const [one, two] = await world.lanes.fetchNext(sender.connectionId, 2, 0)

    await world.administration.cancelMessage(id, 'test')
    const cancelled = await open(world, lane, one!)
    await world.administration.setConnectionState(sender.connectionId, 'paused', 'test')
    const paused = await open(world, lane, two!)

    assert.deepEqual(
      [cancelled, paused],
      [
        { fenced: false, started: false },
        { fenced: false, started: false },
      ],
    )
    await world.close()
  })

  it('G3: always begins with the lowest unfinished message, also after a retry', async () => {
    const { world, sender } = await waiting(newWorld)
    await accept(world, sender, { text: 'second' })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const first = await head(world, sender.connectionId)
    await open(world, lane, first)
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, first, 'rejected'), disposition: KEEP } }),
    )

    const again = await head(world, sender.connectionId)
    await open(world, lane, again)
    await world.lanes.record(
      step(world, lane, {
        finish: settled(world, again),
        passed: [{ after: 0, through: again.sequence, deferred: [] }],
      }),
    )

    assert.deepEqual([again.sequence, again.attempts], [first.sequence, 1])
    assert.ok((await head(world, sender.connectionId)).sequence > first.sequence)
    await world.close()
  })

  it('G3: starts a message without a known predecessor only if nothing waits before it', async () => {
    const { world, sender } = await waiting(newWorld)
    for (const text of ['second', 'third']) await accept(world, sender, { text })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const [one, two, three] = await world.lanes.fetchNext(sender.connectionId, 3, 0)
    const unseen = (message: typeof one) => ({ sequence: message!.sequence, number: 1, knownThrough: 0 })
    const closing = (message: typeof one) => ({
      finish: settled(world, message!),
      passed: [{ after: 0, through: message!.sequence, deferred: [] }],
    })

    const results = [
      await world.lanes.record(step(world, lane, { start: unseen(two) })),
      await world.lanes.record(step(world, lane, { start: unseen(one) })),
      await world.lanes.record(step(world, lane, { ...closing(one), start: unseen(three) })),
      await world.lanes.record(step(world, lane, { start: unseen(two) })),
      await world.lanes.record(step(world, lane, { ...closing(two), start: unseen(three) })),
    ]

    assert.deepEqual(
      results.map((result) => !result.fenced && result.started),
      [false, true, false, true, true],
    )
    await world.close()
  })

  it('G3: drops a message in the same step that ends the attempt before it', async () => {
    const { world, sender } = await waiting(newWorld)
    const second = await accept(world, sender, { text: 'second' })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const [one, two] = await world.lanes.fetchNext(sender.connectionId, 2, 0)
    await open(world, lane, one!)

    const drop = { sequence: two!.sequence, as: 'EXPIRED', reason: 'time_to_live_over', words: null } as const
    await world.lanes.record(step(world, lane, { finish: settled(world, one!), discard: drop }))

    assert.equal(await stateOf(world, second), 'EXPIRED')
    assert.deepEqual(await world.lanes.fetchNext(sender.connectionId, 10, 0), [])
    await world.close()
  })

  it('loses no waiting message if a lane reports that it has finished it', async () => {
    const { world, sender } = await waiting(newWorld)
    await accept(world, sender, { text: 'second' })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const [one, two] = await world.lanes.fetchNext(sender.connectionId, 2, 0)
    await open(world, lane, one!)

    await world.lanes.record(
      step(world, lane, { finish: settled(world, one!), passed: [{ after: 0, through: two!.sequence, deferred: [] }] }),
    )
    await world.clock.pass(1_000)

    assert.equal((await head(world, sender.connectionId)).sequence, two!.sequence)
    await world.close()
  })

  it('keeps what a lane has stored over a takeover', async () => {
    const { world, sender } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const memory = {
      failureStreak: { failures: 2, since: 17, messages: 1 },
      wait: { reason: 'trouble', words: 'busy', until: world.clock.now() + 5_000 },
    }
    await world.lanes.record(step(world, lane, { memory }))

    await world.clock.pass(CLAIM_MS)

    assert.deepEqual((await holdLane(world, BEN, sender.connectionId)).memory, memory)
    await world.close()
  })

  it('keeps the start of the last attempt of a paced lane over a takeover', async () => {
    const world = await newWorld()
    const sender = await addSender(world, { policy: { leastGapMs: 60_000 } })
    await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const beganAt = world.clock.now()
    const start = { sequence: (await head(world, sender.connectionId)).sequence, number: 1 }
    await world.lanes.record(step(world, lane, { start, notesAttempt: true }))

    await world.clock.pass(CLAIM_MS)

    assert.equal((await holdLane(world, BEN, sender.connectionId)).lastAttemptAt, beganAt)
    await world.close()
  })

  it('cancels a message that would wait for its next attempt on a removed connection', async () => {
    const { world, sender, id } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    await world.administration.removeConnection(sender.connectionId, true, 'test')

    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message, 'rejected'), disposition: KEEP } }),
    )

    assert.equal(await stateOf(world, id), 'CANCELLED')
    await world.close()
  })
}

function orphansKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('G5: does not report a message as cancelled that may have arrived when its connection is removed', async () => {
    const { world, sender, id } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const close = { attempt: attempt(world, message, 'unknown'), disposition: KEEP }
    const again = { sequence: message.sequence, number: 2 }
    await world.lanes.record(step(world, lane, { finish: close, start: again }))
    await world.administration.removeConnection(sender.connectionId, true, 'test')

    const second = { attempt: attempt(world, { ...message, attempts: 1 }, 'rejected'), disposition: KEEP }
    await world.lanes.record(step(world, lane, { finish: second }))

    assert.equal(await stateOf(world, id), 'UNCONFIRMED')
    await world.close()
  })
}

function expiryKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it('expires messages past their time at any place in the lane, but not during an attempt', async () => {
    const world = await newWorld()
    const sender = await addSender(world, { policy: { timeToLiveMs: 60_000 } })
    const old = [await accept(world, sender), await accept(world, sender), await accept(world, sender)]
    const lane = await holdLane(world, ANNA, sender.connectionId)
    await open(world, lane, await head(world, sender.connectionId))
    await world.clock.pass(60_000)
    const young = await accept(world, sender)

    const [one, other, none] = [await world.lanes.expire(2), await world.lanes.expire(10), await world.lanes.expire(10)]

    assert.equal(one + other, 2)
    assert.equal(none, 0)
    const states = await Promise.all([...old, young].map((id) => stateOf(world, id)))
    assert.deepEqual(states, ['SENDING', 'EXPIRED', 'EXPIRED', 'QUEUED'])
    await world.close()
  })

  it('G12: expires nothing while all lanes are held, and continues after a person has released them', async () => {
    const world = await newWorld()
    const sender = await addSender(world, { policy: { timeToLiveMs: 60_000 } })
    const id = await accept(world, sender)
    await world.administration.holdLanes('restored', 'test')
    await world.clock.pass(60_000)

    const held = [await world.lanes.expire(10), await stateOf(world, id)]
    await world.administration.releaseHold('test')
    const released = [await world.lanes.expire(10), await stateOf(world, id)]

    assert.deepEqual(
      [held, released],
      [
        [0, 'QUEUED'],
        [1, 'EXPIRED'],
      ],
    )
    await world.close()
  })

  it('G5: reports a message that may have arrived neither as expired nor as going to be sent', async () => {
    const world = await newWorld()
    const sender = await addSender(world, { policy: { timeToLiveMs: 60_000 } })
    const id = await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message, 'unknown'), disposition: KEEP } }),
    )

    await world.clock.pass(60_000)
    await world.lanes.expire(10)

    assert.equal(await stateOf(world, id), 'UNCONFIRMED')
    await world.close()
  })
}

function receiptsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('moves a message forward by reports of its network, and never back', async () => {
    const { world, sender, id } = await published(newWorld)
    const about = { connectionId: sender.connectionId, messageId: id }

    const states: string[] = []
    const answers: string[] = []
    for (const kind of ['delivered', 'read', 'delivered', 'failed'] as const) {
      answers.push(await world.lanes.applyReceipt(report(world, { ...about, kind })))
      states.push(await stateOf(world, id))
    }

    assert.deepEqual(answers, ['applied', 'applied', 'applied', 'contradicted'])
    assert.deepEqual(states, ['DELIVERED', 'READ', 'READ', 'READ'])
    assert.ok((await timelineOf(world, id)).includes('receipt-contrary'))
    await world.close()
  })

  it('wants a report again later while its attempt is open', async () => {
    const { world, sender, id } = await waiting(newWorld)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    await open(world, lane, await head(world, sender.connectionId))

    const about = { connectionId: sender.connectionId, messageId: id }
    const result = await world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered' }))

    assert.equal(result, 'too-early')
    await world.close()
  })

  it('recognises a report about no known message', async () => {
    const world = await newWorld()
    const { connectionId } = await addSender(world)

    const messageId = 'unknown' as Parameters<typeof stateOf>[1]
    const result = await world.lanes.applyReceipt(report(world, { connectionId, messageId, kind: 'read' }))

    assert.equal(result, 'message-unknown')
    await world.close()
  })
}

async function waiting(newWorld: NewWorld) {
  const world = await newWorld()
  const sender = await addSender(world)
  const id = await accept(world, sender)
  return { world, sender, id }
}

async function published(
  newWorld: NewWorld,
): Promise<{ world: StorageWorld; sender: Sender; id: Awaited<ReturnType<typeof accept>> }> {
  const { world, sender, id } = await waiting(newWorld)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.lanes.record(
    step(world, lane, { finish: { attempt: attempt(world, message), disposition: AS_PUBLISHED } }),
  )
  return { world, sender, id }
}

function ids(lanes: Awaited<ReturnType<typeof claim>>) {
  return lanes.map((lane) => lane.connectionId)
}
