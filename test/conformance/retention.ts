import assert from 'node:assert/strict'
import type { AccountId, MessageId } from '../../src/core/ids.ts'
import type { Removed, RetentionStep } from '../../src/core/ports/retention.ts'
import type { SweepTimes } from '../../src/core/retention/plan-sweep.ts'
import type { OwnTimes } from '../../src/core/retention/retention-times.ts'
import { runSweep } from '../../src/core/retention/run-sweep.ts'
import {
  ANNA,
  accept,
  addSender,
  attempt,
  candidate,
  head,
  holdLane,
  type NewWorld,
  open,
  type Sender,
  type StorageWorld,
  type Suite,
  settled,
  step,
} from './storage-world.ts'

const DAY_MS = 86_400_000
export const TIMES: SweepTimes = { bodiesDays: 30, messagesDays: 90, auditDays: 400 }

export function newSender(world: StorageWorld): Promise<Sender> {
  return addSender(world, { tokenLastsDays: 700 })
}

/** Lets days pass. Only the first and the last of them get a partition, because creating one takes a while. */
export async function passDays(world: StorageWorld, days: number): Promise<void> {
  await world.clock.pass(DAY_MS)
  await world.openDay()
  if (days === 1) return
  await world.clock.pass((days - 1) * DAY_MS)
  await world.openDay()
}

export async function sweep(
  world: StorageWorld,
  given: Partial<SweepTimes> & {
    who?: string
    steps?: number
    mostRows?: number
    onStep?: (step: RetentionStep) => void
  } = {},
): Promise<Removed | null> {
  const { retention } = world
  const {
    who = 'anna',
    steps = Number.POSITIVE_INFINITY,
    mostRows = retention.mostRows,
    onStep = () => {},
    ...times
  } = given
  let done = 0
  const swept = await runSweep({
    storage: {
      aimMs: retention.aimMs,
      mostRows,
      read: (now) => retention.read(now),
      readOwnTimes: () => retention.readOwnTimes(),
      acquireLease: (...turn) => retention.acquireLease(...turn),
      releaseLease: (by) => retention.releaseLease(by),
      postpone: (...until) => retention.postpone(...until),
      finish: (...last) => retention.finish(...last),
      async step(task, how) {
        const taken = await retention.step(task, how)
        onStep(taken)
        return taken
      },
    },
    times: { ...TIMES, ...times },
    worker: who,
    now: () => world.clock.now(),
    rest: async () => ++done < steps,
  })
  return swept?.removed ?? null
}

/** Accepts a message that the network accepts at once. */
export async function publish(
  world: StorageWorld,
  sender: Sender,
  given: Parameters<typeof accept>[2] = {},
): Promise<MessageId> {
  const id = await accept(world, sender, given)
  await world.clock.pass(1)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  await world.lanes.record(step(world, lane, { finish: settled(world, message) }))
  return id
}

/** Hands a message over with an unknown result. */
async function lose(world: StorageWorld, sender: Sender): Promise<MessageId> {
  const id = await accept(world, sender)
  await world.clock.pass(1)
  const lane = await holdLane(world, ANNA, sender.connectionId)
  const message = await head(world, sender.connectionId)
  await open(world, lane, message)
  const disposition = { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: null } as const
  await world.lanes.record(step(world, lane, { finish: { attempt: attempt(world, message, 'unknown'), disposition } }))
  return id
}

async function refuse(world: StorageWorld, sender: Sender, requestId: string): Promise<void> {
  const { facts, tokenId, accountId } = candidate(world, sender)
  await world.intake.logRefused({
    facts: { ...facts, requestId },
    tokenId,
    accountId,
    status: 400,
    code: 'HC-2',
    errors: '[]',
    body: '{"to":"secret"}',
  })
}

export async function bodyOf(world: StorageWorld, id: MessageId): Promise<string | null> {
  const [row] = await world.sql(`select body from message where id = '${id}'`)
  return (row?.['body'] as string | undefined) ?? null
}

async function countOf(world: StorageWorld, table: string): Promise<number> {
  const [row] = await world.sql(`select count(*) as rows from ${table}`)
  return Number(row?.['rows'])
}

function setOwn(world: StorageWorld, id: AccountId, { bodiesDays, messagesDays }: OwnTimes) {
  return world.sql(`insert into account_retention values ('${id}', ${bodiesDays}, ${messagesDays})`)
}

export function retentionKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it('deletes a body at its age, and not a millisecond sooner', async () => {
    const world = await newWorld()
    const sender = await newSender(world)
    const id = await publish(world, sender, { media: true })
    await passDays(world, 30)
    const [row] = await world.sql(`select accepted_at from message where id = '${id}'`)
    const acceptedAt = Number(row?.['accepted_at'])

    await world.clock.pass(acceptedAt + 30 * DAY_MS - world.clock.now())
    await sweep(world)
    const early = await bodyOf(world, id)
    await world.clock.pass(1)
    const late = [await sweep(world), await bodyOf(world, id)]

    assert.match(early ?? '', /a\.png/)
    assert.equal((late[0] as Removed).bodies, 1)
    assert.equal(late[1], '')
    const [kept] = await world.sql(`select recipient, state, body_crc, body_deleted_at from message where id = '${id}'`)
    assert.deepEqual(
      { ...kept, body_crc: Number(kept?.['body_crc']), body_deleted_at: Number(kept?.['body_deleted_at']) },
      { recipient: '15550100000', state: 'PUBLISHED', body_crc: 0, body_deleted_at: world.clock.now() },
    )
    assert.deepEqual(await world.sql('select url from media').then((rows) => rows.map(({ url }) => url)), [''])
    await world.close()
  })

  it('deletes messages with everything that belongs to them, and leaves younger ones', async () => {
    const world = await newWorld()
    const sender = await newSender(world)
    await lose(world, sender)
    await world.sql(`update ${await placeOf(world)} set resolved_at = 1 where state = 'UNCONFIRMED'`)
    await publish(world, sender, { media: true })
    await refuse(world, sender, 'old')
    await passDays(world, 50)
    const young = await publish(world, sender)
    await refuse(world, sender, 'young')
    await passDays(world, 42)

    await sweep(world)

    const messages = await world.sql('select id from message')
    const requests = await world.sql('select request_id from request')
    assert.deepEqual(
      messages.map(({ id }) => id),
      [young],
    )
    assert.deepEqual(
      requests.map(({ request_id }) => request_id),
      ['young'],
    )
    assert.deepEqual([await countOf(world, 'media'), await countOf(world, 'timeline')], [0, 0])
    assert.equal(await countOf(world, `attempt where outcome = 'unknown'`), 0)
    await world.close()
  })

  it('G1: never touches unfinished messages: waiting, open or unresolved ones', async () => {
    const world = await newWorld()
    const [sender, other] = [await newSender(world), await newSender(world)]
    const lost = await lose(world, sender)
    const opened = await accept(world, sender)
    const waiting = await accept(world, sender)
    await publish(world, other)
    await world.clock.pass(1)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    await open(world, lane, await head(world, sender.connectionId))
    await passDays(world, 200)

    await sweep(world)
    await publish(world, other)
    await passDays(world, 2)
    await sweep(world)

    for (const id of [lost, opened, waiting]) assert.match((await bodyOf(world, id)) ?? '', /Hello/)
    assert.equal(await countOf(world, 'open_attempt'), 1)
    assert.equal(await countOf(world, 'message'), 4)
    await world.close()
  })

  it('checks a skipped message again, and deletes it a day after its end', async () => {
    const world = await newWorld()
    const sender = await newSender(world)
    const lost = await lose(world, sender)
    const waiting = await accept(world, sender)
    await passDays(world, 100)
    await publish(world, await newSender(world))
    await sweep(world)
    await world.administration.resolveMessage(lost, 'arrived', 'test')
    await world.administration.cancelMessage(waiting, 'test')

    await passDays(world, 2)
    await sweep(world)
    await passDays(world, 1)
    await sweep(world)

    const ids = (await world.sql('select id from message')).map(({ id }) => id)
    assert.ok(!ids.includes(lost) && !ids.includes(waiting))
    assert.equal(await countOf(world, 'retention_kept'), 0)
    await world.close()
  })

  it('keeps unresolved messages for a year longer', async () => {
    const world = await newWorld()
    const sender = await newSender(world)
    const lost = await lose(world, sender)
    await publish(world, sender)
    await passDays(world, 31)
    await sweep(world)
    const early = await bodyOf(world, lost)
    for (let month = 0; month < 12; month++) {
      await passDays(world, 31)
      await sweep(world)
    }
    const late = await bodyOf(world, lost)

    assert.match(early ?? '', /Hello/)
    assert.equal(late, '')
    await world.close()
  })

  it('G8: applies shorter times to the account that wants them, and to no other', async () => {
    const world = await newWorld()
    const [strict, other] = [await newSender(world), await newSender(world)]
    await setOwn(world, strict.accountId, { bodiesDays: 2, messagesDays: 10 })
    const ids = [await publish(world, strict), await publish(world, other)]
    await refuse(world, strict, 'strict')
    await refuse(world, other, 'other')
    await passDays(world, 3)

    await sweep(world)
    const afterThree = [await bodyOf(world, ids[0]!), await bodyOf(world, ids[1]!)]
    const bodies = await world.sql('select request_id, body from request order by request_id')
    await publish(world, other)
    await passDays(world, 9)
    await sweep(world)
    const left = await world.sql(`select id from message where account_id = '${strict.accountId}'`)

    assert.equal(afterThree[0], '')
    assert.match(afterThree[1] ?? '', /Hello/)
    assert.deepEqual(
      bodies.map(({ request_id, body }) => [request_id, body !== null]),
      [
        ['other', true],
        ['strict', false],
      ],
    )
    assert.deepEqual(left, [])
    assert.equal(await countOf(world, 'message'), 2)
    await world.close()
  })

  it('keeps everything for ever if the settings say so', async () => {
    const world = await newWorld()
    const id = await publish(world, await newSender(world))
    await passDays(world, 500)

    await sweep(world, { bodiesDays: 0, messagesDays: 0, auditDays: 0 })

    assert.match((await bodyOf(world, id)) ?? '', /Hello/)
    assert.ok((await countOf(world, 'audit')) > 1)
    await world.close()
  })

  it('reads no more rows in one transaction than its limit, and still comes to the end', async () => {
    const world = await newWorld()
    const sender = await newSender(world)
    for (let i = 0; i < 45; i++) await publish(world, sender)
    for (let i = 0; i < 45; i++) await refuse(world, sender, `${i}`)
    await passDays(world, 31)
    const removed: number[] = []

    const all = await sweep(world, { mostRows: 20, onStep: (taken) => removed.push(sum(taken.removed)) })

    assert.equal(all?.bodies, 90)
    assert.deepEqual(
      removed.filter((rows) => rows > 0),
      [20, 20, 5, 20, 20, 5],
    )
    await world.close()
  })

  it('continues where it was cut off, at any point', async () => {
    const world = await newWorld()
    const sender = await newSender(world)
    for (let i = 0; i < 50; i++) await publish(world, sender, { media: i % 3 === 0 })
    await passDays(world, 31)
    let bodies = 0

    for (let cut = 1; cut <= 4; cut++)
      await sweep(world, { steps: cut, onStep: (taken) => (bodies += taken.removed.bodies ?? 0) })
    await sweep(world, { onStep: (taken) => (bodies += taken.removed.bodies ?? 0) })

    assert.equal(bodies, 50)
    assert.equal(await countOf(world, `message where body = ''`), 50)
    await world.close()
  })

  it('is done by one worker at a time, and by another if that one has died', async () => {
    const world = await newWorld()
    const { retention, clock } = world
    const first = await retention.acquireLease('anna', clock.now(), 60_000)
    const second = await retention.acquireLease('ben', clock.now(), 60_000)
    const meanwhile = await sweep(world, { who: 'ben' })
    await clock.pass(60_000)
    const late = await sweep(world, { who: 'ben' })

    assert.deepEqual([first, second, meanwhile], [true, false, null])
    assert.notEqual(late, null)
    assert.equal((await retention.read(clock.now())).sweptBy, null)
    await world.close()
  })

  it('ignores a lease from before the clock was set back', async () => {
    const world = await newWorld()
    const { retention, clock } = world
    await retention.acquireLease('anna', clock.now() + DAY_MS, 60_000)

    const { sweptBy } = await retention.read(clock.now())

    assert.equal(sweptBy, null)
    assert.equal(await retention.acquireLease('ben', clock.now(), 60_000), true)
    await world.close()
  })

  it('stores the result of the worker that holds the lease, not of one that lost it', async () => {
    const world = await newWorld()
    const { retention, clock } = world
    const resultOf = (bodies: number) => ({
      begunAt: clock.now(),
      endedAt: clock.now(),
      tookMs: 1,
      removed: { bodies },
    })
    await retention.acquireLease('anna', clock.now(), 60_000)
    await clock.pass(60_000)
    await retention.acquireLease('ben', clock.now(), 60_000)

    const kept = [await retention.finish('ben', resultOf(2)), await retention.finish('anna', resultOf(1))]

    assert.deepEqual(kept, [true, false])
    assert.deepEqual((await retention.read(clock.now())).last?.removed, { bodies: 2 })
    await world.close()
  })

  it('deletes old audit entries and tallies, and the sandbox’s deliveries together with the bodies', async () => {
    const world = await newWorld()
    const sender = await newSender(world)
    const memory = world.channelState('sandbox')
    const entry = { connectionId: sender.connectionId, value: '{}', at: world.clock.now() }
    await memory.add('inbox', { ...entry, key: 'message-1#1' })
    await memory.add('other', { ...entry, key: 'kept' })
    await world.sql(
      `insert into tally (account_id, connection_id, hour, state, count) values ('a', '', 0, 'failed', 1)`,
    )
    await passDays(world, 31)
    await memory.add('inbox', { ...entry, key: 'message-2#1', at: world.clock.now() })
    const deliveries: string[] = []

    const first = await sweep(world, { onStep: (taken) => deliveries.push(...(taken.deliveries ?? [])) })
    const audits = await countOf(world, 'audit')
    await passDays(world, 400)
    await newSender(world)
    await sweep(world)

    assert.deepEqual([first?.inbox, first?.tallies, deliveries], [1, 1, ['message-1']])
    assert.equal(await countOf(world, 'channel_memory'), 1)
    assert.equal(audits, 3)
    assert.equal(await countOf(world, 'audit'), 3)
    await world.close()
  })

  it('G1: keeps what it must in any random history of sweeps and interruptions', async () => {
    const world = await newWorld()
    const [sender, other] = [await newSender(world), await newSender(world)]
    await setOwn(world, other.accountId, { bodiesDays: 3, messagesDays: 12 })
    const random = drawing(7)
    const made: { id: MessageId; at: number; isLost: boolean; of: Sender }[] = []
    for (let turn = 0; turn < 30; turn++) {
      const of = random() < 0.5 ? sender : other
      const drawn = random()
      const at = world.clock.now()
      if (drawn < 0.35) made.push({ id: await publish(world, of), at, isLost: false, of })
      else if (drawn < 0.55) made.push({ id: await lose(world, of), at, isLost: true, of })
      else if (drawn < 0.75) await passDays(world, 1 + Math.floor(random() * 20))
      else await sweep(world, { steps: 1 + Math.floor(random() * 12), mostRows: 3 })

      for (const { id, at: acceptedAt, isLost, of: whose } of made) {
        const body = await bodyOf(world, id)
        const age = world.clock.now() - acceptedAt
        const [bodies, messages] = whose === other ? [3, 12] : [30, 90]
        if (isLost || age < messages * DAY_MS) assert.notEqual(body, null, `a message went after ${age} ms`)
        if (isLost || age < bodies * DAY_MS) assert.match(body ?? '', /Hello/)
      }
    }
    await sweep(world)
    const last = made.at(-1)?.id
    for (const { id, at, isLost, of } of made) {
      const isOver = world.clock.now() - at > (of === other ? 4 : 31) * DAY_MS
      if (isOver && !isLost && id !== last) assert.doesNotMatch((await bodyOf(world, id)) ?? '', /Hello/)
    }
    await world.close()
  })

  it('reports its last sweep', async () => {
    const world = await newWorld()
    await publish(world, await newSender(world))
    await passDays(world, 31)
    const begunAt = world.clock.now()

    await sweep(world)
    const { last, beginsAt, waitsFor } = await world.retention.read(world.clock.now())

    assert.deepEqual([last?.begunAt, last?.removed.bodies, beginsAt, waitsFor], [begunAt, 1, 0, null])
    await world.close()
  })
}

/** Numbers in [0, 1), the same for the same seed. */
function drawing(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}

function sum(removed: Removed): number {
  return Object.values(removed).reduce((all, count) => all + count, 0)
}

/** The table of settled messages. */
async function placeOf(world: StorageWorld): Promise<string> {
  return world.hintsAgeMs === 0 ? 'message' : 'settled'
}
