import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import { Refusal } from '../../core/refusals.ts'
import { type ChildEvents, ProcessGroup } from './process-group.ts'

interface FakeChild {
  readonly number: number
  readonly events: ChildEvents
  readonly sent: string[]
}

/** A group of processes that are none: each does what the test says. */
function newGroup(count = 2) {
  const clock = new HandClock()
  const children: FakeChild[] = []
  const logged: Record<string, unknown>[] = []
  const group = new ProcessGroup({
    count,
    clock,
    logger: { warn: (fields: object) => logged.push({ ...fields }), info: () => {} },
    startChild(number, events) {
      const sent: string[] = []
      children.push({ number, events, sent })
      return { stop: () => void sent.push('stop'), kill: () => void sent.push('kill') }
    },
  })
  const child = (index: number) => {
    const found = children.at(index)
    if (!found) throw new Error(`no child ${index}`)
    return found
  }
  return { group, clock, children, logged, child }
}

async function newServingGroup(count = 2) {
  const world = newGroup(count)
  const started = world.group.start()
  for (const { events } of world.children) events.serving('http://127.0.0.1:1')
  await started
  return world
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  return (await Promise.race([promise, new Promise((resolve) => setImmediate(resolve, pending))])) === pending
}

describe('several processes', () => {
  it('serve once all of them do', async () => {
    const { group, child, children } = newGroup()

    const started = group.start()
    child(0).events.serving('http://127.0.0.1:1')
    const isEarly = !(await isPending(started))
    child(1).events.serving('http://127.0.0.1:1')

    assert.equal(isEarly, false)
    assert.equal(await started, 'http://127.0.0.1:1')
    assert.deepEqual(
      children.map(({ number }) => number),
      [1, 2],
    )
  })

  it('all end when one cannot begin, and report its reason once all have ended', async () => {
    const { group, child, children } = newGroup(3)
    const started = group.start()
    started.catch(() => {})

    child(0).events.serving('http://127.0.0.1:1')
    child(1).events.failed(new Refusal('address_in_use'))
    child(2).events.failed(new Refusal('database_unavailable'))
    child(1).events.ended('exit code 1')
    child(2).events.ended('exit code 1')
    const isEarly = !(await isPending(started))
    child(0).events.ended('exit code 0')

    assert.equal(isEarly, false)
    assert.deepEqual(child(0).sent, ['stop'])
    await assert.rejects(started, (error) => error instanceof Refusal && error.code === 'address_in_use')
    assert.equal(children.length, 3)
  })

  it('all end when one dies while it begins, without a word of its own', async () => {
    const { group, child } = newGroup()
    const started = group.start()

    child(0).events.ended('SIGKILL')
    child(1).events.ended('exit code 0')

    await assert.rejects(started, /process 1 ended while it was starting \(SIGKILL\)/)
  })

  it('start one that died again: at once, then ever later, with the same number', async () => {
    const { child, clock, children, logged } = await newServingGroup()

    const waits: number[] = []
    for (let round = 0; round < 8; round += 1) {
      child(-1).events.ended('SIGKILL')
      const before = children.length
      const diedAt = clock.monotonic()
      while (children.length === before) await clock.pass(500)
      waits.push(clock.monotonic() - diedAt)
      child(-1).events.serving('http://127.0.0.1:1')
    }

    assert.deepEqual(
      logged.map(({ againInMs }) => againInMs),
      [0, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000],
    )
    assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
    assert.deepEqual(new Set(children.slice(1).map(({ number }) => number)), new Set([2]))
  })

  it('start one again at once after it had served for a minute', async () => {
    const { child, clock, children, logged } = await newServingGroup()
    child(1).events.ended('SIGKILL')
    await clock.pass(0)
    child(2).events.serving('http://127.0.0.1:1')

    await clock.pass(60_000)
    child(2).events.ended('SIGKILL')
    await clock.pass(0)

    assert.deepEqual(
      logged.map(({ againInMs }) => againInMs),
      [0, 0],
    )
    assert.equal(children.length, 4)
  })

  it('go on trying when one that died cannot begin again, and say why', async () => {
    const { child, clock, children, logged } = await newServingGroup()
    child(1).events.ended('SIGKILL')
    await clock.pass(0)

    child(2).events.failed(new Refusal('database_unavailable', 'The database is away.'))
    child(2).events.ended('exit code 1')
    await clock.pass(1_000)

    assert.equal(logged[1]?.['cause'], 'The database is away.')
    assert.equal(children.length, 4)
  })

  it('end in order on request, all of them, once', async () => {
    const { group, child } = await newServingGroup()

    const stopped = group.stop()
    void group.stop()
    child(0).events.ended('exit code 0')
    const isEarly = !(await isPending(stopped))
    child(1).events.ended('exit code 0')

    await stopped
    assert.equal(isEarly, false)
    assert.deepEqual([child(0).sent, child(1).sent], [['stop'], ['stop']])
  })

  it('end while one waits to be started again, and start it no more', async () => {
    const { group, child, clock, children } = await newServingGroup()
    child(1).events.ended('SIGKILL')
    await clock.pass(0)
    child(2).events.ended('SIGKILL')

    const stopped = group.stop()
    child(0).events.ended('exit code 0')
    await stopped
    await clock.pass(60_000)

    assert.equal(children.length, 3)
  })

  it('end on request while they begin', async () => {
    const { group, child } = newGroup()
    const started = group.start()

    const stopped = group.stop()
    for (const index of [0, 1]) child(index).events.ended('exit code 0')

    await stopped
    assert.equal(await started, null)
  })

  it('end at once on request, also while they end in order', async () => {
    const { group, child } = await newServingGroup()

    void group.stop()
    const killed = group.kill()
    for (const index of [0, 1]) child(index).events.ended('SIGKILL')

    await killed
    assert.deepEqual(child(0).sent, ['stop', 'kill'])
  })
})
