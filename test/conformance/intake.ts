import assert from 'node:assert/strict'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { SummedRefusals } from '../../src/core/ports/intake.ts'
import { presentReply } from '../../src/http/console-api/log/present-exchange.ts'
import { stateOfReplay } from '../../src/http/server/state-of-replay.ts'
import { createApiLog } from '../../src/storage/queries/api-log/api-log.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addConnection,
  addSender,
  attempt,
  candidate,
  countMessages,
  head,
  holdLane,
  type NewWorld,
  open,
  report,
  SENDER,
  type StorageWorld,
  type Suite,
  stateOf,
  step,
  timelineOf,
} from './storage-world.ts'

const HOUR = 3_600_000
const RACERS = 50
const POLL_EVERY_MS = 50
const LONGEST_REST_MS = 20_000

/** What every engine promises about accepting messages. */
export function intakeKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it('G1: answers accepted only after another process can see the message', async () => {
    const world = await newWorld()
    const sender = await addSender(world)

    const before = await countMessages(world)
    const accepted = await world.intake.accept(candidate(world, sender, { text: 'durable' }))

    assert.equal(before, 0)
    assert.equal(accepted.kind, 'accepted')
    assert.equal(await countMessages(world), 1)
    await world.close()
  })

  it('G1: answers commit_unknown, never accepted, if the commit itself fails', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await world.breakCommits()

    const result = await world.intake.accept(candidate(world, sender))

    assert.deepEqual(result, { kind: 'unavailable', code: 'commit_unknown' })
    await world.close()
  })

  it('G11: answers not_accepted on a full disk, leaves nothing behind, and accepts again when there is room', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const makeRoom = await world.fillDisk()

    const long = 'x'.repeat(60_000)
    const refused = await world.intake.accept(candidate(world, sender, { text: long }))
    const logged = await world.intake.logRefused({
      ...candidate(world, sender),
      status: 400,
      code: 'HC-2',
      errors: '[]',
      body: long,
    })
    await makeRoom()
    const accepted = await world.intake.accept(candidate(world, sender, { text: long }))

    assert.deepEqual(refused, { kind: 'unavailable', code: 'not_accepted' })
    assert.equal(logged, false)
    assert.equal(accepted.kind, 'accepted')
    assert.equal(await countMessages(world), 1)
    await world.close()
  })

  it('G8 G10: stores how many requests were refused, and counts nothing twice in a retry', async () => {
    const world = await newWorld()
    const { accountId, tokenId } = await addSender(world)
    const [since, until] = [world.clock.now() - 5_000, world.clock.now()]
    const sum = (requestId: string, requests: number): SummedRefusals => ({
      ...{ requestId, accountId, tokenId, status: 429, code: 'HC-5', errors: '[]', requests, since, until },
    })

    const keep = (...sums: SummedRefusals[]) => Promise.all(sums.map((one) => world.intake.logSummed(one)))

    assert.deepEqual(await keep(sum('a', 3), sum('b', 70_000)), [true, true])
    assert.deepEqual(await keep(sum('b', 70_000), sum('c', 1)), [true, true])

    const span = 'cast(received_at - summed_since as integer) as span'
    const columns = `request_id, status, ${span}, summed_requests, body, remote_address, user_agent`
    assert.deepEqual(
      (await world.sql(`select ${columns} from request order by request_id`)).map((row) => Object.values(row)),
      [
        ['a', 429, 5_000, 3, null, null, null],
        ['b', 429, 5_000, 70_000, null, null, null],
        ['c', 429, 5_000, 1, null, null, null],
      ],
    )
    await world.close()
  })

  it('G10: does not report that a token was used after its end only because of later requests in the same sum', async () => {
    const world = await newWorld()
    const { accountId, tokenId } = await addSender(world)
    const [since, until] = [world.clock.now() - 5_000, world.clock.now()]
    const sum = { accountId, tokenId, status: 429, code: 'HC-5', errors: '[]', requests: 3, since, until }
    await world.intake.logSummed({ ...sum, requestId: 'a' })
    const usedAfter = (expiresAt: number) =>
      world.watch.readExpiredUse([
        {
          id: tokenId,
          accountId,
          name: 'web',
          prefix: 'web',
          createdAt: 0,
          expiresAt,
          lastUsedAt: null,
          hasSuccessor: false,
        },
      ])

    assert.deepEqual(await usedAfter(since + 1), [])
    assert.deepEqual(await usedAfter(since), [{ tokenId, lastAt: since }])
    await world.close()
  })

  it('G11: reports that sums were not stored on a full disk', async () => {
    const world = await newWorld()
    const { accountId, tokenId } = await addSender(world)
    const makeRoom = await world.fillDisk()
    const now = world.clock.now()
    const errors = 'x'.repeat(60_000)
    const sum = { accountId, tokenId, status: 429, code: 'HC-5', errors, requests: 3, since: now, until: now }

    assert.equal(await world.intake.logSummed({ ...sum, requestId: 'a' }), false)
    await makeRoom()
    assert.equal(await world.intake.logSummed({ ...sum, requestId: 'a' }), true)
    await world.close()
  })

  it('G11: does not let a row that cannot be stored fail the others of its batch', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const bad = candidate(world, sender)
    const unstorable = { ...bad, facts: { ...bad.facts, userAgent: Symbol('none') as unknown as string } }

    const results = await Promise.allSettled([
      world.intake.accept(candidate(world, sender, { text: 'before' })),
      world.intake.accept(unstorable),
      world.intake.accept(candidate(world, sender, { text: 'after' })),
    ])

    assert.deepEqual(
      results.map((result) => (result.status === 'fulfilled' ? result.value.kind : 'failed')),
      ['accepted', 'failed', 'accepted'],
    )
    assert.equal(await countMessages(world), 2)
    await world.close()
  })

  it('G7: refuses under a token that another process deleted between the look-up and the acceptance', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await accept(world, sender)
    const token = await world.intake.findToken(sender.sha256)

    await world.administration.deleteToken(sender.tokenId, null, 'test')
    const result = await world.intake.accept(candidate(world, sender))

    assert.ok(token)
    assert.deepEqual(result, { kind: 'refused', code: 'unauthorized' })
    assert.equal(await countMessages(world), 1)
    await world.close()
  })

  it('G7: refuses for a connection that another process removed between the look-up and the acceptance', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await accept(world, sender)

    await world.administration.removeConnection(sender.connectionId, true, 'test')
    const result = await world.intake.accept(candidate(world, sender))

    assert.deepEqual(result, { kind: 'refused', code: 'connection_not_found' })
    await world.close()
  })

  it('G7: shows the deletion of a token in the look-up', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const before = await world.intake.findToken(sender.sha256)

    await world.administration.deleteToken(sender.tokenId, null, 'test')

    assert.equal(before?.deletedAt, null)
    // The look-up may be a second old, because `accept` checks again. An engine with a shorter delay has its own test for it.
    await learns(world, async () => typeof (await world.intake.findToken(sender.sha256))?.deletedAt === 'number')
    await world.close()
  })

  it('finds no token where there is none', async () => {
    const world = await newWorld()

    assert.equal(await world.intake.findToken(Buffer.alloc(32, 9)), null)
    await world.close()
  })

  it('refuses under a token that has expired meanwhile', async () => {
    const world = await newWorld()
    const sender = await addSender(world)

    await world.clock.pass(30 * 24 * HOUR)

    assert.deepEqual(await world.intake.accept(candidate(world, sender)), { kind: 'refused', code: 'unauthorized' })
    await world.close()
  })

  it('accepts for a paused connection, and its message waits', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await world.administration.setConnectionState(sender.connectionId, 'paused', 'test')

    assert.equal(await stateOf(world, await accept(world, sender)), 'QUEUED')
    await world.close()
  })

  it('G8: does not know the connection of another account', async () => {
    const world = await newWorld()
    const [sender, stranger] = [await addSender(world), await addSender(world, { number: '15550002000' })]

    const result = await world.intake.accept(candidate(world, { ...sender, number: stranger.number }))

    assert.deepEqual(result, { kind: 'refused', code: 'connection_not_found' })
    await world.close()
  })

  it('G3: keeps the order of the calls, over connections and commits', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const other = { ...sender, number: '15550002000' }
    const otherConnection = await addConnection(world, sender.accountId, { number: other.number })

    for (let batch = 0; batch < 3; batch++) {
      await Promise.all([0, 1, 2, 3].map((i) => accept(world, i % 2 === 0 ? sender : other, { text: `${batch}.${i}` })))
    }
    const runs = [
      await world.lanes.fetchNext(sender.connectionId, 100, 0),
      await world.lanes.fetchNext(otherConnection, 100, 0),
    ]

    const texts = runs.map((run) => run.map(({ content }) => (content?.type === 'message' ? content.text : null)))
    assert.deepEqual(texts, [
      ['0.0', '0.2', '1.0', '1.2', '2.0', '2.2'],
      ['0.1', '0.3', '1.1', '1.3', '2.1', '2.3'],
    ])
    await world.close()
  })

  it('keeps the text byte for byte', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const text = '  Žluťoučký 👩‍👩‍👧 \u00a0 \t e\u0301 vs é\n'

    await accept(world, sender, { text })

    assert.deepEqual((await head(world, sender.connectionId)).content, { type: 'message', text })
    await world.close()
  })

  idempotencyKeepsItsPromises({ it }, newWorld)
  limitsKeepTheirPromises({ it }, newWorld)
}

/** Waits until the condition holds: at the next turn, or within the time that the engine may need to learn of a change. */
async function learns(world: StorageWorld, isSo: () => boolean | Promise<boolean>): Promise<void> {
  const { clock, hintsAgeMs } = world
  const began = performance.now()
  await setImmediate()
  let passedMs = 0
  while (!(await isSo())) {
    // Some time of the real clock counts too: a count rests after one that took long, and queries take time.
    const mayWait = passedMs < 4 * hintsAgeMs || (hintsAgeMs > 0 && performance.now() - began < LONGEST_REST_MS)
    assert.ok(mayWait, `it is not so after ${passedMs} ms`)
    await clock.pass(POLL_EVERY_MS)
    passedMs += POLL_EVERY_MS
    await setTimeout(POLL_EVERY_MS / 5)
  }
}

function idempotencyKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it(`makes one message of ${RACERS} equal requests at once`, async () => {
    const world = await newWorld()
    const sender = await addSender(world)

    const results = await Promise.all(
      Array.from({ length: RACERS }, () => world.intake.accept(candidate(world, sender, { key: 'once' }))),
    )

    const ids = new Set(results.map((result) => ('messageId' in result ? result.messageId : result.kind)))
    assert.equal(ids.size, 1)
    assert.equal(results.filter((result) => result.kind === 'accepted').length, 1)
    assert.equal(await countMessages(world), 1)
    await world.close()
  })

  it('answers a repeat with the first message and its current state, and adds it to the timeline', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const id = await accept(world, sender, { key: 'once' })
    const message = await head(world, sender.connectionId)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    await open(world, lane, message)
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message), disposition: AS_PUBLISHED } }),
    )

    const repeated = await world.intake.accept(candidate(world, sender, { key: 'once' }))

    assert.deepEqual(repeated, { kind: 'replayed', messageId: id, state: 'PUBLISHED' })
    assert.ok((await timelineOf(world, id)).includes('repeated'))
    await world.close()
  })

  it('G10: shows later how a repeat was answered, whatever times the network reports', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const id = await accept(world, sender, { key: 'once' })
    const about = { connectionId: sender.connectionId, messageId: id }
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message), disposition: AS_PUBLISHED } }),
    )
    const publishedAt = world.clock.now()
    const answers: string[] = []
    const repeat = async () => {
      const asked = candidate(world, sender, { key: 'once' })
      const facts = { ...asked.facts, requestId: `repeat-${answers.length}` }
      const answer = await world.intake.accept({ ...asked, facts })
      answers.push(answer.kind === 'replayed' ? stateOfReplay(answer.state) : answer.kind)
    }

    await world.clock.pass(HOUR)
    await repeat()
    await world.lanes.applyReceipt(report(world, { ...about, kind: 'failed', at: publishedAt + 1 }))
    await repeat()
    await world.lanes.applyReceipt(report(world, { ...about, kind: 'delivered', at: publishedAt + 2 }))
    await repeat()

    assert.deepEqual(answers, ['PUBLISHED', 'QUEUED', 'PUBLISHED'])
    const log = createApiLog(world.store)
    const shown = answers.map(async (_, n) => {
      const reply = presentReply(await log.readEntry(sender.accountId, `repeat-${n}`))
      return JSON.parse(reply?.body ?? '').data.state
    })
    assert.deepEqual(await Promise.all(shown), answers)
    await world.close()
  })

  it('refuses a key that comes again with another message', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await accept(world, sender, { key: 'once' })

    const result = await world.intake.accept(candidate(world, sender, { key: 'once', fingerprint: 'other' }))

    assert.deepEqual(result, { kind: 'refused', code: 'idempotency_key_reused' })
    await world.close()
  })

  it('G8: keeps the keys of accounts apart', async () => {
    const world = await newWorld()
    const [sender, stranger] = [await addSender(world), await addSender(world)]

    const [one, other] = [await accept(world, sender, { key: 'once' }), await accept(world, stranger, { key: 'once' })]

    assert.notEqual(one, other)
    await world.close()
  })

  it('keeps a key for 24 hours and no longer', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await accept(world, sender, { key: 'once' })

    await world.clock.pass(24 * HOUR - 1)
    const [known, repeated] = [
      await world.intake.namesMessage(sender.accountId, 'once'),
      await world.intake.accept(candidate(world, sender, { key: 'once' })),
    ]
    await world.clock.pass(1)
    const [forgotten, anew] = [
      await world.intake.namesMessage(sender.accountId, 'once'),
      await world.intake.accept(candidate(world, sender, { key: 'once', fingerprint: 'other' })),
    ]

    assert.deepEqual([known, repeated.kind], [true, 'replayed'])
    assert.deepEqual([forgotten, anew.kind], [false, 'accepted'])
    await world.close()
  })

  it('binds no key to a refused request', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await world.intake.accept(candidate(world, { ...sender, number: '15559999999' }, { key: 'once' }))

    assert.equal(
      (await world.intake.accept(candidate(world, sender, { key: 'once', fingerprint: 'other' }))).kind,
      'accepted',
    )
    await world.close()
  })

  it('answers a known key even after its connection was removed', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const id = await accept(world, sender, { key: 'once' })
    await world.administration.removeConnection(sender.connectionId, true, 'test')

    const repeated = await world.intake.accept(candidate(world, sender, { key: 'once' }))

    assert.deepEqual(repeated, { kind: 'replayed', messageId: id, state: 'CANCELLED' })
    await world.close()
  })
}

function limitsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('reports when a connection or its account has reached its limit of waiting messages', async () => {
    const world = await newWorld({ maxWaitingPerConnection: 2, maxWaitingPerAccount: 3 })
    const sender = await addSender(world)
    const other = { ...sender, number: '15550002000' }
    await addConnection(world, sender.accountId, { number: other.number })
    const isFull = (number: string) => world.intake.isBacklogFull(sender.accountId, number)

    assert.equal(isFull(sender.number), null)
    await accept(world, sender)
    await accept(world, sender)
    await learns(world, () => isFull(sender.number) === 'connection_backlog_full')
    assert.equal(isFull(other.number), null)
    await accept(world, other)
    await learns(world, () => isFull(other.number) === 'account_backlog_full')
    await world.close()
  })

  it('has room again after a message no longer waits', async () => {
    const world = await newWorld({ maxWaitingPerConnection: 1 })
    const sender = await addSender(world)
    const isFull = () => world.intake.isBacklogFull(sender.accountId, SENDER) !== null
    await accept(world, sender)
    await learns(world, isFull)
    const message = await head(world, sender.connectionId)
    const lane = await holdLane(world, ANNA, sender.connectionId)

    await open(world, lane, message)
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message), disposition: AS_PUBLISHED } }),
    )

    await learns(world, () => !isFull())
    await world.close()
  })

  it('takes 0 as no limit', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    await accept(world, sender)

    assert.equal(world.intake.isBacklogFull(sender.accountId, SENDER), null)
    await world.close()
  })
}
