import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import type { LaneGroup, LaneViews } from '../../../core/ports/console/lanes.ts'
import { wasItSent } from '../../../core/sentences/was-it-sent.ts'
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

const list = (find: string | null = null, after: string | null = null, group: LaneGroup | null = null) =>
  lanes.listLanes({ accountId, find, group, after })
const statesOf = async () =>
  (await world.all('select state, count(*) as n from message group by state order by state')).map(
    ({ state, n }) => `${state} ${n}`,
  )

describe.each(ENGINES)('lanes for the console, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are listed by number, page by page, and by the digits they begin with', async () => {
    for (let number = 0; number < 30; number++) await world.connection(accountId, `1555${String(9000 + number)}`)

    const first = await list()
    const second = await list(null, first.next)
    const found = await list('155590')

    assert.deepEqual([first.items.length, second.items.length, second.next], [25, 6, null])
    const numbers = [first, second].flatMap(({ items }) => items.map(({ number }) => number))
    assert.deepEqual(numbers, [...numbers].sort())
    assert.deepEqual(found.items.map(({ number }) => number).slice(0, 2), ['15559000', '15559001'])
    assert.equal(found.items.length, 25)
    assert.deepEqual((await list('1777')).items, [])
  })

  it('list what needs a person first, and count and find each group, on every page', async () => {
    const [paused, paced, refused, held] = [
      await world.connection(accountId, '15550001001'),
      await world.connection(accountId, '15550001002'),
      await world.connection(accountId, '15550001003'),
      await world.connection(accountId, '15550001004'),
    ]
    for (let number = 0; number < 30; number++) await world.connection(accountId, `1555${String(9000 + number)}`)
    for (const lane of [id, paced, refused]) await world.accept({ connectionId: lane })
    await lanes.setState({ accountId, id: paused }, 'paused', 'test')
    await world.lane(paced, { reason: 'pace', until: NOON + 60_000 })
    await world.lane(refused, { reason: 'credentials_refused' })
    await world.lane(held, { reason: 'rate_limited', until: NOON + 60_000 })

    const first = await list()
    const second = await list(null, first.next)

    assert.deepEqual(first.counts, { problem: 1, paused: 1, waiting: 2, ready: 31 })
    assert.deepEqual(second.counts, first.counts)
    const all = [...first.items, ...second.items]
    assert.equal(new Set(all.map((lane) => lane.id)).size, 35)
    assert.deepEqual(
      all.slice(0, 5).map((lane) => [lane.id, lane.group]),
      [
        [refused, 'problem'],
        [paused, 'paused'],
        [id, 'waiting'],
        [paced, 'waiting'],
        [held, 'ready'],
      ],
    )
    const waiting = await list('15550001002', null, 'waiting')
    assert.deepEqual(
      waiting.items.map((lane) => lane.id),
      [paced],
    )
    assert.deepEqual(
      (await list(null, null, 'problem')).items.map((lane) => lane.id),
      [refused],
    )
  })

  it('say of a page of messages where those stand that wait, and why', async () => {
    const sent = await world.accept({ connectionId: id, state: 'PUBLISHED' })
    const head = await world.accept({ connectionId: id })
    const second = await world.accept({ connectionId: id })
    const last = await world.accept({ connectionId: id })
    const stranger = await world.account('Other')
    const others = await world.accept({ connectionId: await world.connection(stranger, '15550009999') })

    const ids = [sent, head, second, last, others].map((message) => message.id)
    const places = await lanes.findPlaces(accountId, [...ids, 'no-id' as MessageId])

    const byId = new Map(places.map((place) => [place.id, place]))
    assert.deepEqual([...byId.keys()].sort(), [head.id, second.id, last.id].sort())
    assert.deepEqual(
      [head, second, last].map((message) => byId.get(message.id)?.position),
      [1, 2, 3],
    )
    assert.equal(byId.get(last.id)?.wait, null)
    await lanes.setState({ accountId, id }, 'paused', 'test')
    const [paused] = await lanes.findPlaces(accountId, [last.id])
    assert.equal(paused?.wait?.reason, 'paused')
  })

  it('G10: say of a page of messages what the page of each says', async () => {
    const behind = await world.connection(accountId, '15550001001')
    const [open, waiting] = [await world.accept({ connectionId: id }), await world.accept({ connectionId: id })]
    const [head, next] = [await world.accept({ connectionId: behind }), await world.accept({ connectionId: behind })]
    await world.openAttempt(id, open.sequence, { evidenceUntil: NOON + 60_000 })
    const retry = { kind: 'retry', reason: 'retrying', words: null, until: NOON + 5_000 }
    await world.database.rewriteMessage(waiting.sequence, {
      retry: JSON.stringify({ tries: 1, resent: true, crashes: 0, wait: retry }),
    })
    await world.endAttempt(waiting.sequence, { outcome: 'unknown' })
    await world.lane(behind, { reason: 'credentials_refused' })
    const messages = [open, waiting, head, next]

    const places = await lanes.findPlaces(
      accountId,
      messages.map((message) => message.id),
    )

    const byId = new Map(places.map((place) => [place.id, place]))
    assert.deepEqual(
      messages.map((message) => {
        const { isOpen, code, mayHaveLeft } = byId.get(message.id)!
        return [isOpen, code, mayHaveLeft]
      }),
      [
        [true, 'awaiting_evidence', false],
        [false, 'retrying', true],
        [false, 'credentials_refused', false],
        [false, 'credentials_refused', false],
      ],
    )
    for (const message of messages) {
      const page = await world.administration.explainMessage(message.id)
      const place = byId.get(message.id)!
      assert.equal(place.code, page.laneWait?.reason ?? null)
      assert.equal(place.mayHaveLeft, wasItSent(page).short === 'perhaps sent')
    }
  })

  it('show how many messages wait since when, up to a bound, and the recent pace', async () => {
    const idle = await world.connection(accountId, '15550001001')
    world.now = NOON - 90_000
    await world.accept({ connectionId: id, state: 'PUBLISHED' })
    for (const second of [10, 20, 30]) {
      world.now = NOON - second * 1_000
      await world.accept({ connectionId: id, state: 'PUBLISHED' })
    }
    world.now = NOON - 5_000
    await world.acceptMany(1_200, id)
    world.now = NOON

    const { items } = await list()
    const alone = await lanes.readLane({ accountId, id })

    const [lane, still] = items
    assert.deepEqual(lane?.waiting, { count: 1_000, isMore: true })
    assert.deepEqual(alone.waiting, { count: 1_200, isMore: false })
    assert.equal(alone.oldestWaitingAt, NOON - 5_000)
    assert.equal(alone.standsStill, null)
    assert.deepEqual(alone.pace, {
      publishedInLastMinute: { count: 3, isMore: false },
      lastPublishedAt: NOON - 9_000,
      perMessageMs: 10_000,
    })
    assert.equal(still?.id, idle)
    assert.deepEqual(
      [still?.waiting, still?.oldestWaitingAt, still?.pace.lastPublishedAt],
      [{ count: 0, isMore: false }, null, null],
    )
  })

  it('count what has its entry in a lane and what has none yet, once', async () => {
    await world.acceptMany(3, id)
    if (engine === 'SQLite') {
      await world.run('insert into lane_entry select connection_id, sequence from message where sequence <= 2')
      await world.run('update indexed_through set sequence = 1')
    }

    const { waiting } = await lanes.readLane({ accountId, id })
    const { items } = await lanes.listWaiting({ accountId, id }, null)

    assert.deepEqual(waiting, { count: 3, isMore: false })
    assert.deepEqual(
      items.map(({ position }) => position),
      [1, 2, 3],
    )
  })

  it('G10: show why they wait, and which waits a person may end', async () => {
    await world.accept({ connectionId: id })
    const still = async () => (await lanes.readLane({ accountId, id })).standsStill

    await world.lane(id, { reason: 'rate_limited', words: 'slow down', until: NOON + 60_000 })
    const limited = await still()
    await world.lane(id, { reason: 'quiet_hours', until: NOON + 60_000 })
    const quiet = await still()
    await lanes.setState({ accountId, id }, 'paused', 'anna')
    const paused = await still()

    assert.deepEqual(limited, { reason: 'rate_limited', words: 'slow down', until: NOON + 60_000, canBeEnded: true })
    assert.deepEqual(quiet, { reason: 'quiet_hours', words: null, until: NOON + 60_000, canBeEnded: false })
    assert.deepEqual(paused, { reason: 'paused', words: null, until: null, canBeEnded: false })
  })

  it('are paused, resumed and changed, with an audit entry and a notification of the service', async () => {
    const policy = { ...DEFAULT_LANE_POLICY, leastGapMs: 2_000 }

    await lanes.setState({ accountId, id }, 'paused', 'anna')
    await lanes.changeSettings({ accountId, id }, { policy }, 'anna')
    await lanes.changeSettings({ accountId, id }, { channelSettings: { latencyMs: 5 } }, 'anna')
    const paused = await lanes.readLane({ accountId, id })
    await lanes.setState({ accountId, id }, 'active', 'ben')

    assert.deepEqual([paused.state, paused.policy, paused.channelSettings], ['paused', policy, { latencyMs: 5 }])
    assert.equal((await lanes.readLane({ accountId, id })).state, 'active')
    assert.deepEqual((await world.audit()).slice(2), [
      'connection.pause',
      'connection.change',
      'connection.change',
      'connection.resume',
    ])
    assert.equal((await world.changedLanes()).length, 5)
  })

  it('have their wait ended by a person, unless they find it again at once', async () => {
    await world.accept({ connectionId: id })
    const end = () => lanes.endWait({ accountId, id }, 'anna')
    await assert.rejects(end(), { code: 'lane_not_waiting' })
    for (const reason of ['pace', 'quiet_hours', 'media_uploading']) {
      await world.lane(id, { reason, until: NOON + 60_000 })
      await assert.rejects(end(), { code: 'lane_not_waiting' })
    }
    await world.lane(id, { reason: 'problem', until: NOON })
    await assert.rejects(end(), { code: 'lane_not_waiting' })
    const notified = (await world.changedLanes()).length

    await world.lane(id, { reason: 'connection_away', until: NOON + 60_000 })
    await end()

    const [lane] = await world.all('select wait_reason, wait_until from lane where connection_id = ?', id)
    assert.deepEqual(lane, { wait_reason: null, wait_until: null })
    assert.equal((await world.audit()).at(-1), 'connection.end-wait')
    assert.equal((await world.changedLanes()).length, notified + 1)
    assert.equal((await lanes.readLane({ accountId, id })).standsStill, null)
  })

  it('have the waits of their messages for a next try ended with it, and no other waits', async () => {
    const retry = (kind: string, until = NOON + 60_000) =>
      JSON.stringify({ tries: 2, resent: true, crashes: 0, wait: { kind, reason: 'retrying', words: null, until } })
    const waits = [retry('retry'), null, retry('rate-limit'), retry('retry', NOON)]
    for (const wait of waits) {
      const { sequence } = await world.accept({ connectionId: id })
      if (wait) await world.run('update message set retry = ? where sequence = ?', wait, sequence)
    }
    await world.lane(id, { reason: 'all_second', until: NOON + 60_000 })

    await lanes.endWait({ accountId, id }, 'anna')

    const rows = await world.all('select retry from message where connection_id = ? order by sequence', id)
    assert.deepEqual(
      rows.map((row) => row['retry']),
      ['{"tries":2,"resent":true,"crashes":0,"wait":null}', ...waits.slice(1)],
    )
    assert.equal((await lanes.readLane({ accountId, id })).standsStill, null)
  })

  it('are emptied in parts, but for what is being handed over and what came later', async () => {
    const { sequence } = await world.accept({ connectionId: id })
    await world.openAttempt(id, sequence)
    await world.acceptMany(4_500, id)
    const other = await world.connection(accountId, '15550001001')
    await world.accept({ connectionId: other })
    let part = await lanes.cancelWaiting({ accountId, id }, null, 'anna')
    let cancelled = part.cancelled
    const late = await world.accept({ connectionId: id })
    while (part.upTo !== null) {
      part = await lanes.cancelWaiting({ accountId, id }, part.upTo, 'anna')
      cancelled += part.cancelled
    }

    assert.equal(cancelled, 4_500)
    assert.deepEqual(await statesOf(), ['CANCELLED 4500', 'QUEUED 3'])
    const { open: stillOpen, items } = await lanes.listWaiting({ accountId, id }, null)
    assert.deepEqual([stillOpen?.id, items.map((item) => item.id)], ['message-1', [late.id]])
    const timeline = await world.administration.explainMessage('many-7' as MessageId)
    assert.deepEqual(
      timeline.timeline.filter(({ kind }) => kind === 'cancelled').map(({ code, facts }) => [code, facts]),
      [['cancelled_by_person', { by: 'anna' }]],
    )
    assert.equal((await world.audit()).at(-1), 'connection.cancel-waiting')
  })

  it('G5: say UNCONFIRMED, not cancelled, of what may have arrived before, and count it apart', async () => {
    const { sequence } = await world.accept({ connectionId: id })
    await world.acceptMany(2, id)
    await world.run(
      `insert into ${world.database.attempts} (message_sequence, number, started_at, ended_at, outcome) values (?, 1, ?, ?, 'unknown')`,
      sequence,
      NOON,
      NOON,
    )

    const taken = await lanes.cancelWaiting({ accountId, id }, null, 'anna')

    assert.deepEqual(await statesOf(), ['CANCELLED 2', 'UNCONFIRMED 1'])
    assert.deepEqual(taken, { cancelled: 2, unconfirmed: 1, upTo: null })
    const [entry] = await world.all("select detail from audit where action = 'connection.cancel-waiting'")
    assert.deepEqual(JSON.parse(String(entry?.['detail'])), { number: '15550001000', cancelled: 2, unconfirmed: 1 })
  })

  it('are removed with what waits only when that is said, and in parts', async () => {
    await world.acceptMany(20_000, id)

    await assert.rejects(lanes.removeSome({ accountId, id }, false, 'anna'), {
      code: 'connection_has_waiting',
      message: 'more than 10,000 messages wait on this connection; removing it cancels them.',
    })
    const first = await lanes.removeSome({ accountId, id }, true, 'anna')
    const between = await lanes.readLane({ accountId, id })
    const second = await lanes.removeSome({ accountId, id }, true, 'anna')

    assert.deepEqual([first.isRemoved, second.isRemoved], [false, true])
    assert.equal(first.cancelled + second.cancelled, 20_000)
    assert.equal(between.state, 'paused')
    await assert.rejects(lanes.readLane({ accountId, id }), { code: 'connection_unknown' })
    assert.deepEqual((await list()).items, [])
  })

  it('G8: are neither visible nor changeable from another account, and refused like an unknown one', async () => {
    const stranger = await world.account('Stranger')
    const mine = await world.accept({ connectionId: id })
    await world.accept({ connectionId: id, state: 'UNCONFIRMED', reason: 'result_unknown' })
    const audited = (await world.audit()).length
    const asks = (of: { accountId: AccountId; id: ConnectionId }) => [
      lanes.readLane(of),
      lanes.listWaiting(of, null),
      lanes.setState(of, 'paused', 'eve'),
      lanes.changeSettings(of, { policy: DEFAULT_LANE_POLICY }, 'eve'),
      lanes.endWait(of, 'eve'),
      lanes.cancelWaiting(of, null, 'eve'),
      lanes.removeSome(of, true, 'eve'),
    ]
    const ofMessage = (of: { accountId: AccountId; id: MessageId }) => [
      lanes.cancelMessage(of, 'eve'),
      lanes.retryMessage(of, 'eve'),
      lanes.resolveMessage(of, 'arrived', 'eve'),
    ]
    const answers = async (calls: readonly Promise<unknown>[]) =>
      (await Promise.allSettled(calls)).map((call) =>
        call.status === 'rejected' ? `${call.reason.code}: ${call.reason.message}` : 'answered',
      )

    const foreign = await answers([
      ...asks({ accountId: stranger, id }),
      ...ofMessage({ accountId: stranger, id: mine.id }),
    ])
    const unknown = await answers([
      ...asks({ accountId: stranger, id: 'none' as ConnectionId }),
      ...ofMessage({ accountId: stranger, id: 'none' as MessageId }),
    ])

    assert.deepEqual(foreign, unknown)
    assert.ok(foreign.every((answer) => /^(connection|message)_unknown: /.test(answer)))
    assert.deepEqual((await lanes.listLanes({ accountId: stranger, find: null, group: null, after: null })).items, [])
    assert.deepEqual((await lanes.listUnresolved({ accountId: stranger, connectionId: id, after: null })).items, [])
    assert.equal((await world.audit()).length, audited)
    assert.equal((await lanes.readLane({ accountId, id })).waiting.count, 1)
  })
})
