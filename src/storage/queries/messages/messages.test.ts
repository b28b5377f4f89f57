import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { LEASE_MS, RENEW_EVERY_MS } from '../../../core/dispatch/workers/lease.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import type { MessageFilter, MessageView } from '../../../core/ports/administration.ts'
import { createLaneViews } from '../lanes/lane-views.ts'

let world: AdministrationWorld
let acme: AccountId
let connectionId: ConnectionId

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  acme = await world.account()
  connectionId = await world.connection(acme)
  return close
}

const ALL: MessageFilter = { accountId: null, connectionId: null, state: null, limit: null }

async function list(filter: Partial<MessageFilter> = {}): Promise<MessageView[]> {
  const messages: MessageView[] = []
  for await (const message of world.administration.listMessages({ ...ALL, ...filter })) messages.push(message)
  return messages
}

async function reasons(): Promise<(string | null)[]> {
  return (await list()).map(({ reason }) => reason).reverse()
}

describe.each(ENGINES)('the list of messages, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is newest first, and shows what a message is', async () => {
    const { id } = await world.accept({ connectionId })
    await world.accept({ connectionId, state: 'PUBLISHED' })

    const [newest, oldest] = await list()

    assert.equal(newest?.state, 'PUBLISHED')
    assert.deepEqual(oldest, {
      id,
      account: 'Acme',
      connection: '15550001000',
      to: '15550100000',
      type: 'message',
      state: 'QUEUED',
      reason: 'due',
      attempts: 0,
      acceptedAt: NOON,
      publishedAt: null,
    })
  })

  it('is complete over many pages, and stops at its limit', async () => {
    await world.acceptMany(2_345, connectionId)

    assert.equal((await list()).length, 2_345)
    assert.equal((await list({ limit: 1_500 })).length, 1_500)
    assert.equal((await list({ limit: 0 })).length, 0)
  })

  it('is narrowed by account, connection and state', async () => {
    const other = await world.account('Other')
    const elsewhere = await world.connection(other)
    const sending = await world.accept({ connectionId })
    await world.accept({ connectionId })
    await world.accept({ connectionId: elsewhere, state: 'FAILED', reason: 'media_dns' })
    await world.openAttempt(connectionId, sending.sequence)

    const count = async (filter: Partial<MessageFilter>) => (await list(filter)).length
    assert.equal(await count({ accountId: other }), 1)
    assert.equal(await count({ connectionId }), 2)
    assert.equal(await count({ state: 'QUEUED' }), 1)
    assert.equal(await count({ state: 'SENDING', connectionId }), 1)
    assert.equal(await count({ state: 'FAILED', accountId: acme }), 0)
  })
})

describe.each(ENGINES)('G10: every message that waits says why, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('the head is due and the others stand behind it', async () => {
    await world.accept({ connectionId })
    await world.accept({ connectionId })

    assert.deepEqual(await reasons(), ['due', 'behind_others'])
  })

  it('one that is being sent shows as SENDING', async () => {
    const { sequence } = await world.accept({ connectionId })
    await world.accept({ connectionId })
    await world.openAttempt(connectionId, sequence, { number: 3 })

    const [behind, sending] = await list()
    assert.deepEqual([sending?.state, sending?.reason, sending?.attempts], ['SENDING', 'sending', 3])
    assert.equal(behind?.reason, 'behind_others')
  })

  it('one that awaits evidence of its result says so', async () => {
    const { sequence } = await world.accept({ connectionId })
    await world.openAttempt(connectionId, sequence, { evidenceUntil: NOON + 60_000 })

    assert.deepEqual(await reasons(), ['awaiting_evidence'])
  })

  it('one that no service is there to send says so', async () => {
    await world.accept({ connectionId })

    await world.stopService()

    assert.deepEqual(await reasons(), ['service_stopped'])
  })

  it('one whose process was killed or is frozen shows its last sign of life', async () => {
    const { id } = await world.accept({ connectionId })
    await world.run('update worker set heartbeat_until = ?', world.now)

    const { message, reasonWords } = await world.administration.explainMessage(id)

    assert.equal(message.reason, 'service_stopped')
    assert.equal(reasonWords, 'No process sends. The last sign of life of one was on 15 Jan 2026, 11:59:45 UTC.')
  })

  it('all say so while nothing can be written, whatever heartbeats and the lane say', async () => {
    const { id } = await world.accept({ connectionId })
    await world.accept({ connectionId })
    await world.lane(connectionId, { reason: 'rate_limited', until: NOON + 1 })
    const otherId = await world.connection(acme, '15550001001')
    await world.stopService()

    world.error = { since: NOON, cause: 'The disk is full.' }

    const said = { reason: 'storage_unavailable', words: 'The disk is full.', until: null }
    assert.deepEqual(await reasons(), ['storage_unavailable', 'storage_unavailable'])
    const timeline = await world.administration.explainMessage(id)
    assert.deepEqual([timeline.laneWait, timeline.reasonWords], [said, said.words])
    const connections = await world.administration.listConnections(acme)
    assert.deepEqual(
      connections.map(({ reason, reasonWords }) => [reason, reasonWords]),
      [1, 2].map(() => [said.reason, said.words]),
    )
    const lanes = createLaneViews(world.store)
    const seen = await Promise.all([connectionId, otherId].map((one) => lanes.readLane({ accountId: acme, id: one })))
    assert.deepEqual(
      seen.map(({ standsStill }) => standsStill),
      [1, 2].map(() => ({ ...said, canBeEnded: false })),
    )
  })

  it('one that is being sent says so while nothing can be written', async () => {
    const { sequence } = await world.accept({ connectionId })
    await world.openAttempt(connectionId, sequence)

    world.error = { since: NOON, cause: 'The disk is full.' }

    const [message] = await list()
    assert.deepEqual([message?.state, message?.reason], ['SENDING', 'storage_unavailable'])
  })

  it('one that is being sent says so until its process has missed two signs of life, long before that counts as gone', async () => {
    const { id, sequence } = await world.accept({ connectionId })
    await world.openAttempt(connectionId, sequence)
    await world.lane(connectionId, { owner: 'worker-1' })
    await world.run('insert into worker (id, heartbeat_until) values (?, ?)', 'worker-1', NOON)
    const lastSignAt = NOON - LEASE_MS
    const seen = []
    for (const silentMs of [2 * RENEW_EVERY_MS, 3 * RENEW_EVERY_MS, LEASE_MS + 1]) {
      world.now = lastSignAt + silentMs
      seen.push((await world.administration.explainMessage(id)).message.reason)
    }

    assert.deepEqual(seen, ['sending', 'process_gone', 'process_gone'])
  })

  it('takes no worker for alive whose heartbeat was written before the clock was set back', async () => {
    const { id, sequence } = await world.accept({ connectionId })
    await world.openAttempt(connectionId, sequence)
    await world.lane(connectionId, { owner: 'worker-1' })
    const ahead = NOON + 3_600_000
    await world.run('insert into worker (id, heartbeat_until) values (?, ?)', 'worker-1', ahead)
    const whileAnotherLives = await reasons()

    await world.run(`update worker set heartbeat_until = ?`, ahead)
    const { message } = await world.administration.explainMessage(id)
    const lanes = (await world.administration.listConnections(null)).map(({ reason }) => reason)

    assert.deepEqual(whileAnotherLives, ['process_gone'])
    assert.deepEqual(
      [await reasons(), message.reason, lanes],
      [['service_stopped'], 'service_stopped', ['service_stopped']],
    )
  })

  it('all of a paused connection are paused', async () => {
    await world.accept({ connectionId })
    await world.accept({ connectionId })
    await world.administration.setConnectionState(connectionId, 'paused', 'test')

    assert.deepEqual(await reasons(), ['paused', 'paused'])
  })

  it('the head carries the wait of its lane, but not one that is over', async () => {
    await world.accept({ connectionId })
    await world.accept({ connectionId })
    await world.lane(connectionId, { reason: 'rate_limited', until: NOON + 1 })

    assert.deepEqual(await reasons(), ['rate_limited', 'behind_others'])
    world.now += 1
    assert.deepEqual(await reasons(), ['due', 'behind_others'])
  })

  it('the head waits for its media', async () => {
    await world.accept({ connectionId, type: 'image' })

    assert.deepEqual(await reasons(), ['media_pending'])
  })
})

describe.each(ENGINES)('cancelling, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('G5: never says CANCELLED of a message that may have arrived', async () => {
    const one = await world.accept({ connectionId })
    const other = await world.accept({ connectionId })
    for (const { sequence } of [one, other])
      await world.run(
        `insert into ${world.database.attempts} (message_sequence, number, started_at, ended_at, outcome) values (?, 1, 0, 1, 'unknown')`,
        sequence,
      )

    const view = await world.administration.cancelMessage(one.id, 'test')
    await world.administration.removeConnection(connectionId, true, 'test')

    assert.deepEqual([view.state, view.reason], ['UNCONFIRMED', 'result_unknown'])
    assert.equal((await world.administration.explainMessage(other.id)).message.state, 'UNCONFIRMED')
  })

  it('takes a waiting message out of its lane', async () => {
    const { id } = await world.accept({ connectionId, type: 'image' })

    const view = await world.administration.cancelMessage(id, 'anna')

    assert.deepEqual([view.state, view.reason], ['CANCELLED', 'cancelled_by_person'])
    assert.equal((await world.all('select state from media'))[0]?.['state'], 'forgotten')
    assert.deepEqual((await world.changedLanes()).at(-1), connectionId)
    assert.equal((await world.audit()).at(-1), 'message.cancel')
    const { timeline } = await world.administration.explainMessage(id)
    assert.deepEqual(
      timeline.map(({ kind }) => kind),
      ['accepted', 'cancelled'],
    )
    assert.deepEqual(timeline.at(-1)?.facts, { by: 'anna' })
  })

  it('is refused while it is being handed over, and after its end', async () => {
    const sending = await world.accept({ connectionId })
    const published = await world.accept({ connectionId, state: 'PUBLISHED' })
    await world.openAttempt(connectionId, sending.sequence)

    await assert.rejects(world.administration.cancelMessage(sending.id, 'test'), { code: 'message_not_waiting' })
    await assert.rejects(world.administration.cancelMessage(published.id, 'test'), { code: 'message_not_waiting' })
    await assert.rejects(world.administration.cancelMessage('none' as MessageId, 'test'), { code: 'message_unknown' })
    assert.doesNotMatch((await world.audit()).join(), /message/)
  })
})

describe.each(ENGINES)('retrying, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('makes a new message at the end of the line that points to the old one', async () => {
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused', type: 'image' })
    await world.accept({ connectionId })
    world.now += 60_000

    const resent = await world.administration.retryMessage(failed.id, 'test')

    assert.match(resent.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/)
    assert.deepEqual([resent.state, resent.reason, resent.type], ['QUEUED', 'service_stopped', 'image'])
    const old = await world.administration.explainMessage(failed.id)
    const fresh = await world.administration.explainMessage(resent.id)
    assert.deepEqual([old.resentAs, fresh.resendOf, fresh.position], [resent.id, failed.id, 2])
    assert.deepEqual([old.timeline.at(-1)?.kind, fresh.timeline[1]?.kind], ['sent-again', 'sent-again'])
    const [first, , last] = await world.all('select body, body_crc, recipient from message order by sequence')
    assert.deepEqual(last, first)
    const [, media] = await world.all('select url, state, next_try_at from media order by message_sequence')
    assert.deepEqual(media, {
      url: `https://files.example/${failed.id}.png`,
      state: 'pending',
      next_try_at: NOON + 60_000,
    })
  })

  it.each(['EXPIRED', 'CANCELLED'])('works for %s', async (state) => {
    const { id } = await world.accept({ connectionId, state })

    assert.equal((await world.administration.retryMessage(id, 'test')).state, 'QUEUED')
  })

  it.each(['QUEUED', 'PUBLISHED', 'UNCONFIRMED', 'READ'])('is refused for %s', async (state) => {
    const { id } = await world.accept({ connectionId, state })

    await assert.rejects(world.administration.retryMessage(id, 'test'), { code: 'message_not_ended' })
  })

  it('is refused a second time, so that no duplicate is made by accident', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED' })
    const resent = await world.administration.retryMessage(id, 'test')

    await assert.rejects(world.administration.retryMessage(id, 'test'), {
      code: 'message_sent_again',
      message: new RegExp(resent.id),
    })
  })

  it('goes through the connection that took the number over, or is refused', async () => {
    const { id } = await world.accept({ connectionId, state: 'FAILED' })
    await world.administration.removeConnection(connectionId, false, 'test')

    await assert.rejects(world.administration.retryMessage(id, 'test'), { code: 'connection_unknown' })
    const successor = await world.connection(acme)
    const resent = await world.administration.retryMessage(id, 'test')

    assert.equal(
      (await world.all('select connection_id from message where id = ?', resent.id))[0]?.['connection_id'],
      successor,
    )
    assert.equal((await world.changedLanes()).includes(successor), true)
  })
})

describe.each(ENGINES)('resolving what is unconfirmed, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('lists unresolved messages, oldest first', async () => {
    const first = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    const second = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'quarantined' })

    const ids = async () => (await world.administration.listUnresolved(acme)).map(({ id }) => id)
    assert.deepEqual(await ids(), [first.id, second.id])
    await world.administration.resolveMessage(first.id, 'arrived', 'test')
    assert.deepEqual(await ids(), [second.id])
  })

  it('publishes on a person’s word and keeps what it was', async () => {
    const { id } = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })
    world.now += 60_000

    const view = await world.administration.resolveMessage(id, 'arrived', 'anna')

    assert.deepEqual([view.state, view.reason, view.publishedAt], ['PUBLISHED', 'marked_arrived', NOON + 60_000])
    const { timeline } = await world.administration.explainMessage(id)
    assert.deepEqual(
      timeline.map(({ kind, code }) => [kind, code]),
      [
        ['accepted', null],
        ['settled', 'result_unknown'],
        ['resolved', 'marked_arrived'],
      ],
    )
    assert.equal(timeline[1]?.facts['state'], 'UNCONFIRMED')
  })

  it('sends again as a new message, and leaves the old one unconfirmed', async () => {
    const { id } = await world.accept({ connectionId, state: 'UNCONFIRMED', reason: 'result_unknown' })

    const resent = await world.administration.resolveMessage(id, 'send-again', 'test')

    assert.deepEqual([resent.state, resent.reason], ['QUEUED', 'due'])
    assert.equal((await world.administration.explainMessage(id)).message.state, 'UNCONFIRMED')
    assert.deepEqual(await world.administration.listUnresolved(null), [])
    await assert.rejects(world.administration.resolveMessage(id, 'arrived', 'test'), {
      code: 'message_not_unconfirmed',
    })
  })

  it('is refused for anything else', async () => {
    const { id } = await world.accept({ connectionId })

    await assert.rejects(world.administration.resolveMessage(id, 'arrived', 'test'), {
      code: 'message_not_unconfirmed',
    })
  })
})
