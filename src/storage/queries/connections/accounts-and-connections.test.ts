import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'

let world: AdministrationWorld
let acme: AccountId

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  acme = await world.account()
  return close
}

describe.each(ENGINES)('accounts, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('have an id of their own and a unique name', async () => {
    assert.match(acme, /^acc_[0-9a-z]{12}$/)
    await assert.rejects(world.account(), { code: 'account_exists' })
    assert.deepEqual(
      (await world.administration.listAccounts()).map(({ name }) => name),
      ['Acme'],
    )
    assert.deepEqual(await world.audit(), ['account.create'])
  })
})

describe.each(ENGINES)('connections, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('are added, listed and found by number', async () => {
    const id = await world.connection(acme)

    assert.match(id, /^con_[0-9a-z]{12}$/)
    const [only] = await world.administration.listConnections(null)
    assert.deepEqual(only, {
      id,
      number: '15550001000',
      account: 'Acme',
      accountId: acme,
      channel: 'sandbox',
      state: 'active',
      waiting: 0,
      oldestWaitingAt: null,
      reason: null,
      reasonWords: null,
      reasonUntil: null,
      policy: DEFAULT_LANE_POLICY,
      channelSettings: {},
      link: null,
      name: null,
      lastReportAt: null,
    })
    assert.equal((await world.administration.findConnection('15550001000', null)).id, id)
    assert.deepEqual(await world.changedLanes(), [id])
  })

  it('are unique within an account, and ambiguous only without one', async () => {
    const other = await world.account('Other')
    await world.connection(acme)
    const othersId = await world.connection(other)

    await assert.rejects(world.connection(acme), { code: 'connection_exists' })
    await assert.rejects(world.administration.findConnection('15550001000', null), { code: 'connection_ambiguous' })
    assert.equal((await world.administration.findConnection('15550001000', other)).id, othersId)
    await assert.rejects(world.administration.findConnection('15550009999', other), { code: 'connection_unknown' })
  })

  it('show how many messages wait and since when, including the one being sent', async () => {
    const id = await world.connection(acme)
    const first = await world.accept({ connectionId: id, acceptedAt: NOON - 5_000 })
    await world.accept({ connectionId: id, acceptedAt: NOON - 4_000 })
    await world.accept({ connectionId: id, state: 'PUBLISHED' })
    await world.openAttempt(id, first.sequence)

    const [view] = await world.administration.listConnections(acme)

    assert.deepEqual([view?.waiting, view?.oldestWaitingAt, view?.reason], [2, NOON - 5_000, null])
  })

  it.each([
    [
      'the wait of the lane',
      { reason: 'trouble', until: NOON + 1_000, words: '503' },
      ['trouble', '503', NOON + 1_000],
    ],
    ['nothing once the wait is over', { reason: 'all_deferred', until: NOON - 1 }, [null, null, null]],
    ['a wait without end', { reason: 'credentials_refused' }, ['credentials_refused', null, null]],
    ['a worker that is gone', { owner: 'dead' }, ['process_gone', null, null]],
  ])('say why the lane stands still: %s', async (_, wait, expected) => {
    const id = await world.connection(acme)
    await world.accept({ connectionId: id })
    await world.lane(id, wait)

    const view = await world.administration.findConnection('15550001000', acme)

    assert.deepEqual([view.reason, view.reasonWords, view.reasonUntil], expected)
  })

  it('resumed try at once, whatever they waited for', async () => {
    const id = await world.connection(acme)
    await world.accept({ connectionId: id })
    await world.lane(id, { reason: 'connection_away', until: NOON + 60_000 })

    const paused = await world.administration.setConnectionState(id, 'paused', 'test')
    const resumed = await world.administration.setConnectionState(id, 'active', 'test')

    assert.deepEqual([paused.state, paused.reason], ['paused', 'paused'])
    assert.deepEqual([resumed.state, resumed.reason], ['active', null])
    assert.deepEqual(await world.changedLanes(), [id, id, id])
    assert.deepEqual((await world.audit()).slice(2), ['connection.pause', 'connection.resume'])
  })

  it('take another policy, and keep channel settings out of the audit log', async () => {
    const id = await world.connection(acme)
    const policy = { ...DEFAULT_LANE_POLICY, leastGapMs: 500 }

    const view = await world.administration.changeConnection(
      id,
      { policy, channelSettings: { secret: 'hush' } },
      'test',
    )

    assert.equal(view.policy.leastGapMs, 500)
    assert.deepEqual(view.channelSettings, { secret: 'hush' })
    assert.doesNotMatch(JSON.stringify(await world.all('select * from audit')), /hush/)
  })
})

describe.each(ENGINES)('removing a connection, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is refused while anything waits, unless that is to be cancelled', async () => {
    const id = await world.connection(acme)
    await world.accept({ connectionId: id })

    await assert.rejects(world.administration.removeConnection(id, false, 'test'), {
      code: 'connection_has_waiting',
      message: '1 message waits on this connection; removing it cancels them. Say --cancel-waiting to do so.',
    })
  })

  it('cancels what waits and lets the open attempt finish', async () => {
    const id = await world.connection(acme)
    const open = await world.accept({ connectionId: id })
    const waiting = await world.accept({ connectionId: id, type: 'image' })
    await world.openAttempt(id, open.sequence)

    assert.deepEqual(await world.administration.removeConnection(id, true, 'test'), { cancelled: 1, unconfirmed: 0 })

    const states = await world.all('select state, reason from message order by sequence')
    assert.deepEqual(states, [
      { state: 'QUEUED', reason: null },
      { state: 'CANCELLED', reason: 'connection_removed' },
    ])
    assert.equal((await world.all('select state from media'))[0]?.['state'], 'forgotten')
    const timeline = await world.administration.explainMessage(waiting.id)
    assert.equal(timeline.timeline.at(-1)?.kind, 'connection-removed')
    assert.deepEqual(await world.administration.listConnections(null), [])
    await assert.rejects(world.administration.removeConnection(id, true, 'test'), { code: 'connection_unknown' })
  })

  it('leaves the number free for a new connection', async () => {
    const first = await world.connection(acme)
    await world.administration.removeConnection(first, false, 'test')

    assert.notEqual(await world.connection(acme), first)
  })

  it('cancels a long line in several short transactions', async () => {
    const id = await world.connection(acme)
    await world.acceptMany(4_500, id)

    assert.deepEqual(await world.administration.removeConnection(id, true, 'test'), {
      cancelled: 4_500,
      unconfirmed: 0,
    })
    assert.deepEqual((await world.audit()).slice(-3), [
      'connection.cancel-waiting',
      'connection.cancel-waiting',
      'connection.remove',
    ])
  })

  it('is refused for an unknown connection', async () => {
    await assert.rejects(world.administration.removeConnection('con_none' as ConnectionId, true, 'test'), {
      code: 'connection_unknown',
    })
  })
})
