import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  meet,
  newPostgresWorld,
  type PostgresWorld,
  sessionsWait,
} from '../../../../test/conformance/postgres-world.ts'
import { ANNA, accept, addSender, BEN, beat, holdLane, stateOf } from '../../../../test/conformance/storage-world.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { SpoolId, WorkerId } from '../../../core/ids.ts'
import type { Sequence } from '../../../core/message/message.ts'
import type { MediaQueue } from '../../../core/ports/media-queue.ts'

const CARL = 'carl' as WorkerId
const HERE = 'spool-here' as SpoolId
const THERE = 'spool-there' as SpoolId
const WIDE = {
  busy: new Set<Sequence>(),
  after: null,
  fullHosts: [],
  accountsAtOnce: 10,
  perAccount: 10,
  quotaBytes: 1_000_000,
}
const FILE = { path: 'spool/file', sizeBytes: 1_000, sha256: '00', mime: 'image/png' }

// Cancelling locks all of its messages and then ends their fetches. A transaction that ends a fetch must take locks in the same
// order, or the two would deadlock.
describe('the end of a fetch on PostgreSQL during a cancellation', () => {
  it.each<[string, (queue: MediaQueue, sequence: Sequence, at: number) => Promise<unknown>]>([
    ['a failed fetch', (queue, sequence, at) => queue.fail(sequence, { code: 'media_status', words: '404', at })],
    [
      'a lost file',
      async (queue, sequence, at) => {
        await queue.ready(sequence, { file: FILE, tookMs: 5, at })
        return queue.lost([{ sequence, path: FILE.path }], { at, mostTries: 1 })
      },
    ],
  ])('locks the message before any other row: %s', async (_, end) => {
    const world = await newPostgresWorld()
    const id = await accept(world, await addSender(world), { media: true })
    const { mediaQueue, lanes } = world.processOf(ANNA, HERE)
    await beat({ ...world, lanes }, ANNA)
    const [wanted] = (await mediaQueue.due({ now: world.clock.now(), ...WIDE })).media
    const sequence = wanted!.sequence
    await mediaQueue.take([sequence])
    const person = await world.session()
    await person.query('begin')
    await person.query(`select from queued where sequence = ${sequence} for update`)

    const ended = end(mediaQueue, sequence, world.clock.now())
    await sessionsWait(world, 1)
    await person.query(`update media set words = 'touched' where message_sequence = ${sequence}`)
    await person.query('commit')
    await ended

    assert.equal(await stateOf(world, id), 'FAILED')
    await world.close()
  })
})

// Each has locked a message or an attachment by then and needs the middle one.
describe('two transactions on PostgreSQL that change the same attachments', () => {
  it('do not deadlock when two workers take the same fetches in another order', async () => {
    const { world, sequences, queues } = await withMedia('pending')

    await meet(world, heldMedia(sequences), [
      () => queues[0].take(sequences),
      () => queues[1].take([...sequences].reverse()),
    ])

    await world.close()
  })

  it('do not deadlock when two workers of one spool miss the same files in another order', async () => {
    const { world, sequences, queues } = await withMedia('ready')

    await meet(world, heldMedia(sequences), [
      () => lose(queues[0], sequences, world),
      () => lose(queues[1], [...sequences].reverse(), world),
    ])

    await world.close()
  })

  it('do not deadlock when one worker misses files that another releases', async () => {
    const { world, sequences, queues } = await withMedia('ready')

    await meet(world, heldMedia(sequences), [
      () => lose(queues[0], sequences, world),
      () => queues[1].forget(sequences),
    ])

    await world.close()
  })

  it('do not deadlock when one worker misses files of a lane that has moved to another spool', async () => {
    const { world, sequences, queues, sender } = await withMedia('ready')
    const { lanes, mediaQueue } = world.processOf(CARL, THERE)
    await holdLane({ ...world, lanes }, CARL, sender.connectionId)

    await meet(world, heldMedia(sequences), [
      () => lose(queues[0], sequences, world),
      () => mediaQueue.checkHeads([sequences[0]!]),
    ])

    await world.close()
  })

  it('do not deadlock when a worker takes fetches while their connection is removed', async () => {
    const { world, sequences, queues, sender } = await withMedia('pending')

    await meet(world, heldMedia(sequences), [
      () => queues[0].take(sequences),
      () => world.administration.removeConnection(sender.connectionId, true, 'test'),
    ])

    await world.close()
  })

  it('do not deadlock when a worker misses files while their connection is removed', async () => {
    const { world, sequences, queues, sender } = await withMedia('ready')

    await meet(world, `select from queued where sequence = ${sequences[1]} for update`, [
      () => lose(queues[0], sequences, world),
      () => world.administration.removeConnection(sender.connectionId, true, 'test'),
    ])

    await world.close()
  })
})

describe('the end of the time of a message on PostgreSQL during the retry of its fetch', () => {
  it('waits for the next sweep, so that what it waited for is kept', async () => {
    const world = await newPostgresWorld()
    const id = await accept(world, await addSender(world), { media: true })
    const { mediaQueue, lanes } = world.processOf(ANNA, HERE)
    await beat({ ...world, lanes }, ANNA)
    const [wanted] = (await mediaQueue.due({ now: world.clock.now(), ...WIDE })).media
    const sequence = wanted!.sequence
    await mediaQueue.take([sequence])
    const wait = {
      kind: 'rate-limit',
      reason: 'new_recipients',
      words: null,
      since: world.clock.now(),
      until: world.clock.now(),
    }
    const retry = JSON.stringify({ tries: 0, resent: false, crashes: 0, wait })
    await world.sql(`update queued set retry = '${retry}' where sequence = ${sequence}`)
    await world.clock.pass(DEFAULT_LANE_POLICY.timeToLiveMs)
    const fetcher = await world.session()
    await fetcher.query('begin')
    await fetcher.query(`select retry_media('${ANNA}', ${sequence}, 'media_status', '503', ${world.clock.now()}, 0)`)

    const sweep = lanes.expire(10)
    await sessionsWait(world, 1)
    await fetcher.query('commit')

    assert.deepEqual([await sweep, await stateOf(world, id)], [0, 'QUEUED'])
    assert.deepEqual([await lanes.expire(10), await stateOf(world, id)], [1, 'EXPIRED'])
    const { timeline } = await world.administration.explainMessage(id)
    assert.equal(timeline.find(({ kind }) => kind === 'settled')?.facts['waitedFor'], 'new_recipients')
    await world.close()
  })
})

/** Three attachments, and two workers of one spool. */
async function withMedia(state: 'pending' | 'ready') {
  const world = await newPostgresWorld()
  const sender = await addSender(world)
  for (let n = 0; n < 3; n++) await accept(world, sender, { media: true })
  const processes = [world.processOf(ANNA, HERE), world.processOf(BEN, HERE)] as const
  await beat({ ...world, lanes: processes[0].lanes }, ANNA)
  await beat({ ...world, lanes: processes[1].lanes }, BEN)
  const queues = [processes[0].mediaQueue, processes[1].mediaQueue] as const
  const { media } = await queues[0].due({ now: world.clock.now(), ...WIDE })
  const sequences = media.map(({ sequence }) => sequence)
  assert.equal(sequences.length, 3)
  if (state === 'ready') {
    await queues[0].take(sequences)
    for (const sequence of sequences) await queues[0].ready(sequence, { file: FILE, tookMs: 5, at: world.clock.now() })
  }
  return { world, sender, sequences, queues }
}

function heldMedia(sequences: readonly Sequence[]): string {
  return `select from media where message_sequence = ${sequences[1]} for update`
}

function lose(queue: MediaQueue, sequences: readonly Sequence[], { clock }: PostgresWorld): Promise<unknown> {
  const files = sequences.map((sequence) => ({ sequence, path: FILE.path }))
  return queue.lost(files, { at: clock.now(), mostTries: 9 })
}
