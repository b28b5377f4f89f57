import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { createStage, FETCHED, FILE } from '../../../../test/support/media-stage-world/create-stage.ts'
import { failed } from '../../../../test/support/media-stage-world/fake-media.ts'
import { SpoolUnavailable } from '../../ports/media.ts'

const PER_ACCOUNT = 4
const PER_HOST = 4
const IN_ALL = 64

describe('the media stage', () => {
  it('fetches waiting media, notifies the lane, and deletes the file once its message is final', async () => {
    const { stage, queue, fetcher, clock, settled } = createStage()
    queue.add({ host: 'a' })
    await stage.start()
    fetcher.end(FETCHED)
    await clock.pass(0)
    queue.settledFiles.push({ sequence: 1, path: FILE.path })
    await clock.pass(2_000)

    assert.deepEqual(queue.done, ['1 ready'])
    assert.deepEqual(settled, ['connection 1'])
    assert.deepEqual([fetcher.discarded, queue.forgotten], [[FILE.path], [1]])
    await stage.stop()
  })

  it('discards a file that is no longer needed', async () => {
    const { stage, queue, fetcher, clock, settled } = createStage()
    queue.add({ host: 'a' })
    queue.isWanted = false
    await stage.start()
    fetcher.end(FETCHED)
    await clock.pass(0)

    assert.deepEqual([fetcher.discarded, settled], [[FILE.path], []])
    await stage.stop()
  })

  it(`G8: fetches ${PER_ACCOUNT} at once for one account, ${IN_ALL} in all`, async () => {
    const { stage, queue, fetcher } = createStage()
    for (let i = 0; i < 200; i++) queue.add({ host: `host-${i}`, account: `account ${i % 20}` })
    await stage.start()

    const perAccount = Map.groupBy(fetcher.running, ({ account }) => account)
    assert.equal(fetcher.running.length, IN_ALL)
    assert.ok([...perAccount.values()].every((fetches) => fetches.length <= PER_ACCOUNT))
    await stage.stop()
  })

  it('G8: leaves an account room for its other hosts beside one that stalls', async () => {
    const { stage, queue, fetcher } = createStage()
    for (let i = 0; i < 10; i++) queue.add({ host: 'stalls', account: 'one' })
    queue.add({ host: 'quick', account: 'one' })
    await stage.start()

    assert.deepEqual(
      fetcher.running.map(({ sequence }) => sequence),
      [1, 2, 11],
    )
    await stage.stop()
  })

  it('G8: finds files at other hosts behind more files of a slow host than one poll reads', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < 100; i++) queue.add({ host: 'crawls', account: 'one' })
    queue.add({ host: 'quick', account: 'one' })
    await stage.start()
    await clock.pass(1_000)

    assert.deepEqual(
      fetcher.running.map(({ sequence }) => sequence),
      [1, 2, 101],
    )
    await stage.stop()
  })

  it('G8: finds what lies elsewhere behind more of a host that other accounts have filled', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < PER_HOST; i++) queue.add({ host: 'crawls', account: `before ${i}` })
    await stage.start()
    for (let i = 0; i < 100; i++) queue.add({ host: 'crawls', account: 'one' })
    queue.add({ host: 'quick', account: 'one' })
    await clock.pass(1_000)

    assert.deepEqual(
      fetcher.running.map(({ sequence }) => sequence),
      [1, 2, 3, 4, 105],
    )
    await stage.stop()
  })

  it(`fetches ${PER_HOST} at once from one host`, async () => {
    const { stage, queue, fetcher } = createStage()
    for (let i = 0; i < 20; i++) queue.add({ host: 'same', account: `account ${i % 5}` })
    await stage.start()

    assert.equal(fetcher.running.length, PER_HOST)
    await stage.stop()
  })

  it('G8: lets accounts take turns, however much one of them has', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < 40; i++) queue.add({ host: `host-${i}`, account: 'many' })
    await stage.start()
    for (let i = 0; i < 4; i++) queue.add({ host: `other-${i}`, account: `few ${i}` })

    await clock.pass(1_000)

    assert.deepEqual(
      new Set(fetcher.running.map(({ account }) => account)),
      new Set(['many', 'few 0', 'few 1', 'few 2', 'few 3']),
    )
    await stage.stop()
  })

  it('fetches the heads of lanes first, and whatever the quota says', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    queue.spooled = 1_000_000
    for (let i = 0; i < 10; i++) queue.add({ host: `host-${i}` })
    await stage.start()
    const ahead = fetcher.running.length

    stage.want([8])
    await clock.pass(20)

    assert.equal(ahead, 0)
    assert.deepEqual(
      fetcher.running.map(({ sequence }) => sequence),
      [8],
    )
    await stage.stop()
  })

  it('remembers a head without room until there is some', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < 10; i++) queue.add({ host: `host-${i}` })
    await stage.start()
    stage.want([10])
    await clock.pass(20)

    fetcher.end(FETCHED)
    await clock.pass(20)

    assert.equal(fetcher.running.at(-1)?.sequence, 10)
    await stage.stop()
  })
})

describe('the media stage beside other workers', () => {
  it('fetches only what it could claim, and notifies its lane when another worker has fetched the file', async () => {
    const { stage, queue, fetcher, clock, settled } = createStage()
    const [others] = [queue.add({ host: 'a' }), queue.add({ host: 'b' })]
    queue.ofOthers.add(others.sequence)
    await stage.start()
    stage.want([others.sequence])
    await clock.pass(20)
    const fetching = fetcher.running.map(({ sequence }) => sequence)

    others.isDone = true
    await clock.pass(1_000)
    await clock.pass(1_000)

    assert.deepEqual(fetching, [2])
    assert.deepEqual(settled, [others.connectionId])
    await stage.stop()
  })

  it('skips lanes that are assigned to another worker, until it holds them itself', async () => {
    const { stage, queue, fetcher, clock, others } = createStage()
    const [free, anothers] = [queue.add({ host: 'a', isLaneHeld: false }), queue.add({ host: 'b', isLaneHeld: false })]
    others.add(anothers.connectionId)
    await stage.start()
    const before = fetcher.running.map(({ sequence }) => sequence)

    Object.assign(anothers, { isLaneHeld: true })
    await clock.pass(1_000)

    assert.deepEqual(before, [free.sequence])
    assert.deepEqual(
      fetcher.running.map(({ sequence }) => sequence),
      [free.sequence, anothers.sequence],
    )
    await stage.stop()
  })

  it('frees the room of files that it could not claim', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < PER_ACCOUNT; i++) queue.ofOthers.add(queue.add({ host: `host-${i}` }).sequence)
    queue.isAway = 'certainly'
    await stage.start()
    queue.isAway = false
    await clock.pass(1_000)
    const whileAnothers = fetcher.running.length

    queue.ofOthers.clear()
    await clock.pass(1_000)

    assert.deepEqual([whileAnothers, fetcher.running.length], [0, PER_ACCOUNT])
    await stage.stop()
  })

  it('G8: comes to every account, even with more accounts than one poll reads', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < 200; i++) queue.add({ host: `host-${i}`, account: `account ${String(i).padStart(3, '0')}` })
    await stage.start()
    const seen = new Set<string>()

    for (let round = 0; round < 10; round++) {
      for (const { account } of fetcher.running) seen.add(account)
      while (fetcher.running.length > 0) fetcher.end(FETCHED)
      await clock.pass(20)
    }

    assert.equal(seen.size, 200)
    await stage.stop()
  })

  it('G8: lets accounts take turns when all of them have more than there is room for', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < 40 * 40; i++)
      queue.add({ host: `host-${i}`, account: `account ${String(i % 40).padStart(2, '0')}` })
    await stage.start()
    const seen = new Set<string>()

    for (let round = 0; round < 5; round++) {
      for (const { account } of fetcher.running) seen.add(account)
      while (fetcher.running.length > 0) fetcher.end(FETCHED)
      await clock.pass(20)
    }

    assert.equal(seen.size, 40)
    await stage.stop()
  })

  it('polls once a second while there is nothing to do', async () => {
    const { stage, queue, clock } = createStage()
    await stage.start()
    const before = queue.polls

    await clock.pass(10_000)

    assert.equal(queue.polls - before, 10)
    await stage.stop()
  })
})

describe('the media stage after failures', () => {
  it('tries four times within five minutes and then fails the message', async () => {
    const { stage, queue, fetcher, clock, settled } = createStage()
    queue.add({ host: 'a' })
    await stage.start()
    const startedAt = clock.now()
    const tries: number[] = []

    for (let second = 0; second < 300; second++) {
      if (fetcher.running.length > 0) {
        tries.push((clock.now() - startedAt) / 1_000)
        fetcher.end(failed())
      }
      await clock.pass(1_000)
    }

    assert.equal(tries.length, 4)
    assert.deepEqual(queue.done, ['1 retry', '1 retry', '1 retry', '1 failed media_timeout'])
    assert.deepEqual(settled, ['connection 1'])
    await stage.stop()
  })

  it('fails the message at once when trying again cannot help', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    queue.add({ host: 'a' })
    await stage.start()
    fetcher.end(failed({ code: 'media_blocked', mayPass: false }))
    await clock.pass(0)

    assert.deepEqual(queue.done, ['1 failed media_blocked'])
    await stage.stop()
  })

  it('waits as long as the host asks for, but not for ever', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    const [one, two] = [queue.add({ host: 'a' }), queue.add({ host: 'b' })]
    await stage.start()
    fetcher.end(failed({ retryAfterMs: 60_000 }))
    fetcher.end(failed({ retryAfterMs: 86_400_000 }))
    await clock.pass(0)

    assert.deepEqual(
      [one, two].map(({ nextTryAt }) => nextTryAt - clock.now()),
      [60_000, 150_000],
    )
    await stage.stop()
  })

  it('G11: throws a file away that could certainly not be recorded, and keeps one that may have been', async () => {
    for (const [isAway, discarded] of [
      ['certainly', [FILE.path]],
      ['unknown', []],
    ] as const) {
      const { stage, queue, fetcher, clock } = createStage()
      queue.add({ host: 'a' })
      await stage.start()

      queue.isAway = isAway
      fetcher.end(FETCHED)
      await clock.pass(0)

      assert.deepEqual(fetcher.discarded, discarded)
      await stage.stop()
    }
  })

  it('G11: charges no message for a spool that cannot be written, and goes on by itself', async () => {
    const { stage, queue, fetcher, clock, events } = createStage()
    queue.add({ host: 'a' })
    await stage.start()
    stage.want([1])
    fetcher.fail(new SpoolUnavailable('full'))
    await clock.pass(0)
    const stalled = [fetcher.running.length, events.map(({ event }) => event)]

    await clock.pass(6_000)
    fetcher.end(FETCHED)
    await clock.pass(0)

    assert.deepEqual(stalled, [0, ['media.stalled']])
    assert.deepEqual(queue.done, ['1 ready'])
    await stage.stop()
  })

  it('G11: fetches nothing over and over that could not be recorded', async () => {
    const { stage, queue, fetcher, clock } = createStage()
    for (let i = 0; i < 3; i++) queue.add({ host: `host-${i}` })
    await stage.start()
    stage.want([1, 2, 3])

    queue.isReadOnly = true
    let fetches = 0
    for (let at = 0; at < 100; at++) {
      while (fetcher.running.length > 0) {
        fetches += 1
        fetcher.end(FETCHED)
      }
      await clock.pass(100)
    }
    queue.isReadOnly = false
    await clock.pass(6_000)
    while (fetcher.running.length > 0) fetcher.end(FETCHED)
    await clock.pass(20)

    assert.ok(fetches <= 9, `${fetches} in ten seconds`)
    assert.deepEqual(queue.done, ['1 ready', '2 ready', '3 ready'])
    await stage.stop()
  })

  it('aborts running fetches when it stops, records no failure, and is harmless to stop twice', async () => {
    const { stage, queue, fetcher } = createStage()
    queue.add({ host: 'a' })
    await stage.start()

    await stage.stop()
    await stage.stop()

    assert.deepEqual([fetcher.aborted, queue.done], [1, []])
  })
})
