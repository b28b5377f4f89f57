import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { LaneViews } from '../../../core/ports/console/lanes.ts'
import { createLaneViews } from './lane-views.ts'

let world: AdministrationWorld
let lanes: LaneViews
let accountId: AccountId
let id: ConnectionId

async function open(engine: EngineName): Promise<() => Promise<void>> {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  lanes = createLaneViews(world.store)
  accountId = await world.account()
  id = await world.connection(accountId)
  return close
}

describe.each(ENGINES)('the messages of a lane for the console, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('show what is being handed over and the next ones with their places, page by page', async () => {
    const { sequence } = await world.accept({ connectionId: id })
    await world.acceptMany(50, id)
    await world.openAttempt(id, sequence, { number: 2 })

    const first = await lanes.listWaiting({ accountId, id }, null)
    const second = await lanes.listWaiting({ accountId, id }, first.next)
    const third = await lanes.listWaiting({ accountId, id }, second.next)
    const spoilt = await lanes.listWaiting({ accountId, id }, `' or 1=1`)

    assert.deepEqual([first.open?.id, first.open?.attempt, first.open?.since], ['message-1', 2, NOON])
    const positions = [first, second, third].flatMap(({ items }) => items.map(({ position }) => position))
    assert.deepEqual(
      positions,
      Array.from({ length: 50 }, (_, at) => at + 2),
    )
    assert.deepEqual([first.items[0]?.id, third.next], ['many-1', null])
    assert.deepEqual(spoilt, first)
  })

  it('show the deferred ones first, each with the later ones to its recipient behind it, then the others', async () => {
    const [anna, ben] = ['15550200001', '15550200002']
    const recipients: Readonly<Record<number, string>> = { 3: anna, 6: anna, 10: anna, 7: ben }
    const sequences: number[] = []
    for (let place = 1; place <= 31; place++)
      sequences.push((await world.accept({ connectionId: id, to: recipients[place] ?? '15550100000' })).sequence)
    const wait = (place: number, until: number) =>
      world.run(
        'update message set retry = ? where sequence = ?',
        JSON.stringify({
          tries: 1,
          resent: false,
          crashes: 0,
          wait: { kind: 'retry', reason: 'retrying', words: null, until },
        }),
        sequences[place - 1] ?? 0,
      )
    // The others to its recipient are not deferred: they wait for its end.
    await world.openAttempt(id, sequences[0] ?? 0, { number: 1 })
    await wait(3, NOON + 30_000)
    await wait(5, NOON - 1)
    await wait(7, NOON + 5_000)
    await wait(10, NOON + 5_000)

    const first = await lanes.listWaiting({ accountId, id }, null)
    const second = await lanes.listWaiting({ accountId, id }, first.next)

    const { items, ...sums } = first.deferred
    assert.deepEqual(sums, { count: 4, recipients: 2, isMore: false })
    assert.deepEqual(
      items.map(({ to, position, behind, wait: own }) => {
        const earlier = items.find((one) => one.id === behind?.id)?.position ?? null
        return [to, position, earlier, own?.until ?? null]
      }),
      [
        [anna, 3, null, NOON + 30_000],
        [anna, 6, 3, null],
        [anna, 10, 3, null],
        [ben, 7, null, NOON + 5_000],
      ],
    )
    assert.deepEqual(second.deferred, { ...sums, items: [] })
    const others = [...first.items, ...second.items]
    assert.deepEqual(
      others.map(({ position }) => position),
      Array.from({ length: 30 }, (_, at) => at + 2).filter((place) => recipients[place] === undefined),
    )
    assert.ok(others.every((one) => one.behind === null && one.wait === null))
    assert.deepEqual([first.items.length, second.next, first.items[0]?.preview], [20, null, 'Hello'])
  })

  it('show deferred ones beyond the fiftieth in their place, with what each waits for', async () => {
    await world.acceptMany(60, id)
    const state = {
      tries: 1,
      resent: false,
      crashes: 0,
      wait: { kind: 'retry', reason: 'retrying', words: null, until: NOON + 1 },
    }
    await world.run('update message set retry = ?', JSON.stringify(state))

    const page = await lanes.listWaiting({ accountId, id }, null)

    assert.deepEqual([page.deferred.count, page.deferred.items.length, page.next], [60, 50, null])
    assert.deepEqual(
      page.items.map(({ position, behind, wait }) => [position, behind !== null || wait !== null]),
      Array.from({ length: 10 }, (_, at) => [at + 51, true]),
    )
  })

  it('show of one far back which earlier one to its recipient it waits for, in the lane, the log and on its page', async () => {
    const first = await world.accept({ connectionId: id })
    await world.acceptMany(600, id)
    const last = await world.accept({ connectionId: id })
    const other = await world.accept({ connectionId: id, to: '15550200009' })
    await world.defer(first.sequence, { kind: 'retry', reason: 'retrying', words: null, until: NOON + 1 })

    const page = await lanes.listWaiting({ accountId, id }, `${last.sequence - 1}.601`)
    const places = await lanes.findPlaces(accountId, [last.id, other.id])
    const pages = await Promise.all([last, other].map((one) => world.administration.explainMessage(one.id)))

    const earlier = { id: first.id, type: 'message', reason: 'retrying', until: NOON + 1 }
    assert.deepEqual(
      page.items.map((one) => [one.id, one.behind]),
      [
        [last.id, earlier],
        [other.id, null],
      ],
    )
    assert.deepEqual(
      new Map(places.map((one) => [one.id, one.behind])),
      new Map([
        [last.id, earlier],
        [other.id, null],
      ]),
    )
    assert.deepEqual(
      pages.map(({ waitsFor }) => waitsFor),
      [earlier, null],
    )
  })

  it('show what waits far back in a lane in its place', async () => {
    await world.acceptMany(530, id)
    const state = {
      tries: 1,
      resent: false,
      crashes: 0,
      wait: { kind: 'retry', reason: 'retrying', words: null, until: NOON + 1 },
    }
    await world.run(`update message set retry = ? where id = 'many-520'`, JSON.stringify(state))

    const seen: number[] = []
    let page = await lanes.listWaiting({ accountId, id }, null)
    const waits = [...page.items]
    for (; page.next !== null; page = await lanes.listWaiting({ accountId, id }, page.next)) {
      seen.push(...page.items.map(({ position }) => position))
      waits.push(...page.items.filter(({ wait }) => wait !== null))
    }
    seen.push(...page.items.map(({ position }) => position))

    assert.deepEqual(page.deferred, { count: 0, recipients: 0, isMore: true, items: [] })
    assert.deepEqual(
      seen,
      Array.from({ length: 530 }, (_, at) => at + 1),
    )
    assert.deepEqual(
      waits.filter(({ wait }) => wait !== null).map((one) => one.id),
      ['many-520'],
    )
  })
})
