import assert from 'node:assert/strict'
import type { ConnectionId, SpoolId, WorkerId } from '../../src/core/ids.ts'
import type { MediaFile, Sequence } from '../../src/core/message/message.ts'
import type { ClaimedLane } from '../../src/core/ports/lanes.ts'
import type { DueRequest, MediaToFetch } from '../../src/core/ports/media-queue.ts'
import {
  ANNA,
  accept,
  addConnection,
  addSender,
  BEN,
  type DispatchingProcess,
  type NewWorld,
  type Sender,
  type StorageWorld,
  type Suite,
  settled,
  stateOf,
  step,
  timelineOf,
} from './storage-world.ts'

const CARL = 'carl' as WorkerId
const HERE = 'spool-here' as SpoolId
const THERE = 'spool-there' as SpoolId
const LASTS_MS = 15_000

/** What every engine for several processes promises their media stages. ANNA and BEN share a spool, CARL has another. */
export function mediaOfSeveralWorkersKeepsItsPromises(suite: Suite, newWorld: NewWorld): void {
  oneFetchesAtATime(suite, newWorld)
  lanesDecideWhoFetches(suite, newWorld)
  spoolsAreApart(suite, newWorld)
}

function oneFetchesAtATime({ it }: Suite, newWorld: NewWorld): void {
  it('gives a fetch to one of two workers that claim it at once', async () => {
    const { world, anna, ben } = await threeWorkers(newWorld, 20)
    const all = sequences(await anna.due())

    const [annas, bens] = await Promise.all([anna.queue.take(all), ben.queue.take([...all].reverse())])

    assert.equal(all.length, 20)
    assert.deepEqual(ascending([...sequences(annas), ...sequences(bens)]), all)
    await world.close()
  })

  it('offers no worker what a living one fetches, and offers what a dead one fetched', async () => {
    const { world, anna, ben } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    await anna.queue.take([wanted!.sequence])

    const whileAlive = [await ben.due(), await ben.queue.take([wanted!.sequence])]
    const ownButBusy = await anna.due({ busy: new Set([wanted!.sequence]) })
    const own = await anna.due()
    await world.clock.pass(LASTS_MS + 1)
    await ben.beat()
    const whenDead = [await ben.due(), await ben.queue.take([wanted!.sequence])]

    assert.deepEqual(whileAlive, [[], []])
    assert.deepEqual([ownButBusy, sequences(own)], [[], [wanted!.sequence]])
    assert.deepEqual(whenDead.map(sequences), [[wanted!.sequence], [wanted!.sequence]])
    await world.close()
  })

  it('G6: writes nothing for a worker that has lost the fetch', async () => {
    const { world, anna, ben, ids } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    const { sequence } = wanted!
    await anna.queue.take([sequence])
    await world.clock.pass(LASTS_MS + 1)
    await ben.beat()
    await ben.queue.take([sequence])
    const trial = { code: 'media_status', words: '404', at: world.clock.now() }

    const arrived = await anna.queue.ready(sequence, { file: fileOf(ANNA), tookMs: 5, at: world.clock.now() })
    await anna.queue.retry(sequence, { ...trial, nextTryAt: world.clock.now() + 5_000 })
    await anna.queue.fail(sequence, trial)

    assert.equal(arrived, false)
    assert.equal(await stateOf(world, ids[0]!), 'QUEUED')
    // For a moment no worker had a valid lease.
    assert.deepEqual(await timelineOf(world, ids[0]!), ['accepted', 'service-stopped'])
    await ben.bring(sequence)
    await world.close()
  })

  it('accepts the file of a worker with an expired lease, if no other has taken the fetch over', async () => {
    const { world, anna } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    await anna.queue.take([wanted!.sequence])
    await world.clock.pass(LASTS_MS + 1)

    const fetched = { file: fileOf(ANNA), tookMs: 5, at: world.clock.now() }

    assert.equal(await anna.queue.ready(wanted!.sequence, fetched), true)
    await world.close()
  })

  it('lets any worker continue after a failed try', async () => {
    const { world, anna, ben } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    await anna.queue.take([wanted!.sequence])
    const at = world.clock.now()
    await anna.queue.retry(wanted!.sequence, { code: 'media_timeout', words: 'slow', at, nextTryAt: at + 5_000 })

    const early = await ben.due()
    await world.clock.pass(5_000)

    assert.deepEqual(early, [])
    assert.deepEqual(
      (await ben.due()).map(({ sequence, tries }) => [sequence, tries]),
      [[wanted!.sequence, 1]],
    )
    await world.close()
  })

  it('names the workers that live', async () => {
    const { world, anna, ben, carl } = await threeWorkers(newWorld, 0)
    const all = await anna.queue.livingWorkers()
    await carl.process.lanes.deleteLease(CARL)
    await world.clock.pass(LASTS_MS - 1)
    await ben.beat()
    await world.clock.pass(2)

    assert.deepEqual(new Set([...all, ANNA]), new Set([ANNA, BEN, CARL]))
    assert.deepEqual(new Set([...(await ben.queue.livingWorkers()), BEN]), new Set([BEN]))
    await world.close()
  })
}

function lanesDecideWhoFetches({ it }: Suite, newWorld: NewWorld): void {
  it('offers files of this worker’s lanes first, then of unclaimed lanes', async () => {
    const { world, sender, anna, ben } = await threeWorkers(newWorld, 1)
    const bens = await addLane(world, sender, '15550002000')
    const annas = await addLane(world, sender, '15550003000')
    await ben.claim(bens)
    await anna.claim(annas)

    const offered = (await anna.due()).map(({ connectionId, isLaneHeld }) => [connectionId, isLaneHeld])

    assert.deepEqual(offered, [
      [annas, true],
      [sender.connectionId, false],
    ])
    await world.close()
  })

  it('G8: offers files of its own lanes, however many wait before them in other lanes', async () => {
    const { world, sender, anna, ben } = await threeWorkers(newWorld, 1_200)
    const annas = await addLane(world, sender, '15550002000')
    await ben.claim(sender.connectionId)
    await anna.claim(annas)

    const offered = await anna.due({ perAccount: 10 })

    assert.deepEqual(
      offered.map(({ connectionId }) => connectionId),
      [annas],
    )
    await world.close()
  })

  it('offers files of the lanes of a dead worker', async () => {
    const { world, sender, anna, ben } = await threeWorkers(newWorld, 1)
    await ben.claim(sender.connectionId)
    const whileAlive = await anna.due()
    await world.clock.pass(LASTS_MS + 1)
    await anna.beat()

    const [wanted] = await anna.due()

    assert.deepEqual(whileAlive, [])
    assert.deepEqual([wanted?.connectionId, wanted?.isLaneHeld], [sender.connectionId, false])
    await world.close()
  })

  it('reports no heads of lanes of another living worker', async () => {
    const { world, sender, anna, ben } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    await ben.claim(sender.connectionId)

    assert.deepEqual(await anna.queue.checkHeads([wanted!.sequence]), { missing: [], present: [] })
    assert.deepEqual(sequences((await ben.queue.checkHeads([wanted!.sequence])).missing), [wanted!.sequence])
    await world.close()
  })

  it('shows a file to all workers of its spool', async () => {
    const { world, sender, anna, ben } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    await anna.bring(wanted!.sequence)
    await ben.claim(sender.connectionId)

    const { missing, present } = await ben.queue.checkHeads([wanted!.sequence])

    assert.deepEqual([missing, present.map(({ connectionId }) => connectionId)], [[], [sender.connectionId]])
    assert.deepEqual(await ben.mediaOf(sender.connectionId), { kind: 'ready', file: fileOf(ANNA) })
    assert.deepEqual(await ben.queue.wantedFiles(0, 10), await anna.queue.wantedFiles(0, 10))
    await world.close()
  })

  it('leaves a fetch with a worker of the same spool when the lane changes hands', async () => {
    const { world, sender, anna, ben } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    await anna.queue.take([wanted!.sequence])
    await ben.claim(sender.connectionId)

    const taken = await ben.queue.take([wanted!.sequence])
    await anna.ready(wanted!.sequence)

    assert.deepEqual(taken, [])
    assert.deepEqual(await ben.mediaOf(sender.connectionId), { kind: 'ready', file: fileOf(ANNA) })
    await world.close()
  })

  it('takes a fetch over from a worker of another spool when the lane changes hands, and not before', async () => {
    const { world, sender, anna, carl } = await threeWorkers(newWorld, 1)
    const [wanted] = await anna.due()
    await anna.queue.take([wanted!.sequence])

    const before = await carl.queue.take([wanted!.sequence])
    await carl.claim(sender.connectionId)
    const after = await carl.queue.take([wanted!.sequence])
    const fetched = { file: fileOf(ANNA), tookMs: 5, at: world.clock.now() }
    const annas = await anna.queue.ready(wanted!.sequence, fetched)
    await carl.ready(wanted!.sequence)

    assert.deepEqual([before, sequences(after), annas], [[], [wanted!.sequence], false])
    assert.deepEqual(await carl.mediaOf(sender.connectionId), { kind: 'ready', file: fileOf(CARL) })
    await world.close()
  })
}

function spoolsAreApart({ it }: Suite, newWorld: NewWorld): void {
  it('fetches files of another spool again when a lane comes from there, with a new count of tries', async () => {
    const { world, sender, anna, carl, ids } = await withFilesHere(newWorld, 3)
    const [head, ...others] = await carl.run(sender.connectionId)
    const seenBefore = head?.media?.kind

    const { missing } = await carl.queue.checkHeads([head!.sequence])
    const due = sequences(await carl.due())
    for (const sequence of due) await carl.bring(sequence)

    assert.equal(seenBefore, 'pending')
    assert.deepEqual(
      missing.map(({ sequence, tries, isLaneHeld }) => [sequence, tries, isLaneHeld]),
      [[head!.sequence, 0, true]],
    )
    // Files behind the head are fetched too, so that each need not wait until its message is the head.
    assert.deepEqual(due, [head!.sequence, ...others.map(({ sequence }) => sequence)])
    assert.deepEqual(await carl.mediaOf(sender.connectionId), { kind: 'ready', file: fileOf(CARL) })
    assert.ok((await timelineOf(world, ids[0]!)).includes('media-elsewhere'))
    assert.equal((await anna.queue.wantedFiles(0, 10)).length, 3)
    await world.close()
  })

  it('finds its files again when a lane comes back', async () => {
    const { world, sender, anna, carl, lane } = await withFilesHere(newWorld, 2)
    const [head] = await carl.run(sender.connectionId)
    await carl.queue.checkHeads([head!.sequence])
    await carl.process.lanes.release([lane])
    await anna.beat()
    await anna.claim(sender.connectionId)

    const { missing, present } = await anna.queue.checkHeads([head!.sequence])

    const connections = present.map(({ connectionId }) => connectionId)
    assert.deepEqual([missing, connections, await anna.due()], [[], [sender.connectionId], []])
    assert.deepEqual(await anna.mediaOf(sender.connectionId), { kind: 'ready', file: fileOf(ANNA) })
    assert.equal((await anna.queue.wantedFiles(0, 10)).length, 2)
    await world.close()
  })

  it('lets each spool delete its own file after the message is settled', async () => {
    const { world, sender, anna, ben, carl, lane } = await withFilesHere(newWorld, 2)
    const run = await carl.run(sender.connectionId)
    const [one, two] = sequences(run)
    await carl.queue.checkHeads([one!])
    for (const message of run) await carl.bring(message.sequence)
    for (const [index, message] of run.entries()) {
      await carl.process.lanes.record(step(world, lane, { start: { sequence: message.sequence, number: 1 } }))
      if (index === 0) assert.deepEqual(await filesOf(anna, carl), [[], []])
      await carl.process.lanes.record(step(world, lane, { finish: settled(world, message) }))
    }
    const both = await filesOf(anna, ben, carl)

    await anna.queue.forget([one!])
    await carl.queue.forget([two!])

    assert.deepEqual(both, [
      [one, two],
      [one, two],
      [one, two],
    ])
    assert.deepEqual(await filesOf(anna, ben, carl), [[two], [two], [one]])
    assert.deepEqual(
      (await carl.queue.wantedFiles(0, 10)).map(({ path }) => path),
      [fileOf(CARL).path],
    )
    await world.close()
  })

  it('G8: counts the bytes of an account for each spool separately', async () => {
    const { world, sender, anna, ben, carl } = await threeWorkers(newWorld, 3)
    const [wanted] = await anna.due()
    await anna.bring(wanted!.sequence)
    const quotaBytes = fileOf(ANNA).sizeBytes

    const due = [await anna.due({ quotaBytes }), await ben.due({ quotaBytes }), await carl.due({ quotaBytes })]

    assert.equal((await anna.due()).length, 2)
    assert.deepEqual(
      due.map((each) => each.length),
      [0, 0, 2],
    )
    assert.ok(sender)
    await world.close()
  })

  it('marks a file as lost only in the spool where it is missing', async () => {
    const { world, sender, anna, carl } = await withFilesHere(newWorld, 1)
    const [head] = await carl.run(sender.connectionId)
    const { sequence } = head!
    await carl.queue.checkHeads([sequence])
    await carl.bring(sequence)
    const when = { at: world.clock.now(), mostTries: 3 }

    await anna.queue.lost([{ sequence, path: fileOf(ANNA).path }], when)
    const carlHasIt = await carl.mediaOf(sender.connectionId)
    const changed = await carl.queue.lost([{ sequence, path: fileOf(CARL).path }], when)

    assert.deepEqual(carlHasIt, { kind: 'ready', file: fileOf(CARL) })
    assert.deepEqual(await anna.queue.wantedFiles(0, 10), [])
    assert.deepEqual([changed, sequences(await carl.due())], [[sender.connectionId], [sequence]])
    await world.close()
  })

  it('wants no file for a cancelled message in any spool', async () => {
    const { world, sender, anna, carl, ids } = await withFilesHere(newWorld, 1)
    const [head] = await carl.run(sender.connectionId)
    await carl.queue.checkHeads([head!.sequence])
    await world.administration.cancelMessage(ids[0]!, 'test')

    assert.deepEqual([await carl.due(), await carl.queue.take([head!.sequence])], [[], []])
    assert.equal((await anna.queue.releasable(0, 10)).files.length, 1)
    await world.close()
  })
}

/** Three living workers, and messages with media in the lane of one sender, which is unclaimed. */
async function threeWorkers(newWorld: NewWorld, count: number) {
  const world = await newWorld()
  const sender = await addSender(world)
  const ids = await Promise.all(
    Array.from({ length: count }, (_, i) => accept(world, sender, { media: true, text: `caption ${i}` })),
  )
  const [anna, ben, carl] = [
    new Worker(world, ANNA, HERE),
    new Worker(world, BEN, HERE),
    new Worker(world, CARL, THERE),
  ]
  for (const worker of [anna, ben, carl]) await worker.beat()
  return { world, sender, ids, anna, ben, carl }
}

/** ANNA has fetched everything; then CARL has claimed the lane. */
async function withFilesHere(newWorld: NewWorld, count: number) {
  const all = await threeWorkers(newWorld, count)
  for (const sequence of sequences(await all.anna.due())) await all.anna.bring(sequence)
  return { ...all, lane: await all.carl.claim(all.sender.connectionId) }
}

async function addLane(world: StorageWorld, sender: Sender, number: string): Promise<ConnectionId> {
  const id = await addConnection(world, sender.accountId, { number })
  await accept(world, { ...sender, number }, { media: true })
  return id
}

class Worker {
  readonly process: DispatchingProcess
  readonly #world: StorageWorld
  readonly #id: WorkerId

  constructor(world: StorageWorld, id: WorkerId, spool: SpoolId) {
    if (!world.processOf) throw new Error('this engine is for one process alone')
    this.#world = world
    this.#id = id
    this.process = world.processOf(id, spool)
  }

  get queue() {
    return this.process.mediaQueue
  }

  async beat(): Promise<void> {
    await this.process.lanes.heartbeat(this.#id, LASTS_MS)
  }

  async claim(connectionId: ConnectionId): Promise<ClaimedLane> {
    const request = {
      worker: this.#id,
      only: [connectionId],
      held: new Set<ConnectionId>(),
      shouldDefer: () => false,
      limit: 1,
    }
    const [lane] = await this.process.lanes.claim(request)
    if (!lane) throw new Error(`${this.#id} could not claim the lane`)
    return lane
  }

  async due(given: Partial<DueRequest> = {}): Promise<readonly MediaToFetch[]> {
    const wide = { after: null, fullHosts: [], accountsAtOnce: 100, perAccount: 100, quotaBytes: 1_000_000 }
    const request = { now: this.#world.clock.now(), busy: new Set<Sequence>(), ...wide, ...given }
    return (await this.queue.due(request)).media
  }

  async ready(sequence: Sequence): Promise<void> {
    const fetched = { file: fileOf(this.#id), tookMs: 5, at: this.#world.clock.now() }
    assert.equal(await this.queue.ready(sequence, fetched), true)
  }

  async bring(sequence: Sequence): Promise<void> {
    assert.deepEqual(sequences(await this.queue.take([sequence])), [sequence])
    await this.ready(sequence)
  }

  run(connectionId: ConnectionId) {
    return this.process.lanes.fetchNext(connectionId, 10, 0)
  }

  async mediaOf(connectionId: ConnectionId) {
    return (await this.run(connectionId))[0]?.media
  }
}

/** The file of a worker. All are the same, so use it for one message at a time. */
function fileOf(worker: WorkerId): MediaFile {
  return { path: `/spool/${worker}/file`, sizeBytes: 1_000, sha256: '00', mime: 'image/png' }
}

/** The messages whose files each worker could delete. */
function filesOf(...workers: readonly Worker[]): Promise<Sequence[][]> {
  return Promise.all(workers.map(async ({ queue }) => sequences((await queue.releasable(0, 10)).files)))
}

function sequences(media: readonly { readonly sequence: Sequence }[]): Sequence[] {
  return media.map(({ sequence }) => sequence)
}

function ascending(numbers: readonly number[]): number[] {
  return [...numbers].sort((a, b) => a - b)
}
