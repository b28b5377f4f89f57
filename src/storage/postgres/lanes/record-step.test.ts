import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { describe, it } from 'vitest'
import { durabilityOf, newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import {
  ANNA,
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
  open,
  settled,
  stateOf,
  step,
} from '../../../../test/conformance/storage-world.ts'
import { LaneStoreClient } from '../../../core/dispatch/lane/lane-store-client.ts'
import type { SpoolId } from '../../../core/ids.ts'
import { InterruptibleSleep } from '../../../core/interruptible-sleep.ts'
import type { QueuedMessage } from '../../../core/message/message.ts'
import {
  type ClaimedLane,
  type LaneTransition,
  type LaneTransitionResult,
  StorageUnavailable,
} from '../../../core/ports/lanes.ts'
import { systemClock } from '../../../server/system-clock.ts'
import { StorageHealth } from '../../queries/storage-health.ts'
import { FencedConnection } from '../connection/fenced-connection.ts'
import { PgConnection } from '../connection/pg-connection.ts'
import { PostgresLanes } from './lanes.ts'

const OPENED = { fenced: false, started: true }
const NOT_OPENED = { fenced: false, started: false }

describe('steps on PostgreSQL', () => {
  it('G4: finds out what became of a step whose answer was lost, and neither repeats nor forgets it', async () => {
    const { world, lane, messages } = await heldLane(3)
    const [one, two, three] = messages as [QueuedMessage, QueuedMessage, QueuedMessage]
    const line = await BreakableLine.open(world.url)
    const { storage, lanes } = storageOver(line, world)

    line.loseNextAnswer()
    const begun = await storage.record(step(world, lane, { start: { sequence: one.sequence, number: 1 } }))
    line.loseNextAnswer()
    const moved = await storage.record(
      step(world, lane, { finish: settled(world, one), start: { sequence: two.sequence, number: 1 } }),
    )
    line.loseNextAnswer()
    const ended = await storage.record(step(world, lane, { finish: settled(world, two) }))

    assert.deepEqual([begun, moved, ended], [OPENED, OPENED, NOT_OPENED])
    assert.equal(line.lost, 3)
    const states = await Promise.all([one, two, three].map(({ id }) => stateOf(world, id)))
    assert.deepEqual(states, ['PUBLISHED', 'PUBLISHED', 'QUEUED'])
    assert.equal((await lanes.inspect(lane))?.open, null)
    await line.close()
    await world.close()
  })

  it('G3: opens in a batch what may not be the lowest only where nothing waits before it', async () => {
    const { world, lane, messages } = await heldLane(2)
    const [one, two] = messages as [QueuedMessage, QueuedMessage]
    const open = ({ sequence }: QueuedMessage) => ({ start: { sequence, number: 1, knownThrough: 0 } })

    const results = [
      await world.lanes.record(step(world, lane, open(two))),
      await world.lanes.record(step(world, lane, open(one))),
      await world.lanes.record(step(world, lane, { finish: settled(world, one), ...open(two) })),
    ]

    assert.deepEqual(results, [NOT_OPENED, OPENED, OPENED])
    await world.close()
  })

  it('G4: makes the commit of a step durable whatever the session is set to, and leaves the session as it was', async () => {
    const world = await newPostgresWorld()
    const session = await world.session()
    const noSteps = `select write_steps('w', 9, 1, 77, false, '{}', null, null, null)`
    await session.query('set synchronous_commit = off')
    await session.query('begin')

    await session.query(noSteps)
    const inside = await durabilityOf(session)
    await session.query('commit')

    assert.deepEqual(inside, ['on', '77ms'])
    assert.deepEqual(await durabilityOf(session), ['off', '0'])
    const { rows } = await session.query('select count from fence where worker = $1 and connection_index = 9', ['w'])
    assert.deepEqual(rows, [{ count: '1' }])
    await session.query('begin isolation level repeatable read')
    await assert.rejects(session.query(noSteps), /read committed/)
    await world.close()
  })

  it('says that it does not know, when the connection breaks while it commits', async () => {
    const { world, lane, messages } = await heldLane(1)
    await world.breakCommits()

    const thrown = await open(world, lane, messages[0]!).catch((error: unknown) => error)

    assert.equal(thrown instanceof StorageUnavailable && thrown.unknown, true)
    await world.close()
  })

  it('G11: says that nothing was written on a full disk, and goes on once there is room', async () => {
    const { world, lane, messages } = await heldLane(1)
    const makeRoom = await world.fillDisk()

    const thrown = await open(world, lane, messages[0]!).catch((error: unknown) => error)
    await makeRoom()

    assert.equal(thrown instanceof StorageUnavailable && thrown.unknown, false)
    assert.deepEqual(await open(world, lane, messages[0]!), OPENED)
    await world.close()
  })

  it('ignores a late copy of an opening, when its message has been tried meanwhile', async () => {
    const { world, lane, messages } = await heldLane(1)
    const [message] = messages as [QueuedMessage]
    await open(world, lane, message)
    const close = { attempt: attempt(world, message, 'rejected'), disposition: KEEP }
    await world.lanes.record(step(world, lane, { finish: close }))

    const late = await open(world, lane, message)
    const next = await open(world, lane, { ...message, attempts: 1 })

    assert.deepEqual([late, next], [NOT_OPENED, OPENED])
    await world.close()
  })

  it('writes the steps of many lanes as it writes one: each as it stands', async () => {
    const { world, lanes, heads } = await manyLanes(7)
    const [fine, kept, unknown, dropped, stale, ended, remembering] = lanes
    for (const [i, lane] of lanes.entries()) if (i !== 3 && i !== 6) await open(world, lane, heads[i]!)
    const next = (lane: ClaimedLane) => world.lanes.fetchNext(lane.connectionId, 2, 0).then(([, second]) => second!)
    const until = world.clock.now() + 60_000
    const memory = { head: null, failureStreak: null, wait: { reason: 'retrying', words: 'a\0b', until } }
    const close = (i: number, outcome: 'accepted' | 'rejected' | 'unknown') => attempt(world, heads[i]!, outcome)

    const results = await Promise.all([
      record(world, fine!, {
        finish: settled(world, heads[0]!),
        start: { sequence: (await next(fine!)).sequence, number: 1 },
      }),
      record(world, kept!, {
        finish: { attempt: { ...close(1, 'rejected'), words: 'nul \0 in it' }, disposition: KEEP },
        start: { sequence: heads[1]!.sequence, number: 2 },
      }),
      record(world, unknown!, {
        finish: { attempt: close(2, 'unknown'), disposition: { do: 'await-evidence', until, words: 'reset' } },
      }),
      record(world, dropped!, {
        discard: { sequence: heads[3]!.sequence, as: 'EXPIRED', reason: 'time_to_live_over', words: null },
        start: { sequence: (await next(dropped!)).sequence, number: 1 },
      }),
      record(world, { ...stale!, epoch: stale!.epoch - 1 }, { finish: settled(world, heads[4]!), memory }),
      record(world, ended!, {
        finish: {
          attempt: { ...close(5, 'accepted'), words: 'known later' },
          disposition: { do: 'finalize', as: 'PUBLISHED', reason: 'evidence_found', words: null },
        },
      }),
      record(world, remembering!, { memory }),
    ])

    assert.deepEqual(results, [OPENED, OPENED, NOT_OPENED, OPENED, { fenced: true }, NOT_OPENED, NOT_OPENED])
    const states = await Promise.all(heads.map(({ id }) => stateOf(world, id)))
    assert.deepEqual(states, ['PUBLISHED', 'SENDING', 'SENDING', 'EXPIRED', 'SENDING', 'PUBLISHED', 'QUEUED'])
    const found = await Promise.all(lanes.map((lane) => world.lanes.inspect(lane)))
    assert.deepEqual(
      found.map((lane) => [lane?.open?.number, lane?.open?.evidenceUntil, lane?.memory.wait?.words]),
      [
        [1, null, undefined],
        [2, null, undefined],
        [1, until, undefined],
        [1, null, undefined],
        [1, null, undefined],
        [undefined, undefined, undefined],
        [undefined, undefined, 'a\u2400b'],
      ],
    )
    const session = await world.session()
    const { rows } = await session.query('select outcome, words from ended_attempt order by message_sequence')
    assert.deepEqual(rows, [
      { outcome: 'rejected', words: 'nul \u2400 in it' },
      { outcome: 'accepted', words: 'known later' },
    ])
    await world.close()
  })

  it('fences the step of a lane that was given back, although it is known no more', async () => {
    const { world, lane, messages } = await heldLane(1)
    await world.lanes.release([lane])
    await beat(world, BEN)
    await claim(world, BEN)

    assert.deepEqual(await open(world, lane, messages[0]!), { fenced: true })
    await world.close()
  })

  it('writes a step of a lane that it does not know, if its claim still holds', async () => {
    const { world, lane, messages } = await heldLane(1)
    const forgetful = world.processOf(ANNA, 'spool' as SpoolId)

    const opened = await forgetful.lanes.record(
      step(world, lane, { start: { sequence: messages[0]!.sequence, number: 1 } }),
    )

    assert.deepEqual(opened, OPENED)
    await world.close()
  })
})

/** One end of a lane's words: all steps that are recorded in one turn share one commit. */
function record(world: PostgresWorld, lane: ClaimedLane, does: Partial<LaneTransition>): Promise<LaneTransitionResult> {
  return world.lanes.record(step(world, lane, does))
}

async function heldLane(count: number) {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  for (let i = 0; i < count; i++) await accept(world, sender, { text: `${i}` })
  const lane = await holdLane(world, ANNA, sender.connectionId)
  return { world, lane, messages: await world.lanes.fetchNext(sender.connectionId, count, 0) }
}

/** Held lanes with two messages each. */
async function manyLanes(count: number) {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  const lanes: ClaimedLane[] = []
  const heads: QueuedMessage[] = []
  for (let i = 0; i < count; i++) {
    const number = `1555100${1000 + i}`
    const connectionId = await addConnection(world, sender.accountId, { number })
    await accept(world, { ...sender, number })
    await accept(world, { ...sender, number })
    lanes.push(await holdLane(world, ANNA, connectionId))
    heads.push(await head(world, connectionId))
  }
  return { world, lanes, heads }
}

/** What a lane works with, on a line that can break. */
function storageOver(line: BreakableLine, world: PostgresWorld) {
  const pgConnection = () =>
    new PgConnection({
      url: line.url,
      applicationName: 'test',
      answerWithinMs: 5_000,
      validateConnection: async () => {},
    })
  const direct = new PgConnection({
    url: world.url,
    applicationName: 'test',
    answerWithinMs: 5_000,
    validateConnection: async () => {},
  })
  const lanes = new PostgresLanes({
    health: new StorageHealth(systemClock),
    connections: [new FencedConnection(ANNA, { number: 7, pgConnection: pgConnection() })],
    runs: [direct],
    claims: direct,
    beats: direct,
    worker: { id: ANNA, host: 'here', pid: 1, roles: ['dispatch'], version: '0' },
    spool: 'spool' as SpoolId,
    clock: world.storage.clock,
  })
  const rest = new InterruptibleSleep({
    ...realTimers,
    now: () => 0,
    wall: () => 0,
    monotonic: () => 0,
    random: () => 0,
  })
  const storage = new LaneStoreClient({ lanes, journal: { record: () => {} }, sleeper: rest, ending: () => null })
  return { lanes, storage }
}

const realTimers = {
  after(_: number, call: () => void) {
    const timer = setTimeout(call, 1)
    return () => clearTimeout(timer)
  },
}

/** A connection to the server on which answers can get lost: the statement is executed, and its answer does not arrive. */
class BreakableLine {
  readonly url: string
  readonly #server: Server
  #isLosing = false
  lost = 0

  private constructor(url: string, server: Server) {
    this.url = url
    this.#server = server
  }

  static async open(to: string): Promise<BreakableLine> {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const url = new URL(to)
    const { hostname, port } = new URL(to)
    url.port = String((server.address() as AddressInfo).port)
    const line = new BreakableLine(url.href, server)
    server.on('connection', (near) => {
      const far = connect(Number(port), hostname)
      far.on('data', (answer) => {
        if (!line.#isLosing) return near.write(answer)
        line.#isLosing = false
        line.lost += 1
        return near.destroy()
      })
      near.on('data', (question) => far.write(question))
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('error', () => {})
        one.on('close', () => other.destroy())
      }
    })
    return line
  }

  loseNextAnswer(): void {
    this.#isLosing = true
  }

  async close(): Promise<void> {
    this.#server.close()
  }
}
