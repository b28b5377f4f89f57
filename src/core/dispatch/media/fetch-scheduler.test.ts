import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { createStage, FETCHED } from '../../../../test/support/media-stage-world/create-stage.ts'

const PER_ACCOUNT = 4
const PER_HOST = 4
const IN_ALL = 64

describe('the media stage between accounts', () => {
  it('G8: gives the next room to the head of an account that has none, however many heads others have', async () => {
    const { stage, queue, fetcher, clock } = createHeads()
    for (let i = 0; i < 16 * 50; i++) queue.add({ host: `host-${i}`, account: `account ${i % 16}` })
    await wantAll(stage, queue, clock)
    const late = queue.add({ host: 'late', account: 'late' })
    await wantAll(stage, queue, clock)
    const before = fetcher.running.length

    fetcher.end(FETCHED)
    await clock.pass(20)

    assert.equal(before, IN_ALL)
    assert.equal(fetcher.running.at(-1)?.sequence, late.sequence)
    await stage.stop()
  })

  it('G8: lets more accounts than there is room for take turns, whatever the age of their heads', async () => {
    const { stage, queue, fetcher, clock } = createHeads()
    for (let i = 0; i < 100 * 5; i++) queue.add({ host: `host-${i}`, account: `account ${i % 100}` })
    queue.add({ host: 'late', account: 'late' })
    await wantAll(stage, queue, clock)

    const begun: string[] = []
    while (!begun.includes('late') && begun.length < 500) {
      begun.push(fetcher.running[0]?.account ?? '')
      fetcher.end(FETCHED)
      await clock.pass(20)
    }

    assert.equal(begun.length, 101, 'each of the others has had one')
    await stage.stop()
  })

  it('G8: gives no account a second place at a host while another has none there', async () => {
    const { stage, queue, fetcher, clock } = createHeads()
    for (let i = 0; i < 20; i++) queue.add({ host: 'same', account: `account ${i % 2}` })
    await wantAll(stage, queue, clock)
    for (let i = 0; i < 3; i++) queue.add({ host: `other-${i}`, account: 'late' })
    await wantAll(stage, queue, clock)
    const late = queue.add({ host: 'same', account: 'late' })
    await wantAll(stage, queue, clock)
    const before = fetcher.running.length

    fetcher.end(FETCHED)
    await clock.pass(20)

    assert.equal(before, PER_HOST + 3)
    assert.equal(fetcher.running.at(-1)?.sequence, late.sequence)
    await stage.stop()
  })

  it('leaves no place at a host empty for an account that has no room for it', async () => {
    const { stage, queue, fetcher, clock } = createHeads()
    for (let i = 0; i < PER_ACCOUNT; i++) queue.add({ host: `other-${i}`, account: 'full' })
    await wantAll(stage, queue, clock)
    queue.add({ host: 'same', account: 'full' })
    for (let i = 0; i < 2; i++) queue.add({ host: 'same', account: 'one' })
    await wantAll(stage, queue, clock)

    assert.deepEqual(
      fetcher.running.filter(({ account }) => account === 'one').map(({ sequence }) => sequence),
      [PER_ACCOUNT + 2, PER_ACCOUNT + 3],
    )
    await stage.stop()
  })
})

type Stage = ReturnType<typeof createStage>

/** Nothing is fetched ahead: only what is wanted. */
function createHeads(): Stage {
  const created = createStage()
  created.queue.spooled = 1_000_000
  return created
}

async function wantAll(stage: Stage['stage'], queue: Stage['queue'], clock: Stage['clock']): Promise<void> {
  await stage.start()
  stage.want(queue.items.map(({ sequence }) => sequence))
  await clock.pass(20)
}
