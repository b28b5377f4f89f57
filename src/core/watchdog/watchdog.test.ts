import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { HandClock } from '../../../test/conformance/hand-clock.ts'
import { DEFAULT_LANE_POLICY } from '../connection/lane-policy.ts'
import type { AccountId, ConnectionId, WorkerId } from '../ids.ts'
import type { Throttle, Watch, WatchedLane } from '../ports/watch.ts'
import type { OpenAlarm } from './alarm.ts'
import { Watchdog } from './watchdog.ts'

const LANES = 60
const COUNT_TAKES_MS = 30
const AT_ONCE = 20
const MOST_PARTS = 1_000

describe('a check of many lanes whose messages have to be counted', () => {
  it('takes a twentieth of the time, so that others have the rest', async () => {
    const { watchdog, clock, counted, checks } = watching()
    watchdog.start()

    await clock.pass(1)
    const first = counted.length
    await clock.pass(19 * COUNT_TAKES_MS - 10)
    const beforeItsTime = counted.length
    await clock.pass(20)

    assert.deepEqual([first, beforeItsTime, counted.length], [AT_ONCE, AT_ONCE, 2 * AT_ONCE])
    await clock.pass(2_000)
    assert.deepEqual([counted.length, checks.length], [LANES, 1])
    await watchdog.stop()
  })

  it('lasts only so much longer for that, however long it takes to count', async () => {
    const { watchdog, clock, checks } = watching({ countTakesMs: 5_000 })
    watchdog.start()

    await clock.pass(10_100)

    assert.equal(checks.length, 1)
    await watchdog.stop()
  })

  it('comes to its end at once when the process wants to stop', async () => {
    const { watchdog, clock, counted, checks } = watching()
    watchdog.start()
    await clock.pass(1)

    await watchdog.stop()

    assert.deepEqual([counted.length, checks.length], [LANES, 1])
  })
})

describe('a check that counts all that waits', () => {
  it('takes a thirtieth of the time, at least twenty parts in five seconds, and leaves the rest to the next check', async () => {
    const short = counting({ partTakesMs: 2 })
    const long = counting({ partTakesMs: 400 })
    short.watchdog.start()
    long.watchdog.start()

    await short.clock.pass(5_100)
    await long.clock.pass(5_100)

    assert.deepEqual([short.parts(), short.checks.length], [87, 1])
    assert.deepEqual([long.parts(), long.checks.length], [20, 1])
    await short.watchdog.stop()
    await long.watchdog.stop()
  })

  it('ends when the process wants to stop', async () => {
    const { watchdog, clock, parts, checks } = counting({ partTakesMs: 400 })
    watchdog.start()
    await clock.pass(600)

    await watchdog.stop()

    assert.deepEqual([parts(), checks.length], [3, 1])
  })

  it('clears no alarm of a limit that is near before it knows', async () => {
    const { watch, watchdog, clock, cleared } = watching({ lanes: 0, open: [nearLimit(), offline()] })
    watch.readFullLanes = async () => null
    watchdog.start()

    await clock.pass(300_000)
    const unknown = [...cleared]
    watch.readFullLanes = async () => []
    await clock.pass(300_000)

    assert.deepEqual([unknown, cleared], [['connection_offline'], ['connection_offline', 'backlog_near_limit']])
    await watchdog.stop()
  })
})

describe('a check after a time in which none was possible', () => {
  it('blames no lane that stands as it stood before', async () => {
    const { watch, watchdog, clock, raised } = watching({ lanes: 0 })
    watch.readLanes = async () => [
      { ...pausedLane('con_1' as ConnectionId, clock.now()), state: 'active', reason: 'due' },
    ]
    let isFull = false
    watch.readInstallation = async () => {
      if (isFull) throw new Error('The disk is full')
      return { hold: null, dispatchesUntil: null, hasConnections: false }
    }
    watchdog.start()
    await clock.pass(1)

    isFull = true
    await clock.pass(300_000)
    isFull = false
    await clock.pass(30_000)
    const soon = [...raised]
    await clock.pass(60_000)

    assert.deepEqual([soon, raised[0]], [[], 'lane_stalled'])
    await watchdog.stop()
  })
})

/** More waits than can be counted in one check, and each part takes so long. */
function counting({ partTakesMs }: { partTakesMs: number }) {
  const world = watching({ lanes: 0 })
  let parts = 0
  const count = async (_: number, throttle: Throttle) => {
    do parts += 1
    while (parts < MOST_PARTS && (await throttle(partTakesMs)))
    return null
  }
  world.watch.readFullLanes = count
  return { ...world, parts: () => parts }
}

function nearLimit(): OpenAlarm {
  return openAlarm('backlog_near_limit', { number: '447911100000', waiting: 95, limit: 100 })
}

function offline(): OpenAlarm {
  return openAlarm('connection_offline', {})
}

function openAlarm(kind: OpenAlarm['kind'], facts: OpenAlarm['facts']): OpenAlarm {
  const at = { since: 1, raisedAt: 1, changedAt: 1 }
  return { id: 1, kind, accountId: 'acc_1' as AccountId, object: 'con_0', severity: 'warning', facts, ...at }
}

/** Paused lanes that may expire soon, each of which takes its share of `countTakesMs` to count. */
function watching({
  countTakesMs = COUNT_TAKES_MS,
  lanes: laneCount = LANES,
  open = [],
}: {
  countTakesMs?: number
  lanes?: number
  open?: readonly OpenAlarm[]
} = {}) {
  const clock = new HandClock()
  let countedMs = 0
  const counted: ConnectionId[] = []
  const checks: unknown[] = []
  const cleared: string[] = []
  const raised: string[] = []
  let alarms = open
  const lanes = Array.from({ length: laneCount }, (_, at) => pausedLane(`con_${at}` as ConnectionId, clock.now()))
  const watch: Watch = {
    acquireLease: async () => true,
    releaseLease: async () => {},
    readLanes: async () => lanes,
    readLanesOf: async () => [],
    readLostSessions: async () => [],
    readChangedCapabilities: async () => [],
    measureLanes: async (wanted) => {
      countedMs += countTakesMs
      counted.push(...wanted.map(({ id }) => id))
      return new Map(wanted.map(({ id }) => [id, { waiting: 5_000, isMore: false, newestAt: null }]))
    },
    readInstallation: async () => ({ hold: null, dispatchesUntil: null, hasConnections: false }),
    readUnconfirmed: async () => [],
    readUnreported: async () => [],
    readBrokenPromises: async () => [],
    readContactLocks: async () => [],
    readTokens: async () => [],
    readExpiredUse: async () => [],
    readFullLanes: async () => [],
    readOpenAlarms: async () => alarms,
    raiseAlarms: async (found) => void raised.push(...found.map(({ kind }) => kind)),
    changeAlarms: async () => {},
    clearAlarms: async (gone) => {
      cleared.push(...gone.map(({ kind }) => kind))
      alarms = alarms.filter((alarm) => !gone.includes(alarm))
    },
    readUnannouncedAlarms: async () => [],
    readOnlyAccount: async () => null,
    markAnnounced: async () => {},
    forgetAlarms: async () => {},
  }
  const watchdog = new Watchdog({
    pid: 7,
    takeOutage: () => null,
    watch,
    watcher: 'worker-1' as WorkerId,
    host: 'here',
    clock: {
      now: () => clock.now(),
      wall: () => clock.wall(),
      monotonic: () => clock.monotonic() + countedMs,
      after: (delayMs, call) => clock.after(delayMs, call),
      random: () => clock.random(),
    },
    journal: { record: () => {} },
    limits: { oldestWaitingMs: 0, diskFreeShare: 0 },
    readDisks: async () => [],
    callBudgetMs: () => 30_000,
    announce: async () => {},
    onChecked: (state) => void checks.push(state),
  })
  return { watch, watchdog, clock, counted, checks, cleared, raised }
}

function pausedLane(connectionId: ConnectionId, acceptedAt: number): WatchedLane {
  return {
    connectionId,
    accountId: 'acc_1' as AccountId,
    number: '447911100000',
    channel: 'sandbox',
    state: 'paused',
    policy: { ...DEFAULT_LANE_POLICY, timeToLiveMs: 60_000 },
    reason: 'paused',
    until: null,
    lastWait: null,
    hasLostSession: false,
    failingSince: null,
    lastAttemptAt: null,
    holder: null,
    head: { sequence: 1, acceptedAt, ownWait: null },
    open: null,
  }
}
