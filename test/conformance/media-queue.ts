import assert from 'node:assert/strict'
import {
  ANNA,
  accept,
  addSender,
  head,
  holdLane,
  type NewWorld,
  open,
  type StorageWorld,
  type Suite,
  settled,
  stateOf,
  step,
} from './storage-world.ts'

const FILE = { path: 'spool/file', sizeBytes: 1_000, sha256: '00', mime: 'image/png' }

/** What every engine promises the media stage. */
export function mediaQueueKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it('names what is due of one account, oldest first, without what is busy', async () => {
    const { world, sender } = await withMedia(newWorld, 3)
    const stranger = await addSender(world)
    await accept(world, stranger, { media: true })
    const all = await due(world, sender.accountId)
    const [first] = all

    const rest = await world.mediaQueue.due({
      accountId: sender.accountId,
      now: world.clock.now(),
      busy: new Set([first!.sequence]),
      limit: 1,
    })

    assert.equal(all.length, 3)
    assert.deepEqual(
      all.map(({ sequence }) => sequence),
      all.map(({ sequence }) => sequence).sort((a, b) => a - b),
    )
    assert.deepEqual(
      rest.map(({ sequence }) => sequence),
      [all[1]?.sequence],
    )
    assert.deepEqual(
      new Set(await world.mediaQueue.accountsWithPending()),
      new Set([sender.accountId, stranger.accountId]),
    )
    await world.close()
  })

  it('brings a file to its message, once', async () => {
    const { world, sender } = await withMedia(newWorld, 1)
    const [wanted] = await due(world, sender.accountId)
    const fetched = { file: FILE, tookMs: 5, at: world.clock.now() }

    const answers = [
      await world.mediaQueue.ready(wanted!.sequence, fetched),
      await world.mediaQueue.ready(wanted!.sequence, fetched),
    ]

    assert.deepEqual(answers, [true, false])
    assert.deepEqual((await head(world, sender.connectionId)).media, { kind: 'ready', file: FILE })
    assert.deepEqual(await due(world, sender.accountId), [])
    assert.equal(await world.mediaQueue.spoolBytes(sender.accountId), FILE.sizeBytes)
    assert.deepEqual(await world.mediaQueue.wantedFiles(), [FILE.path])
    await world.close()
  })

  it('does not want the file of a message that was cancelled meanwhile', async () => {
    const { world, sender, ids } = await withMedia(newWorld, 1)
    const [wanted] = await due(world, sender.accountId)
    await world.administration.cancelMessage(ids[0]!, 'test')

    assert.equal(
      await world.mediaQueue.ready(wanted!.sequence, { file: FILE, tookMs: 5, at: world.clock.now() }),
      false,
    )
    assert.deepEqual(await due(world, sender.accountId), [])
    assert.deepEqual(await world.mediaQueue.pendingOf([wanted!.sequence]), [])
    await world.close()
  })

  it('puts a fetch off and counts its tries', async () => {
    const { world, sender } = await withMedia(newWorld, 1)
    const [wanted] = await due(world, sender.accountId)
    const nextTryAt = world.clock.now() + 5_000
    await world.mediaQueue.retry(wanted!.sequence, {
      code: 'media_timeout',
      words: 'slow',
      at: world.clock.now(),
      nextTryAt,
    })

    const before = await due(world, sender.accountId)
    const [pending] = await world.mediaQueue.pendingOf([wanted!.sequence])
    await world.clock.pass(5_000)

    assert.deepEqual(before, [])
    assert.deepEqual([pending?.tries, pending?.nextTryAt], [1, nextTryAt])
    assert.equal((await due(world, sender.accountId)).length, 1)
    await world.close()
  })

  it('fails a message for want of its media, if it still waits', async () => {
    const { world, sender, ids } = await withMedia(newWorld, 2)
    const [one, two] = await due(world, sender.accountId)
    const trial = { code: 'media_status', words: '404', at: world.clock.now() }
    await world.administration.cancelMessage(ids[1]!, 'test')

    await world.mediaQueue.fail(one!.sequence, trial)
    await world.mediaQueue.fail(two!.sequence, trial)

    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(world, id))), ['FAILED', 'CANCELLED'])
    await world.close()
  })

  it('lets go of files whose message is settled, and of no other', async () => {
    const { world, sender } = await withMedia(newWorld, 2)
    const [one, two] = await due(world, sender.accountId)
    for (const [index, wanted] of [one!, two!].entries()) {
      const file = { ...FILE, path: `spool/${index}` }
      await world.mediaQueue.ready(wanted.sequence, { file, tookMs: 5, at: world.clock.now() })
    }
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const whileOpen = await world.mediaQueue.releasable(0, 100)
    await world.lanes.record(step(world, lane, { close: settled(world, message) }))

    const afterwards = await world.mediaQueue.releasable(0, 100)
    await world.mediaQueue.forget(afterwards.files.map(({ sequence }) => sequence))

    assert.deepEqual(whileOpen.files, [])
    assert.deepEqual(
      afterwards.files.map(({ sequence, path }) => [sequence, path]),
      [[one!.sequence, 'spool/0']],
    )
    assert.deepEqual(await world.mediaQueue.wantedFiles(), ['spool/1'])
    assert.equal(await world.mediaQueue.spoolBytes(sender.accountId), FILE.sizeBytes)
    await world.close()
  })
}

async function withMedia(newWorld: NewWorld, count: number) {
  const world = await newWorld()
  const sender = await addSender(world)
  const ids = []
  for (let i = 0; i < count; i++) ids.push(await accept(world, sender, { media: true, text: `caption ${i}` }))
  return { world, sender, ids }
}

function due(world: StorageWorld, accountId: Parameters<StorageWorld['mediaQueue']['spoolBytes']>[0]) {
  return world.mediaQueue.due({ accountId, now: world.clock.now(), busy: new Set(), limit: 100 })
}
