import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'

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

async function attempt(sequence: number, row: { number: number; at: number; outcome: string; code?: string }) {
  await world.run(
    `insert into ${world.database.attempts} (message_sequence, number, started_at, ended_at, outcome, code) values (?, ?, ?, ?, ?, ?)`,
    sequence,
    row.number,
    row.at,
    row.at + 20,
    row.outcome,
    row.code ?? null,
  )
}

describe.each(ENGINES)('G10: the timeline of a message, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('shows everything that happened, by time', async () => {
    const { id, sequence } = await world.accept({ connectionId, type: 'image', state: 'PUBLISHED' })
    await world.run(
      'insert into accept_commit (last_sequence, first_sequence, took_us) values (?, ?, 900)',
      sequence,
      sequence,
    )
    await world.run(
      `update media set state = 'forgotten', sha256 = 'abc', size_bytes = 7, mime = 'image/png', took_ms = 12, ended_at = ?`,
      NOON + 100,
    )
    await attempt(sequence, { number: 1, at: NOON + 200, outcome: 'rejected', code: 'busy' })
    await attempt(sequence, { number: 2, at: NOON + 980, outcome: 'accepted' })
    await world.run(
      `insert into request (account_id, token_id, request_id, received_at, took_us, status, code, message_id)
       values (?, 'tok', 'again', ?, 1, 200, 'HC-1', ?)`,
      acme,
      NOON + 300,
      id,
    )
    await world.run(
      `insert into timeline (message_sequence, position, at, kind) values (?, 1, ?, 'receipt-read')`,
      sequence,
      NOON + 9_000,
    )

    const timeline = await world.administration.explainMessage(id)

    assert.deepEqual(
      timeline.timeline.map(({ at, kind, code }) => [at - NOON, kind, code]),
      [
        [0, 'accepted', null],
        [100, 'media-fetched', null],
        [200, 'attempt-begun', null],
        [220, 'attempt-rejected', 'busy'],
        [300, 'repeated', null],
        [980, 'attempt-begun', null],
        [1_000, 'attempt-accepted', null],
        [1_000, 'settled', null],
        [9_000, 'receipt-read', null],
      ],
    )
    assert.equal(timeline.timeline[0]?.facts['tookMs'], 1.6)
    assert.deepEqual(
      [timeline.requestId, timeline.position, timeline.laneWait, timeline.expiresAt],
      ['request-1', null, null, null],
    )
  })

  it('puts no report of the network before its cause, though its times are rounded down to the second', async () => {
    const acceptedAt = NOON + 300
    const { id, sequence } = await world.accept({ connectionId, state: 'FAILED', acceptedAt })
    // Settled at NOON + 1,300.
    await world.database.rewriteMessage(sequence, { published_at: acceptedAt + 1_000 })
    await attempt(sequence, { number: 1, at: NOON + 1_270, outcome: 'accepted' })
    const reports = [
      ['receipt-sent', NOON],
      ['receipt-delivered', NOON + 1_000],
      ['receipt-failed', NOON + 1_000],
    ] as const
    for (const [index, [kind, at]] of reports.entries())
      await world.run(
        'insert into timeline (message_sequence, position, at, kind) values (?, ?, ?, ?)',
        sequence,
        index + 1,
        at,
        kind,
      )

    const { timeline } = await world.administration.explainMessage(id)

    assert.deepEqual(
      timeline.map(({ at, kind, facts }) => [kind, at - NOON, facts['networkTime'] ?? null]),
      [
        ['accepted', 300, null],
        ['attempt-begun', 1_270, null],
        ['attempt-accepted', 1_290, null],
        ['settled', 1_300, null],
        ['receipt-sent', 1_300, NOON],
        ['receipt-delivered', 1_300, NOON + 1_000],
        ['receipt-failed', 1_300, NOON + 1_000],
      ],
    )
  })

  it('shows the position of a waiting message, why its lane waits, and when it expires', async () => {
    await world.accept({ connectionId })
    const { id } = await world.accept({ connectionId })
    await world.lane(connectionId, { reason: 'connection_away', words: 'no route', until: NOON + 5_000 })

    const timeline = await world.administration.explainMessage(id)

    assert.equal(timeline.position, 2)
    assert.equal(timeline.message.reason, 'behind_others')
    assert.deepEqual(timeline.laneWait, { reason: 'connection_away', words: 'no route', until: NOON + 5_000 })
    assert.equal(timeline.expiresAt, NOON + 24 * 3_600_000)
  })

  it('leaves the duration out while that of the commit is unknown', async () => {
    const { id } = await world.accept({ connectionId })

    assert.equal((await world.administration.explainMessage(id)).timeline[0]?.facts['tookMs'], null)
  })

  it('shows an attempt that is still open', async () => {
    const { id, sequence } = await world.accept({ connectionId })
    await world.openAttempt(connectionId, sequence)

    const timeline = await world.administration.explainMessage(id)

    assert.deepEqual([timeline.message.state, timeline.position], ['SENDING', 1])
    assert.equal(timeline.timeline.at(-1)?.kind, 'attempt-begun')
  })

  it('shows why it failed, in the network’s words', async () => {
    const { id, sequence } = await world.accept({ connectionId, state: 'FAILED', reason: 'recipient_refused' })
    await world.database.rewriteMessage(sequence, { words: 'no such user' })

    const timeline = await world.administration.explainMessage(id)

    assert.equal(timeline.reasonWords, 'no such user')
    assert.deepEqual(timeline.timeline.at(-1), {
      at: NOON + 1_000,
      kind: 'settled',
      code: 'recipient_refused',
      words: 'no such user',
      facts: { state: 'FAILED' },
    })
  })

  it.each([
    { state: 'FAILED', publishedAt: null, kind: 'receipt-failed', was: 'UNCONFIRMED' },
    { state: 'DELIVERED', publishedAt: NOON + 5_000, kind: 'receipt-delivered', was: 'UNCONFIRMED' },
    { state: 'DELIVERED', publishedAt: NOON, kind: 'receipt-delivered', was: 'UNCONFIRMED' },
    { state: 'PUBLISHED', publishedAt: NOON + 5_000, kind: 'receipt-contrary', was: 'FAILED' },
    { state: 'FAILED', publishedAt: NOON + 1_000, kind: 'receipt-failed', was: 'PUBLISHED' },
  ])(
    'knows that a message that is $state after $kind left its lane as $was',
    async ({ state, publishedAt, kind, was }) => {
      const { id, sequence } = await world.accept({ connectionId, state })
      await world.database.rewriteMessage(sequence, { published_at: publishedAt })
      const late = 'insert into timeline (message_sequence, position, at, kind) values (?, 1, ?, ?)'
      await world.run(late, sequence, NOON + 5_000, kind)

      const { timeline } = await world.administration.explainMessage(id)

      assert.equal(timeline.find((entry) => entry.kind === 'settled')?.facts['state'], was)
    },
  )
})
