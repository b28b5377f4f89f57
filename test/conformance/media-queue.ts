import assert from 'node:assert/strict'
import type { MediaFile, Sequence } from '../../src/core/message/message.ts'
import type { DueMedia, DueRequest, MediaToFetch } from '../../src/core/ports/media-queue.ts'
import {
  ANNA,
  accept,
  addSender,
  attempt,
  head,
  holdLane,
  KEEP,
  type NewWorld,
  open,
  type Sender,
  type StorageWorld,
  type Suite,
  settled,
  stateOf,
  step,
  timelineOf,
} from './storage-world.ts'

const FILE = { path: 'spool/file', sizeBytes: 1_000, sha256: '00', mime: 'image/png' }
const MOST_TRIES = 3

/** What every engine promises the media stage of one worker. */
export function mediaQueueKeepsItsPromises(suite: Suite, newWorld: NewWorld): void {
  fetchesKeepTheirPromises(suite, newWorld)
  lookingKeepsItsPromises(suite, newWorld)
  spoolRecordsKeepTheirPromises(suite, newWorld)
  lostFilesKeepTheirPromises(suite, newWorld)
}

function fetchesKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('returns a fetch in its current state, and none that is no longer wanted', async () => {
    const { world, sender, ids } = await withMedia(newWorld, 2)
    const [one, two] = await due(world)
    await world.administration.cancelMessage(ids[1]!, 'test')

    const [taken, ...others] = await world.mediaQueue.take([one!.sequence, two!.sequence, 999_999])

    assert.deepEqual(others, [])
    assert.deepEqual(
      [taken?.sequence, taken?.messageId, taken?.accountId, taken?.connectionId, taken?.type, taken?.url, taken?.tries],
      [one?.sequence, ids[0], sender.accountId, sender.connectionId, 'image', 'https://files.example/a.png', 0],
    )
    await world.close()
  })

  it('brings a file to its message, once', async () => {
    const { world, sender } = await withMedia(newWorld, 1)
    const [wanted] = await takeAll(world)
    const fetched = { file: FILE, tookMs: 5, at: world.clock.now() }

    const answers = [
      await world.mediaQueue.ready(wanted!.sequence, fetched),
      await world.mediaQueue.ready(wanted!.sequence, fetched),
    ]

    assert.deepEqual(answers, [true, false])
    assert.deepEqual((await head(world, sender.connectionId)).media, { kind: 'ready', file: FILE })
    assert.deepEqual(await due(world), [])
    assert.deepEqual(await world.mediaQueue.wantedFiles(0, 10), [{ sequence: wanted!.sequence, path: FILE.path }])
    await world.close()
  })

  it('does not want the file of a message that was cancelled meanwhile', async () => {
    const { world, ids } = await withMedia(newWorld, 1)
    const [wanted] = await takeAll(world)
    await world.administration.cancelMessage(ids[0]!, 'test')

    assert.equal(
      await world.mediaQueue.ready(wanted!.sequence, { file: FILE, tookMs: 5, at: world.clock.now() }),
      false,
    )
    assert.deepEqual(await due(world), [])
    assert.deepEqual(await world.mediaQueue.checkHeads([wanted!.sequence]), { missing: [], present: [] })
    await world.close()
  })

  it('defers a fetch and counts its tries', async () => {
    const { world } = await withMedia(newWorld, 1)
    const [wanted] = await takeAll(world)
    const nextTryAt = world.clock.now() + 5_000
    const failed = { code: 'media_timeout', words: 'slow', at: world.clock.now() }
    await world.mediaQueue.retry(wanted!.sequence, { ...failed, nextTryAt })

    const before = await due(world)
    const { missing } = await world.mediaQueue.checkHeads([wanted!.sequence])
    await world.clock.pass(5_000)

    assert.deepEqual(before, [])
    assert.deepEqual([missing[0]?.tries, missing[0]?.nextTryAt], [1, nextTryAt])
    assert.equal((await due(world)).length, 1)
    await world.close()
  })

  it('fails a message because its media is unavailable, if it still waits', async () => {
    const { world, ids } = await withMedia(newWorld, 2)
    const [one, two] = await takeAll(world)
    const trial = { code: 'media_status', words: '404', at: world.clock.now() }
    await world.administration.cancelMessage(ids[1]!, 'test')

    await world.mediaQueue.fail(one!.sequence, trial)
    await world.mediaQueue.fail(two!.sequence, trial)

    assert.deepEqual(await Promise.all(ids.map((id) => stateOf(world, id))), ['FAILED', 'CANCELLED'])
    await world.close()
  })

  it('G5: makes a message without media UNCONFIRMED if it may have arrived before', async () => {
    const { world, sender, ids } = await withMedia(newWorld, 1)
    const [wanted] = await takeAll(world)
    await sendWithUnknownResult(world, sender)

    await world.mediaQueue.fail(wanted!.sequence, { code: 'media_status', words: '404', at: world.clock.now() })

    const { message } = await world.administration.explainMessage(ids[0]!)
    assert.deepEqual([message.state, message.reason], ['UNCONFIRMED', 'result_unknown'])
    await world.close()
  })

  it('G5: fails no message during its attempt', async () => {
    const { world, sender, ids } = await withMedia(newWorld, 1)
    const [wanted] = await takeAll(world)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    await open(world, lane, await head(world, sender.connectionId))

    await world.mediaQueue.fail(wanted!.sequence, { code: 'media_status', words: '404', at: world.clock.now() })

    assert.equal(await stateOf(world, ids[0]!), 'SENDING')
    await world.close()
  })
}

function lookingKeepsItsPromises({ it }: Suite, newWorld: NewWorld): void {
  it('lists due files account by account, oldest first, without those being fetched', async () => {
    const { world, sender } = await withMedia(newWorld, 3)
    const stranger = await addSender(world)
    await accept(world, stranger, { media: true })
    const all = await due(world)
    const own = all.filter(({ accountId }) => accountId === sender.accountId)

    const rest = await due(world, { busy: new Set([own[0]!.sequence]), perAccount: 1 })

    const order = own.map(({ sequence }) => sequence)
    assert.deepEqual(
      order,
      [...order].sort((a, b) => a - b),
    )
    assert.deepEqual([own.length, all.length, all.indexOf(own[2]!) - all.indexOf(own[0]!)], [3, 4, 2])
    const [strangers] = all.filter(({ accountId }) => accountId === stranger.accountId)
    assert.deepEqual(new Set(rest.map(({ sequence }) => sequence)), new Set([own[1]?.sequence, strangers?.sequence]))
    assert.equal(rest.length, 2)
    await world.close()
  })

  it('G8: reaches every account, however few one query covers', async () => {
    const world = await newWorld()
    const accounts = new Set<string>()
    for (let i = 0; i < 5; i++) {
      const sender = await addSender(world)
      await accept(world, sender, { media: true })
      await accept(world, sender, { media: true })
      accounts.add(sender.accountId)
    }
    const seen: string[] = []
    let after: DueMedia['scannedThrough'] = null
    let queries = 0
    do {
      const { media, scannedThrough }: DueMedia = await world.mediaQueue.due({
        ...everything(world),
        after,
        accountsAtOnce: 2,
        perAccount: 1,
      })
      assert.ok(media.length <= 2)
      seen.push(...media.map(({ accountId }) => accountId))
      after = scannedThrough
    } while (after !== null && queries++ < 20)

    assert.equal(after, null)
    assert.deepEqual([seen.length, new Set(seen)], [5, accounts])
    await world.close()
  })

  it('G8: leaves out files of hosts that have no room for their account', async () => {
    const { world, sender } = await withMedia(newWorld, 2)
    const stranger = await addSender(world)
    await accept(world, stranger, { media: true })
    await accept(world, sender, { media: true, url: 'https://files.example:8443/a.png' })
    const [host, port] = ['files.example', 'files.example:8443']

    const offered = [
      await due(world, { fullHosts: [{ accountId: sender.accountId, host }] }),
      await due(world, { fullHosts: [{ accountId: null, host }] }),
      await due(world, { fullHosts: [{ accountId: null, host: port }] }),
    ]

    assert.deepEqual(
      offered.map((media) => media.filter(({ accountId }) => accountId === sender.accountId).length),
      [1, 1, 2],
    )
    assert.deepEqual(
      offered.map((media) => media.filter(({ accountId }) => accountId === stranger.accountId).length),
      [1, 0, 1],
    )
    await world.close()
  })

  it('G8: reaches a file behind thousands of files of a host that has no room or must wait', async () => {
    const world = await newWorld()
    const sender = await addSender(world)
    const crawling = { media: true, url: 'https://crawls.example/a.png' }
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 100 }, () => accept(world, sender, crawling)))
    const id = await accept(world, sender, { media: true })
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 100 }, () => accept(world, sender, crawling)))
    const given = { perAccount: 32, fullHosts: [{ accountId: sender.accountId, host: 'crawls.example' }] }

    const found = async () => {
      for (let round = 1; round <= 30; round++) {
        const [first, ...others] = await due(world, given)
        assert.deepEqual(others, [])
        if (first) return first.messageId
      }
      return null
    }

    assert.equal(await found(), id)
    assert.deepEqual(
      (await due(world, given)).map(({ messageId }) => messageId),
      [id],
      'until it is busy',
    )
    assert.equal((await due(world, { perAccount: 32 })).length, 32, 'and the oldest as soon as there is room')
    assert.equal(await found(), id)
    await world.close()
  })

  it('G8: leaves out accounts whose files fill their part of the spool', async () => {
    const { world, sender } = await withMedia(newWorld, 2)
    const stranger = await addSender(world)
    await accept(world, stranger, { media: true })
    await bring(world, (await due(world)).find(({ accountId }) => accountId === sender.accountId)!, FILE)

    const [full, roomy] = [await due(world, { quotaBytes: 1_000 }), await due(world, { quotaBytes: 1_001 })]

    assert.deepEqual(
      full.map(({ accountId }) => accountId),
      [stranger.accountId],
    )
    assert.equal(roomy.length, 2)
    await world.close()
  })

  it('reports for heads whether their file is there', async () => {
    const { world, sender } = await withMedia(newWorld, 2)
    const [one, two] = await due(world)
    await holdLane(world, ANNA, sender.connectionId)
    await bring(world, one!, FILE)

    const { missing, present } = await world.mediaQueue.checkHeads([one!.sequence, two!.sequence, 999_999])

    assert.deepEqual(
      missing.map(({ sequence, isLaneHeld }) => [sequence, isLaneHeld]),
      [[two!.sequence, true]],
    )
    assert.deepEqual(
      present.map(({ connectionId }) => connectionId),
      [sender.connectionId],
    )
    await world.close()
  })
}

function spoolRecordsKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('deletes files of settled messages, and no others', async () => {
    const { world, sender } = await withMedia(newWorld, 2)
    const [one, two] = await due(world)
    await bring(world, one!, { ...FILE, path: 'spool/0' })
    await bring(world, two!, { ...FILE, path: 'spool/1' })
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const whileOpen = await world.mediaQueue.releasable(0, 100)
    await world.lanes.record(step(world, lane, { finish: settled(world, message) }))

    const afterwards = await world.mediaQueue.releasable(0, 100)
    await world.mediaQueue.forget(afterwards.files.map(({ sequence }) => sequence))

    assert.deepEqual(whileOpen.files, [])
    assert.deepEqual(afterwards.files, [{ sequence: one!.sequence, path: 'spool/0' }])
    assert.deepEqual(await world.mediaQueue.releasable(0, 100), { files: [], scannedThrough: null })
    assert.deepEqual(await world.mediaQueue.wantedFiles(0, 10), [{ sequence: two!.sequence, path: 'spool/1' }])
    // Deleted files no longer count for the account.
    await accept(world, sender, { media: true })
    assert.equal((await due(world, { quotaBytes: 1_001 })).length, 1)
    await world.close()
  })

  it('walks the spool in chunks', async () => {
    const { world } = await withMedia(newWorld, 3)
    for (const [index, wanted] of (await due(world)).entries())
      await bring(world, wanted, { ...FILE, path: `spool/${index}` })

    const first = await world.mediaQueue.wantedFiles(0, 2)
    const rest = await world.mediaQueue.wantedFiles(first.at(-1)!.sequence, 2)
    const { scannedThrough } = await world.mediaQueue.releasable(0, 2)

    assert.deepEqual(
      [...first, ...rest].map(({ path }) => path),
      ['spool/0', 'spool/1', 'spool/2'],
    )
    assert.equal(scannedThrough, first[1]?.sequence)
    assert.equal((await world.mediaQueue.releasable(scannedThrough ?? 0, 2)).scannedThrough, null)
    await world.close()
  })
}

function lostFilesKeepTheirPromises({ it }: Suite, newWorld: NewWorld): void {
  it('fetches a missing file again, and reports it', async () => {
    const { world, sender, ids } = await withMedia(newWorld, 1)
    const [wanted] = await due(world)
    await bring(world, wanted!, FILE)

    const changed = await lose(world, wanted!.sequence, FILE.path)
    const [again] = await due(world)
    const { media } = await head(world, sender.connectionId)

    assert.deepEqual(changed, [sender.connectionId])
    assert.equal(media?.kind, 'pending')
    assert.deepEqual([again?.sequence, again?.tries], [wanted?.sequence, 1])
    assert.deepEqual(await world.mediaQueue.wantedFiles(0, 10), [])
    assert.ok((await timelineOf(world, ids[0]!)).includes('media-lost'))
    await bring(world, again!, { ...FILE, path: 'spool/again' })
    assert.deepEqual((await head(world, sender.connectionId)).media, {
      kind: 'ready',
      file: { ...FILE, path: 'spool/again' },
    })
    await world.close()
  })

  it('fails a message whose file goes missing repeatedly', async () => {
    const { world, ids } = await withMedia(newWorld, 1)
    for (let fetched = 0; fetched < MOST_TRIES; fetched++) {
      assert.equal(await stateOf(world, ids[0]!), 'QUEUED')
      const [wanted] = await due(world)
      await bring(world, wanted!, FILE)
      await lose(world, wanted!.sequence, FILE.path)
    }

    const { message } = await world.administration.explainMessage(ids[0]!)

    assert.deepEqual([message.state, message.reason], ['FAILED', 'media_lost'])
    assert.deepEqual(await due(world), [])
    assert.deepEqual(await world.mediaQueue.wantedFiles(0, 10), [])
    await world.close()
  })

  it('leaves a file alone that was fetched again, and one that is in an attempt', async () => {
    const { world, sender } = await withMedia(newWorld, 1)
    const [wanted] = await due(world)
    await bring(world, wanted!, FILE)
    const anew = await lose(world, wanted!.sequence, 'spool/before')
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)

    const handedOver = await lose(world, wanted!.sequence, FILE.path)
    await world.lanes.record(step(world, lane, { finish: { attempt: rejected(world, message), disposition: KEEP } }))
    const afterwards = await lose(world, wanted!.sequence, FILE.path)

    assert.deepEqual([anew, handedOver, afterwards], [[], [], [sender.connectionId]])
    await world.close()
  })

  it('forgets a missing file whose message is settled', async () => {
    const { world, ids } = await withMedia(newWorld, 1)
    const [wanted] = await due(world)
    await bring(world, wanted!, FILE)
    await world.administration.cancelMessage(ids[0]!, 'test')

    const changed = await lose(world, wanted!.sequence, FILE.path)

    assert.deepEqual([changed, await due(world)], [[], []])
    assert.deepEqual(await world.mediaQueue.wantedFiles(0, 10), [])
    assert.deepEqual(await world.mediaQueue.releasable(0, 10), { files: [], scannedThrough: null })
    assert.equal(await stateOf(world, ids[0]!), 'CANCELLED')
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

function everything({ clock }: StorageWorld): DueRequest {
  const [now, busy] = [clock.now(), new Set<Sequence>()]
  return { now, busy, fullHosts: [], after: null, accountsAtOnce: 100, perAccount: 100, quotaBytes: 1_000_000 }
}

async function due(world: StorageWorld, given: Partial<DueRequest> = {}): Promise<readonly MediaToFetch[]> {
  return (await world.mediaQueue.due({ ...everything(world), ...given })).media
}

async function takeAll(world: StorageWorld): Promise<readonly MediaToFetch[]> {
  return world.mediaQueue.take((await due(world)).map(({ sequence }) => sequence))
}

async function bring(world: StorageWorld, { sequence }: MediaToFetch, file: MediaFile): Promise<void> {
  await world.mediaQueue.take([sequence])
  assert.equal(await world.mediaQueue.ready(sequence, { file, tookMs: 5, at: world.clock.now() }), true)
}

function lose(world: StorageWorld, sequence: Sequence, path: string) {
  return world.mediaQueue.lost([{ sequence, path }], { at: world.clock.now(), mostTries: MOST_TRIES })
}

function rejected(world: StorageWorld, message: Parameters<typeof attempt>[1]) {
  return attempt(world, message, 'rejected')
}

/** Makes an attempt with an unknown result, after which the message waits to be sent once more. */
async function sendWithUnknownResult(world: StorageWorld, { connectionId }: Sender): Promise<void> {
  const lane = await holdLane(world, ANNA, connectionId)
  const message = await head(world, connectionId)
  await open(world, lane, message)
  const close = { attempt: attempt(world, message, 'unknown'), disposition: KEEP }
  await world.lanes.record(step(world, lane, { finish: close }))
}
