import assert from 'node:assert/strict'
import { DEFAULT_LANE_POLICY } from '../../src/core/connection/lane-policy.ts'
import type { MessageId } from '../../src/core/ids.ts'
import type { QueuedMessage } from '../../src/core/message/message.ts'
import type { TimelineEntry } from '../../src/core/ports/administration.ts'
import type { ClaimedLane, LaneTransition } from '../../src/core/ports/lanes.ts'
import { passDays, sweep, TIMES } from './retention.ts'
import {
  ANNA,
  accept,
  addSender,
  attempt,
  BEN,
  beat,
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

const LEASE_MS = 15_000
const TIME_TO_LIVE_MS = DEFAULT_LANE_POLICY.timeToLiveMs

/** What storage keeps about past waits, and shows in the timelines of the messages that waited (G10). */
export function pastWaitsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('G10: shows for each message what its lane waited for, and how long', async () => {
    const { world, lane, ids } = await laneOf(newWorld, 2)
    await waits(world, lane, ['connection_away', 62_000])
    await send(world, lane, { clears: true })
    await world.clock.pass(5_000)
    await send(world, lane)

    assert.deepEqual(await waitsOf(world, ids[0]!), [['connection_away', 62_000]])
    assert.deepEqual(await waitsOf(world, ids[1]!), [
      ['connection_away', 62_000],
      ['behind_others', 5_000],
    ])
    await world.close()
  })

  it('G10: stores the pauses after each message as one wait', async () => {
    const { world, sender, lane, ids } = await laneOf(newWorld, 3)
    for (const _ of ids) {
      await waits(world, lane, ['pace', 40_000])
      await send(world, lane, { clears: true })
    }

    assert.deepEqual(await waitsOf(world, ids[2]!), [['pace', 120_000]])
    const kept = await world.sql(
      `select count(*) as rows from standstill where connection_id = '${sender.connectionId}'`,
    )
    assert.equal(Number(kept[0]?.['rows']), 1)
    await world.close()
  })

  it('G10: adds a retry of the network to the same wait, without the time in which messages were sent', async () => {
    const { world, sender, lane } = await laneOf(newWorld, 2)
    await waits(world, lane, ['connection_away', 60_000])
    await waits(world, lane, ['connection_away', 60_000])
    await send(world, lane, { clears: true })
    await world.clock.pass(600_000)
    const late = await accept(world, sender)
    await waits(world, lane, ['connection_away', 30_000])
    await send(world, lane, { clears: true })
    await send(world, lane)

    assert.deepEqual(await waitsOf(world, late), [['connection_away', 30_000]])
    await world.close()
  })

  it('G10: shows who paused a number, for how long, and who has paused it now', async () => {
    const { world, sender, lane, ids } = await laneOf(newWorld, 1)
    const { administration, clock } = world
    const setState = (state: 'active' | 'paused', by: string) =>
      administration.setConnectionState(sender.connectionId, state, by)
    await setState('paused', 'anna')
    await clock.pass(90_000)
    const now = (await administration.explainMessage(ids[0]!)).paused
    await setState('active', 'ben')
    await send(world, lane)

    assert.deepEqual([now?.by, now && clock.now() - now.at], ['anna', 90_000])
    const [wait] = await entriesOf(world, ids[0]!)
    assert.deepEqual(wait?.facts, { begunBy: 'anna', endedBy: 'ben', waitedMs: 90_000 })
    assert.equal((await administration.explainMessage(ids[0]!)).paused, null)
    await world.close()
  })

  it('G10: shows who released all lanes, and how long they were held', async () => {
    const { world, lane, ids } = await laneOf(newWorld, 1)
    await world.administration.holdLanes('a test', 'anna')
    await world.clock.pass(30_000)
    await world.administration.releaseHold('ben')
    await send(world, lane)

    const [wait] = await entriesOf(world, ids[0]!)
    assert.deepEqual(
      [wait?.code, wait?.facts['endedBy'], wait?.facts['waitedMs']],
      ['database_went_back', 'ben', 30_000],
    )
    await world.close()
  })

  it('G10: shows that Nuncio was stopped while a message waited, and for how long', async () => {
    const { world, lane, ids } = await laneOf(newWorld, 1)
    await world.lanes.deleteLease(ANNA)
    await world.clock.pass(45_000)
    await beat(world, ANNA)
    await send(world, lane)

    assert.deepEqual(await stopsOf(world, ids[0]!), [['stopped', 45_000]])
    assert.deepEqual(await waitsOf(world, ids[0]!), [])
    await world.close()
  })

  it('G10: shows that the process stood still, since its last sign of life', async () => {
    const { world, lane, ids } = await laneOf(newWorld, 1)
    await world.clock.pass(LEASE_MS + 45_000)
    await beat(world, ANNA)
    await send(world, lane)

    assert.deepEqual(await stopsOf(world, ids[0]!), [['frozen', LEASE_MS + 45_000]])
    await world.close()
  })

  it('G10: counts no stop while another process sends', async () => {
    const { world, lane, ids } = await laneOf(newWorld, 1)
    await beat(world, BEN, 4 * LEASE_MS)
    await world.clock.pass(2 * LEASE_MS)
    await beat(world, BEN, 4 * LEASE_MS)
    await send(world, lane)

    assert.deepEqual(await stopsOf(world, ids[0]!), [])
    await world.close()
  })

  it('G10: keeps the type of an attempt, and what its message itself waited for', async () => {
    const { world, lane, ids } = await laneOf(newWorld, 1)
    const waitedSince = world.clock.now()
    await world.clock.pass(20_000)
    const ownWait = { waitedFor: 'whatsapp_pair_pace', waitedSince, waitedUntil: world.clock.now() }
    const facts = { template: 'notice (en_US)', uploadedAs: 'image/jpeg', ...ownWait }
    await send(world, lane, { facts })

    const { timeline } = await world.administration.explainMessage(ids[0]!)
    const begun = timeline.find(({ kind }) => kind === 'attempt-begun')?.facts
    assert.deepEqual([begun?.['template'], begun?.['uploadedAs']], ['notice (en_US)', 'image/jpeg'])
    assert.deepEqual(await waitsOf(world, ids[0]!), [['whatsapp_pair_pace', 20_000]])
    await world.close()
  })

  it('G10: keeps what a message itself waited for until it expired', async () => {
    const { world, sender, lane, ids } = await laneOf(newWorld, 1)
    const message = await head(world, sender.connectionId)
    await defer(world, lane, { sequence: message.sequence, wait: { kind: 'rate-limit', reason: 'new_recipients' } })
    await world.clock.pass(TIME_TO_LIVE_MS)

    assert.equal(await world.lanes.expire(10), 1)
    const { message: ended, timeline } = await world.administration.explainMessage(ids[0]!)
    assert.equal(ended.state, 'EXPIRED')
    assert.deepEqual(await waitsOf(world, ids[0]!), [['new_recipients', TIME_TO_LIVE_MS]])
    assert.deepEqual(endsOf(timeline), [['time_to_live_over', 'EXPIRED']])
    await world.close()
  })

  it('G10: shows how long a message waited for others, and then for itself', async () => {
    const { world, sender, lane, ids } = await laneOf(newWorld, 2)
    const [, message] = await world.lanes.fetchNext(sender.connectionId, 2, 0)
    await world.clock.pass(TIME_TO_LIVE_MS - 60_000)
    await send(world, lane)
    await defer(world, lane, { sequence: message!.sequence, wait: { kind: 'rate-limit', reason: 'new_recipients' } })
    await world.clock.pass(60_000)

    assert.equal(await world.lanes.expire(10), 1)
    assert.deepEqual(await waitsOf(world, ids[1]!), [
      ['behind_others', TIME_TO_LIVE_MS - 60_000],
      ['new_recipients', 60_000],
    ])
    await world.close()
  })

  it('G10: shows how long a message waited for its next try, and then for itself', async () => {
    const { world, sender, lane, ids } = await laneOf(newWorld, 1)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const retry = { tries: 1, resent: false, crashes: 0, wait: null }
    const finish = { attempt: attempt(world, message, 'rejected'), disposition: { do: 'keep-queued', retry } } as const
    await world.lanes.record(step(world, lane, { finish }))
    await world.clock.pass(30_000)
    await defer(world, lane, { sequence: message.sequence, wait: { kind: 'rate-limit', reason: 'new_recipients' } })
    await world.clock.pass(TIME_TO_LIVE_MS)

    assert.equal(await world.lanes.expire(10), 1)
    assert.deepEqual(await waitsOf(world, ids[0]!), [
      ['retrying', 30_000],
      ['new_recipients', TIME_TO_LIVE_MS],
    ])
    await world.close()
  })

  it('G10: keeps that a message expired that may have arrived', async () => {
    const { world, sender, lane, ids } = await laneOf(newWorld, 1)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const wait = { kind: 'retry', reason: 'retrying', words: null, until: world.clock.now() + 1 } as const
    const retry = { tries: 1, resent: true, crashes: 0, wait }
    const finish = { attempt: attempt(world, message, 'unknown'), disposition: { do: 'keep-queued', retry } } as const
    await world.lanes.record(step(world, lane, { finish }))
    await world.clock.pass(TIME_TO_LIVE_MS)

    assert.equal(await world.lanes.expire(10), 1)
    const { message: ended, timeline } = await world.administration.explainMessage(ids[0]!)
    assert.deepEqual([ended.state, ended.reason], ['UNCONFIRMED', 'result_unknown'])
    assert.deepEqual(endsOf(timeline), [['time_to_live_over', 'UNCONFIRMED']])
    await world.close()
  })

  it('G10: shows the current wait of a lane on a message that has expired', async () => {
    const { world, lane, ids } = await laneOf(newWorld, 1)
    await waits(world, lane, ['connection_away', TIME_TO_LIVE_MS])

    assert.equal(await world.lanes.expire(10), 1)
    assert.deepEqual(await waitsOf(world, ids[0]!), [['connection_away', TIME_TO_LIVE_MS]])
    await world.close()
  })

  it('deletes waits at the age of messages, and none that still lasts', async () => {
    const { world, sender } = await laneOf(newWorld, 1)
    const [number, now] = [`'${sender.connectionId}'`, world.clock.now()]
    await world.sql(`insert into standstill (connection_id, reason, since, until) values
      (${number}, 'connection_away', 1, ${now}), (${number}, 'connection_away', 2, ${now + 1}), (${number}, 'paused', 3, null)`)

    await passDays(world, TIMES.messagesDays)
    await world.clock.pass(1)
    const removed = await sweep(world)

    const kept = await world.sql(`select since from standstill where connection_id = ${number} order by since`)
    assert.deepEqual([removed?.waits, kept.map(({ since }) => Number(since))], [1, [2, 3]])
    await world.close()
  })
}

async function laneOf(newWorld: NewWorld, count: number) {
  const world = await newWorld()
  const sender: Sender = await addSender(world)
  const ids: MessageId[] = []
  for (let i = 0; i < count; i++) ids.push(await accept(world, sender, { text: `${i}` }))
  return { world, sender, ids, lane: await holdLane(world, ANNA, sender.connectionId) }
}

/** Makes the lane wait and do nothing else. */
async function waits(world: StorageWorld, lane: ClaimedLane, [reason, ms]: readonly [string, number]): Promise<void> {
  const wait = { reason, words: null, until: world.clock.now() + ms }
  await world.lanes.record(step(world, lane, { memory: { failureStreak: null, wait } }))
  await world.clock.pass(ms)
}

/** Makes a message wait while others pass it. */
async function defer(
  world: StorageWorld,
  lane: ClaimedLane,
  {
    sequence,
    wait,
  }: Pick<QueuedMessage, 'sequence'> & { readonly wait: { readonly kind: 'rate-limit'; readonly reason: string } },
): Promise<void> {
  const own = { ...wait, words: null, since: world.clock.now(), until: world.clock.now() + 2 * TIME_TO_LIVE_MS }
  const retry = { tries: 0, resent: false, crashes: 0, wait: own }
  await world.lanes.record(step(world, lane, { deferred: [{ sequence, retry }] }))
}

interface Sent {
  readonly clears?: boolean
  readonly facts?: NonNullable<LaneTransition['finish']>['attempt']['facts']
}

async function send(world: StorageWorld, lane: ClaimedLane, { clears = false, facts }: Sent = {}): Promise<void> {
  const message = await head(world, lane.connectionId)
  await open(world, lane, message)
  const { disposition } = settled(world, message)
  const ended = { ...attempt(world, message, 'accepted'), ...(facts && { facts }) }
  const memory = { failureStreak: null, wait: null }
  await world.lanes.record(step(world, lane, { finish: { attempt: ended, disposition }, ...(clears && { memory }) }))
}

async function entriesOf(world: StorageWorld, id: MessageId): Promise<readonly TimelineEntry[]> {
  const { timeline } = await world.administration.explainMessage(id)
  return timeline.filter(({ kind }) => kind === 'waiting')
}

async function waitsOf(world: StorageWorld, id: MessageId) {
  return (await entriesOf(world, id)).map(({ code, facts }) => [code, facts['waitedMs']])
}

function endsOf(timeline: readonly TimelineEntry[]) {
  return timeline.filter(({ kind }) => kind === 'settled').map(({ code, facts }) => [code, facts['state']])
}

async function stopsOf(world: StorageWorld, id: MessageId) {
  const { timeline } = await world.administration.explainMessage(id)
  return timeline.filter(({ kind }) => kind === 'service-stopped').map(({ facts }) => [facts['how'], facts['lastedMs']])
}
