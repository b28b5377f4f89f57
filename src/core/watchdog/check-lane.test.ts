import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { DEFAULT_LANE_POLICY } from '../connection/lane-policy.ts'
import type { AccountId, ConnectionId } from '../ids.ts'
import type { WatchedLane } from '../ports/watch.ts'
import { checkLane, type LaneContext, STALLED_AFTER_MS } from './check-lane.ts'
import { followLanes } from './follow-lanes.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const MINUTE_MS = 60_000
const CALL_MS = 30_000

const LANE: WatchedLane = {
  connectionId: 'con_1' as ConnectionId,
  accountId: 'acc_1' as AccountId,
  number: '15550001000',
  channel: 'sandbox',
  state: 'active',
  policy: DEFAULT_LANE_POLICY,
  reason: 'due',
  until: null,
  lastWait: null,
  hasLostSession: false,
  failingSince: null,
  lastAttemptAt: null,
  holder: { isAlive: true, host: 'here', pid: 7 },
  head: { sequence: 1, acceptedAt: NOW - 5 * MINUTE_MS, ownWait: null },
  open: null,
}
const HEAD = { sequence: 1, acceptedAt: NOW - 5 * MINUTE_MS, ownWait: null }
const OPEN = { sequence: 1, number: 1, startedAt: NOW - STALLED_AFTER_MS - CALL_MS }
const YEAR_MS = 365 * 86_400_000

/** As of a lane that has stood so for `stillMs`. */
function found(lane: Partial<WatchedLane>, stillMs = 10 * MINUTE_MS, context: Partial<LaneContext> = {}): string[] {
  const mark = { mark: 'm', since: NOW - stillMs, heldUntil: 0 }
  return checkLane(
    { ...LANE, ...lane },
    { mark, measure: null, oldestWaitingMs: 15 * MINUTE_MS, callBudgetMs: CALL_MS, now: NOW, ...context },
  )
    .filter(({ raises }) => raises)
    .map(({ kind, facts }) => `${kind}${facts['why'] ? ` ${facts['why']}` : ''}`)
}

describe('what is wrong with a lane', () => {
  it.each<[string, Partial<WatchedLane>, string[]]>([
    ['is due and held', {}, ['lane_stalled holder_silent']],
    ['is due and not claimed', { holder: null }, ['lane_stalled not_claimed']],
    ['has lost its worker', { reason: 'process_gone' }, ['lane_stalled process_gone']],
    ['has a call that is long over its time', { reason: 'sending', open: OPEN }, ['lane_stalled call_open']],
    [
      'asks for evidence long after the end of that',
      { reason: 'awaiting_evidence', until: NOW - STALLED_AFTER_MS, open: OPEN },
      ['lane_stalled evidence_over'],
    ],
    ['has a call within its time', { reason: 'sending', open: { ...OPEN, startedAt: NOW - CALL_MS } }, []],
    ['asks for evidence', { reason: 'awaiting_evidence', until: NOW + 1, open: OPEN }, []],
    ['has nothing to do', { head: null }, []],
    [
      'has only messages that wait for themselves',
      { reason: 'all_deferred', until: NOW + MINUTE_MS, lastWait: 'all_deferred' },
      [],
    ],
    [
      'has messages that waited for themselves until long ago',
      { head: { ...HEAD, ownWait: { reason: 'retrying', words: null, until: null } }, lastWait: 'all_deferred' },
      ['lane_stalled holder_silent'],
    ],
    ['waits for its pace', { reason: 'pace', until: NOW + MINUTE_MS, lastWait: 'pace' }, []],
    ['is paused', { state: 'paused', reason: 'paused' }, []],
    ['is held with all others', { reason: 'database_went_back' }, []],
    ['has no service', { reason: 'service_stopped' }, []],
    ['was removed', { state: 'removed', reason: 'connection_removed', open: OPEN }, []],
    [
      'has been away for two minutes, and is being tried',
      {
        reason: 'sending',
        lastWait: 'connection_away',
        failingSince: NOW - 2 * MINUTE_MS,
        open: { ...OPEN, startedAt: NOW },
      },
      ['connection_offline'],
    ],
    [
      'has been away for less',
      { reason: 'connection_away', lastWait: 'connection_away', failingSince: NOW - 2 * MINUTE_MS + 1, until: NOW + 1 },
      [],
    ],
    ...(['device_unlinked', 'session_taken', 'number_restricted', 'client_refused'] as const).map(
      (reason): [string, Partial<WatchedLane>, string[]] => [
        `waits for ${reason}`,
        { reason, lastWait: reason, failingSince: NOW - 1, until: NOW + 1 },
        [reason],
      ],
    ),
    [
      'waits because its number is banned',
      { reason: 'number_banned', lastWait: 'number_banned', failingSince: NOW - 1, until: NOW + 1 },
      ['number_restricted'],
    ],
    [
      'has a phone that is not linked, and nothing to send',
      { head: null, reason: 'idle', lastWait: 'device_unlinked', failingSince: NOW - 1, until: NOW + 1 },
      [],
    ],
    [
      'has lost its session, though nothing waits',
      {
        head: null,
        reason: 'device_unlinked',
        lastWait: 'device_unlinked',
        failingSince: NOW - 1,
        hasLostSession: true,
      },
      ['device_unlinked'],
    ],
    [
      'has failures of one message alone',
      { reason: 'all_deferred', lastWait: 'all_deferred', failingSince: NOW - 5 * MINUTE_MS, until: NOW + 1 },
      [],
    ],
  ])('reports one that %s', (_, lane, expected) => {
    assert.deepEqual(found(lane), expected)
  })

  it('gives a lane three quarters of a minute', () => {
    assert.deepEqual(
      [found({}, STALLED_AFTER_MS - 1), found({}, STALLED_AFTER_MS)],
      [[], ['lane_stalled holder_silent']],
    )
  })

  it('reports the age of a head without another cause, and never where that is switched off', () => {
    const head = { ...HEAD, acceptedAt: NOW - 15 * MINUTE_MS }
    const old = { head, reason: 'all_deferred', until: NOW + 1 }
    const heldTill = (at: number) => ({ mark: { mark: 'm', since: NOW, heldUntil: at } })

    assert.deepEqual(found(old), ['oldest_waiting'])
    assert.deepEqual(found({ ...old, head: { ...head, acceptedAt: NOW - 15 * MINUTE_MS + 1 } }), [])
    assert.deepEqual(found(old, 0, { oldestWaitingMs: 0 }), [])
    // It was quiet, paced or paused till then.
    assert.deepEqual(found(old, 0, heldTill(NOW - 14 * MINUTE_MS)), [])
    assert.deepEqual(found(old, 0, heldTill(NOW - 15 * MINUTE_MS)), ['oldest_waiting'])
    // One reason is enough.
    assert.deepEqual(found({ ...old, reason: 'due', until: null }), ['lane_stalled holder_silent'])
  })

  it('names what the oldest message waits for itself, unless the whole lane waits', () => {
    const waits = (reason: string) => ({ reason, until: NOW + 1 })

    assert.deepEqual(
      [waits('all_deferred'), {}, waits('trouble')].map(
        (lane) => oldestFacts({ ...lane, ownWait: wait('media_pending') })?.['reason'],
      ),
      ['media_pending', 'media_pending', 'trouble'],
    )
  })

  it('says how much of the allowance of new recipients is used and when more is allowed, but not what a network said', () => {
    const of = (reason: string) => {
      const facts = oldestFacts({ reason: 'all_deferred', ownWait: wait(reason) })
      return [facts?.['reason'], facts?.['until'], facts?.['words']]
    }

    assert.deepEqual(
      [of('new_recipients'), of('busy')],
      [
        ['new_recipients', NOW + 1, 'words'],
        ['busy', NOW + 1, null],
      ],
    )
  })

  it('finds nothing wrong with a lane that moves past a deferred message, and notes an attempt every few seconds', () => {
    const alarms = (noted: boolean) => {
      let marks: ReturnType<typeof followLanes> = new Map()
      const found: string[] = []
      for (let at = 0; at < 10 * MINUTE_MS; at += 15_000) {
        const now = NOW + at
        const lane: WatchedLane = { ...LANE, lastAttemptAt: noted ? now - (at % 5_000) : null }
        marks = followLanes(marks, [lane], { open: [], now })
        const mark = marks.get(lane.connectionId)
        assert.ok(mark)
        const context = { mark, measure: null, oldestWaitingMs: 0, callBudgetMs: CALL_MS, now }
        found.push(...checkLane(lane, context).map(({ kind }) => kind))
      }
      return [...new Set(found)]
    }

    assert.deepEqual([alarms(true), alarms(false)], [[], ['lane_stalled']])
  })

  it('finds nothing wrong with lanes that move, whatever their rhythm', () => {
    for (const everyMs of [100, 1_000, 14_000, 29_000]) {
      let marks: ReturnType<typeof followLanes> = new Map()
      for (let at = 0; at < 10 * MINUTE_MS; at += 15_000) {
        const startedAt = NOW + at - (at % everyMs)
        const open = { sequence: Math.floor(at / everyMs), number: 1, startedAt }
        const lane: WatchedLane = {
          ...LANE,
          reason: 'sending',
          open,
          head: { sequence: open.sequence, acceptedAt: startedAt - MINUTE_MS, ownWait: null },
        }
        const now = NOW + at
        marks = followLanes(marks, [lane], { open: [], now })
        const mark = marks.get(lane.connectionId)
        assert.ok(mark)
        const context = { mark, measure: null, oldestWaitingMs: 15 * MINUTE_MS, callBudgetMs: CALL_MS, now }
        assert.deepEqual(checkLane(lane, context), [])
      }
    }
  })

  it('does not blame a lane for a clock that was set', () => {
    let marks = followLanes(new Map(), [LANE], { open: [], now: NOW + YEAR_MS })
    marks = followLanes(marks, [LANE], { open: [], now: NOW })
    const mark = marks.get(LANE.connectionId)

    assert.deepEqual(mark && found({}, 0, { mark }), [])
  })
})

function wait(reason: string) {
  return { reason, words: 'words', until: NOW + 1 }
}

/** Of the alarm about a message that has waited for long. */
function oldestFacts({ ownWait, ...lane }: Partial<WatchedLane> & { readonly ownWait: ReturnType<typeof wait> }) {
  const head = { sequence: 1, acceptedAt: NOW - 15 * MINUTE_MS, ownWait }
  const mark = { mark: 'm', since: NOW, heldUntil: 0 }
  const context = { mark, measure: null, oldestWaitingMs: 15 * MINUTE_MS, callBudgetMs: CALL_MS, now: NOW }
  return checkLane({ ...LANE, ...lane, head }, context)[0]?.facts
}
