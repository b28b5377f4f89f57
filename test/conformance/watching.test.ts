import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import type { AdapterCapabilities } from '../../src/core/connection/adapter-capabilities.ts'
import type { LanePolicy } from '../../src/core/connection/lane-policy.ts'
import type { SpoolId, WorkerId } from '../../src/core/ids.ts'
import type { JournalEvent } from '../../src/core/ports/journal.ts'
import type { ClaimedLane, LaneMemory } from '../../src/core/ports/lanes.ts'
import type { LaneToMeasure, Watch } from '../../src/core/ports/watch.ts'
import type { OpenAlarm } from '../../src/core/watchdog/alarm.ts'
import { alarmText } from '../../src/core/watchdog/alarm-text.ts'
import { announceAlarms } from '../../src/core/watchdog/announce-alarms.ts'
import type { DiskRoom } from '../../src/core/watchdog/check-disk.ts'
import { Watchdog, type WatchdogParts, type WatchState } from '../../src/core/watchdog/watchdog.ts'
import { waitUntil } from '../support/black-box/wait-until.ts'
import { KeptPostgres } from './postgres-world.ts'
import { newSqliteWorld } from './sqlite-world.ts'
import {
  ANNA,
  AS_PUBLISHED,
  accept,
  addSender,
  attempt,
  BEN,
  beat,
  head,
  holdLane,
  multiplyTokens,
  open,
  type Sender,
  type StorageWorld,
  step,
} from './storage-world.ts'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const DAY_MS = 86_400_000
const GB = 1_073_741_824

const { newWorld: newPostgresWorld } = new KeptPostgres()
const ENGINES = [
  ['SQLite', newSqliteWorld],
  ['PostgreSQL', newPostgresWorld],
] as const

describe.each(ENGINES)('the watchdog on %s', (_name, newWorld) => {
  let world: StorageWorld
  let events: JournalEvent[]
  let state: WatchState | null
  let disks: DiskRoom[]
  let outages: ReturnType<WatchdogParts['takeOutage']>[]
  let watchdog: Watchdog

  beforeEach(async () => {
    world = await newWorld({ maxWaitingPerConnection: 20 })
    events = []
    state = null
    disks = []
    outages = []
    watchdog = newWatchdog()
    return () => world.close()
  })

  function newWatchdog(watch: Watch = world.watch, watcher: WorkerId = ANNA): Watchdog {
    return new Watchdog({
      pid: 7,
      takeOutage: () => outages.shift() ?? null,
      watch,
      watcher,
      host: 'here',
      clock: world.clock,
      journal: { record: (event) => void events.push(event) },
      limits: { oldestWaitingMs: 15 * MINUTE_MS, diskFreeShare: 0.1 },
      readDisks: async () => disks,
      callBudgetMs: () => 30 * SECOND_MS,
      announce: (now) => announceAlarms({ watch, notifications: world.notices }, now),
      onChecked: (checked) => {
        state = checked
      },
    })
  }

  /** Lets time pass with a living worker and a check every 15 seconds. Returns the alarms that are open then. */
  async function watchFor(ms: number, each: () => Promise<unknown> = async () => {}): Promise<readonly OpenAlarm[]> {
    const end = world.clock.now() + ms
    while (world.clock.now() < end) {
      await world.clock.pass(15 * SECOND_MS)
      await beat(world, ANNA, 60 * SECOND_MS)
      await each()
      await watchdog.check()
    }
    return state?.alarms ?? []
  }

  const kinds = (alarms: readonly OpenAlarm[]) => alarms.map(({ kind }) => kind)
  const said = () => events.map((event) => ('kind' in event ? `${event.event} ${event.kind}` : event.event))

  async function pass(lane: ClaimedLane, sender: Sender): Promise<void> {
    await accept(world, sender)
    await world.clock.pass(0)
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message), disposition: AS_PUBLISHED } }),
    )
  }

  async function waits(lane: ClaimedLane, memory: Partial<LaneMemory>): Promise<void> {
    await world.lanes.record(step(world, lane, { memory: { failureStreak: null, wait: null, ...memory } }))
  }

  async function laneWith(policy: Partial<LanePolicy> = {}, messages = 1): Promise<[ClaimedLane, Sender]> {
    const sender = await addSender(world, { policy })
    for (let count = 0; count < messages; count++) await accept(world, sender)
    await world.clock.pass(0)
    return [await holdLane(world, ANNA, sender.connectionId), sender]
  }

  it('G10: finds within a minute a lane whose worker lives and silently does nothing, and names the worker', async () => {
    const [, sender] = await laneWith({}, 3)

    const alarms = await watchFor(MINUTE_MS)

    assert.deepEqual(kinds(alarms), ['lane_stalled'])
    const [alarm] = alarms
    assert.ok(alarm)
    assert.deepEqual([alarm.accountId, alarm.object], [sender.accountId, sender.connectionId])
    const { cause, command } = alarmText(alarm, world.clock.now())
    assert.match(
      cause,
      /^3 messages wait on 15550001000, the oldest for 1 min, but nothing has moved for 45 s: its process/,
    )
    assert.equal(command, 'nuncio workers')
  })

  it('finds a lane that no worker claims, and one whose call does not end, but no call within its time limit', async () => {
    const left = await addSender(world, { number: '15550001001' })
    await accept(world, left)
    const [lane, sender] = await laneWith()
    await open(world, lane, await head(world, sender.connectionId))

    const early = await watchFor(MINUTE_MS)
    const late = await watchFor(MINUTE_MS)

    assert.deepEqual(
      early.map((alarm) => [alarm.object, alarm.facts['why']]),
      [[left.connectionId, 'not_claimed']],
    )
    assert.deepEqual(
      late.map((alarm) => [alarm.object, alarm.facts['why']]),
      [
        [left.connectionId, 'not_claimed'],
        [sender.connectionId, 'call_open'],
      ],
    )
  })

  it('clears the alarm when the lane moves again, and keeps it over a restart without raising it again', async () => {
    const [lane, sender] = await laneWith()
    await watchFor(MINUTE_MS)

    watchdog = newWatchdog()
    const after = await watchFor(2 * MINUTE_MS)
    const before = said()
    await world.lanes.record(
      step(world, lane, { start: { sequence: (await head(world, sender.connectionId)).sequence, number: 1 } }),
    )
    const cleared = await watchFor(45 * SECOND_MS)

    assert.deepEqual([kinds(after), before], [['lane_stalled'], ['alarm.raised lane_stalled']])
    assert.deepEqual([cleared, said()], [[], ['alarm.raised lane_stalled', 'alarm.cleared lane_stalled']])
  })

  it('raises no alarm for lanes that are busy, paced, quiet or paused, however long that lasts', async () => {
    const [busy, busySender] = await laneWith()
    const [paced] = await laneWith({ leastGapMs: MINUTE_MS, timeToLiveMs: DAY_MS }, 3)
    const [quiet] = await laneWith({
      quietHours: { from: '11:00', to: '13:00', timeZone: 'UTC' },
      timeToLiveMs: DAY_MS,
    })
    const [, pausedSender] = await laneWith({ timeToLiveMs: DAY_MS })
    await world.administration.setConnectionState(pausedSender.connectionId, 'paused', 'test')
    await waits(quiet, { wait: { reason: 'quiet_hours', words: null, until: world.clock.now() + 60 * MINUTE_MS } })

    const alarms = await watchFor(40 * MINUTE_MS, async () => {
      await pass(busy, busySender)
      await waits(paced, { wait: { reason: 'pace', words: null, until: world.clock.now() + MINUTE_MS } })
    })

    assert.deepEqual([alarms, said()], [[], []])
  })

  it('raises an alarm after two minutes in which a connection cannot reach its network, until it can', async () => {
    const [lane, sender] = await laneWith({}, 2)
    const since = world.clock.now()
    const error = { failures: 3, since, messages: 1, lastSequence: 1 }
    const fail = () =>
      waits(lane, {
        failureStreak: error,
        wait: { reason: 'connection_away', words: 'no route', until: world.clock.now() + 10 * SECOND_MS },
      })

    const early = await watchFor(105 * SECOND_MS, fail)
    const late = await watchFor(MINUTE_MS, fail)
    await waits(lane, {})
    await pass(lane, sender)
    await pass(lane, sender)
    const cleared = await watchFor(45 * SECOND_MS, () => pass(lane, sender))

    assert.deepEqual([kinds(early), kinds(late), kinds(cleared)], [[], ['connection_offline'], []])
    assert.deepEqual(late[0]?.since, since)
    assert.match(
      late[0] ? alarmText(late[0], world.clock.now()).cause : '',
      /^15550001000 has sent nothing for \d min( \d+ s)?\. 15550001000 cannot reach the sandbox. 2 messages wait/,
    )
  })

  it('raises an alarm at once for a phone that was unlinked, whatever its messages wait for, and if none waits', async () => {
    const [lane, deferred] = await laneWith()
    const empty = await addSender(world, { number: '15550001001' })
    await waits(lane, { wait: { reason: 'all_deferred', words: null, until: world.clock.now() + 60 * MINUTE_MS } })
    const [since, senders] = [world.clock.now(), [deferred, empty]]
    for (const { connectionId } of senders)
      await status(connectionId, { status: 'unlinked', since, readyAt: since - 1 })

    const alarms = await watchFor(45 * SECOND_MS)
    for (const { connectionId } of senders) await status(connectionId, { status: 'ready', since, readyAt: since })
    const linked = await watchFor(45 * SECOND_MS)

    assert.deepEqual(
      senders.map(({ connectionId }) => {
        const alarm = alarms.find(({ object }) => object === connectionId)
        return alarm && [alarm.kind, alarm.since, alarmText(alarm, world.clock.now()).cause]
      }),
      [
        [
          'device_unlinked',
          since,
          'The phone of 15550001000 is not linked, or was unlinked. 1 message waits on 15550001000 for 1 min 30 s.',
        ],
        ['device_unlinked', since, 'The phone of 15550001001 is not linked, or was unlinked.'],
      ],
    )
    assert.deepEqual(kinds(linked), [])
  })

  it('raises no alarm for a phone that was never linked, or that a person unlinked here, while nothing waits', async () => {
    const [first, second] = [await addSender(world, {}), await addSender(world, { number: '15550001001' })]
    const since = world.clock.now()
    await status(first.connectionId, { status: 'unlinked', since, readyAt: null })
    await status(second.connectionId, { status: 'unlinked', since, readyAt: since - 1 })
    await world.sql(`insert into session_request
      (connection_id, id, kind, requested_by, watched_until, progress, ended_at, begun)
      values ('${second.connectionId}', 'one', 'unlink', 'anna', ${since}, '{}', ${since}, '[]')`)

    assert.deepEqual(kinds(await watchFor(MINUTE_MS)), [])
  })

  interface Status {
    readonly status: string
    readonly since: number
    readonly readyAt: number | null
  }

  async function status(connectionId: string, { status: name, since, readyAt }: Status): Promise<void> {
    await world.sql(`delete from session_status where connection_id = '${connectionId}'`)
    await world.sql(`insert into session_status (connection_id, status, since, ready_at)
      values ('${connectionId}', '${name}', ${since}, ${readyAt ?? 'null'})`)
  }

  it('raises an alarm for a head that waits too long for itself', async () => {
    const [lane] = await laneWith()
    const retry = () =>
      waits(lane, { wait: { reason: 'retrying', words: null, until: world.clock.now() + 30 * SECOND_MS } })

    const early = await watchFor(14 * MINUTE_MS, retry)
    const late = await watchFor(2 * MINUTE_MS, retry)

    assert.deepEqual([kinds(early), kinds(late)], [[], ['oldest_waiting']])
    assert.ok(state && state.oldestWaitingMs !== null && state.oldestWaitingMs >= 15 * MINUTE_MS)
  })

  it('counts the messages that expire because of the pace', async () => {
    const [lane] = await laneWith({ leastGapMs: 10 * MINUTE_MS, timeToLiveMs: 65 * MINUTE_MS }, 9)
    const rest = () => waits(lane, { wait: { reason: 'pace', words: null, until: world.clock.now() + 10 * MINUTE_MS } })

    const alarms = await watchFor(MINUTE_MS, rest)

    assert.deepEqual(kinds(alarms), ['messages_will_expire'])
    assert.match(
      alarms[0] ? alarmText(alarms[0], world.clock.now()).cause : '',
      /^2 messages of 9 that wait on 15550001000 will expire before their turn\./,
    )
  })

  it('measures several lanes at once, each by its own state', async () => {
    const senders = [await addSender(world), await addSender(world), await addSender(world)]
    const newest: (number | null)[] = []
    for (const [at, sender] of senders.entries()) {
      for (let count = 0; count < at; count++) {
        await world.clock.pass(SECOND_MS)
        await accept(world, sender)
      }
      newest.push(at === 0 ? null : world.clock.now())
    }
    await world.clock.pass(0)
    const [none, one, two] = senders.map(({ connectionId }) => ({ id: connectionId, most: 10 })) as LaneToMeasure[]

    const measures = await world.watch.measureLanes([two!, none!, one!])

    assert.deepEqual(
      [none, one, two].map((lane) => measures.get(lane!.id)),
      newest.map((newestAt, waiting) => ({ waiting, isMore: false, newestAt })),
    )
    assert.equal((await world.watch.measureLanes([])).size, 0)
    // An engine that counts on demand stops at the given number.
    const brief = (await world.watch.measureLanes([{ ...two!, most: 1 }])).get(two!.id)
    assert.ok(brief?.waiting === 2 || (brief?.waiting === 1 && brief.isMore))
  })

  it('raises an alarm for the hold of all lanes, and none for a lane, also after the hold', async () => {
    await laneWith()
    await world.administration.holdLanes('a restored backup', 'test')

    const held = await watchFor(20 * MINUTE_MS)
    await world.administration.releaseHold('test')
    const released = await watchFor(30 * SECOND_MS)

    assert.deepEqual([kinds(held), held[0]?.accountId], [['lanes_held'], null])
    assert.deepEqual(released, [])
  })

  it('raises an alarm after a minute in which no worker dispatches', async () => {
    await laneWith()
    await world.lanes.deleteLease(ANNA)
    const checkAfter = async (ms: number) => {
      await world.clock.pass(ms)
      await watchdog.check()
      return kinds(state?.alarms ?? [])
    }

    const early = [await checkAfter(15 * SECOND_MS), await checkAfter(30 * SECOND_MS)]
    const late = await checkAfter(45 * SECOND_MS)

    assert.deepEqual([early, late], [[[], []], ['no_worker']])
  })

  it('ignores a heartbeat from before the clock was set back', async () => {
    await laneWith()
    await world.sql(`update worker set heartbeat_until = ${world.clock.now() + 60 * MINUTE_MS}`)

    const found: string[][] = []
    for (const ms of [15, 30, 45]) {
      await world.clock.pass(ms * SECOND_MS)
      await watchdog.check()
      found.push(kinds(state?.alarms ?? []))
    }

    assert.deepEqual(found, [[], [], ['no_worker']])
  })

  it('raises the severity for a token as its expiration comes nearer, and for one that is used after it', async () => {
    const sender = await addSender(world)
    const at = world.clock.now()

    await accept(world, sender)
    const [lane] = [await holdLane(world, ANNA, sender.connectionId)]
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message), disposition: AS_PUBLISHED } }),
    )
    // PostgreSQL stores this a moment later.
    const isNoted = async () => {
      const [token] = await world.watch.readTokens({ from: at, to: at + 40 * DAY_MS })
      return token?.lastUsedAt !== null
    }
    await waitUntil('the use of the token is noted', isNoted, { deadlineMs: 10_000 })
    const seen: string[] = []
    for (const days of [23.5, 24.5, 29.5, 30.1]) {
      await world.clock.pass(at + days * DAY_MS - world.clock.now())
      const alarms = await watchFor(15 * SECOND_MS)
      seen.push(alarms.map(({ kind, severity }) => `${kind} ${severity}`).join())
    }

    assert.deepEqual(seen, ['', 'token_expiring warning', 'token_expiring critical', ''])
  })

  it('G8: watches the tokens of every account, however many one account has', async () => {
    const crowded = await addSender(world)
    const alone = await addSender(world, { number: '15550001009', tokenLastsDays: 31 })
    await multiplyTokens(world, crowded, 5_100)

    const found = await world.watch.readTokens({ from: world.clock.now(), to: world.clock.now() + 40 * DAY_MS })

    assert.ok(found.some(({ id }) => id === alone.tokenId))
  })

  it('reports messages with an unknown result, by account, until a person has resolved them', async () => {
    const [lane, sender] = await laneWith()
    const message = await head(world, sender.connectionId)
    await open(world, lane, message)
    const disposition = { do: 'finalize', as: 'UNCONFIRMED', reason: 'result_unknown', words: null } as const
    await world.lanes.record(
      step(world, lane, { finish: { attempt: attempt(world, message, 'unknown'), disposition } }),
    )

    const found = await watchFor(15 * SECOND_MS)
    await world.administration.resolveMessage(message.id, 'arrived', 'test')
    const resolved = await watchFor(15 * SECOND_MS)

    assert.deepEqual(
      found.map(({ kind, object, facts }) => [kind, object, facts['count']]),
      [['unconfirmed', sender.accountId, 1]],
    )
    assert.deepEqual(resolved, [])
  })

  it('G5: raises one alarm for each adapter that broke promises, and tells each further one again', async () => {
    const [sender, other] = [await addSender(world), await addSender(world, { number: '15550001001' })]
    const memory = world.channelState('bridge')
    const breaks = (connectionId: Sender['connectionId'], key: string) =>
      memory.add('broken-promise', { connectionId, key, value: `msg of ${key}`, at: world.clock.now() })
    await breaks(sender.connectionId, 'contradiction')
    await memory.add('rejected', { connectionId: other.connectionId, key: 'm_1', value: '', at: world.clock.now() })
    const first = await watchFor(15 * SECOND_MS)
    await breaks(sender.connectionId, 'sent-after-rejection')
    const [worse] = await watchFor(15 * SECOND_MS)
    const raised = events.filter(({ event }) => event === 'alarm.raised').length

    for (const { position } of await memory.list('broken-promise', { connectionId: null, after: 0, limit: 9 }))
      await memory.remove('broken-promise', position)
    const gone = await watchFor(15 * SECOND_MS)

    assert.deepEqual(
      first.map(({ kind, object, severity }) => [kind, object, severity]),
      [['promise_broken', sender.connectionId, 'critical']],
    )
    assert.match(
      alarmText(worse as OpenAlarm, world.clock.now()).cause,
      /^The adapter of \d+ broke its protocol\. It said .* not sent .* later that it was\. It reported that .* failed\. The message msg of sent-after-rejection shows it, since \d\d:\d\d UTC\.$/,
    )
    assert.deepEqual([raised, gone], [2, []])
  })

  it('raises an alarm if an adapter describes itself differently than when it was checked, until the next check', async () => {
    const sender = await addSender(world)
    const { connectionId } = sender
    const memory = world.channelState('bridge')
    const texts: AdapterCapabilities = {
      ...{ types: ['message'], maxTextLength: 160, maxCaptionLength: null },
      ...{ receipts: ['delivered'], evidence: false },
    }
    const said = { ...texts, types: ['message', 'image'], receipts: [], maxTextLength: null }
    const check = (capabilities: unknown) =>
      world.administration.changeConnection(connectionId, { channelSettings: { capabilities } }, 'test')
    const keep = () =>
      memory.add('capabilities', { connectionId, key: 'said', value: JSON.stringify(said), at: world.clock.now() })
    const noteCheck = async (isTakenOver: boolean) => {
      await world.administration.noteCheck(connectionId, { facts: [], isTakenOver }, 'test')
      return (await watchFor(15 * SECOND_MS)).length
    }
    await keep()
    const unknown = await watchFor(15 * SECOND_MS)
    await check(texts)
    const found = await watchFor(15 * SECOND_MS)
    await check(said)
    const taken = await watchFor(15 * SECOND_MS)
    await check(texts)
    // By then the adapter again says what is stored, so a check changes nothing.
    const ends = [await noteCheck(false), await noteCheck(true)]
    const isKeptAnew = await keep()

    assert.deepEqual(
      found.map(({ kind, object, severity }) => [kind, object, severity]),
      [['bridge_capabilities_changed', connectionId, 'info']],
    )
    assert.match(
      alarmText(found[0] as OpenAlarm, world.clock.now()).cause,
      /: the types of messages were text, now text, image; the reports were delivered, now none; the longest text was 160 characters, now not limited\.$/,
    )
    assert.deepEqual([unknown, taken], [[], []])
    assert.deepEqual([ends, isKeptAnew], [[1, 0], true])
  })

  it.each([true, false])(
    'reports that a number may not write to new recipients, until that is over; with a known end: %s',
    async (isEndSaid) => {
      const sender = await addSender(world)
      const memory = world.channelState('whatsapp-web')
      const until = world.clock.now() + 600 * SECOND_MS
      const at = world.clock.now()
      const value = JSON.stringify({ isSaid: true, isEndSaid })
      await memory.add('first-contact-lock', { connectionId: sender.connectionId, key: String(until), value, at })

      const locked = await watchFor(60 * SECOND_MS)
      const over = await watchFor(600 * SECOND_MS)

      assert.deepEqual(
        locked.map(({ kind, object, severity, facts }) => [kind, object, severity, facts['until']]),
        [['number_restricted', sender.connectionId, 'warning', isEndSaid ? until : null]],
      )
      assert.deepEqual(over, [])
    },
  )

  it('raises one alarm for each step as a disk fills, and none while the room varies around a limit', async () => {
    const room = (freeBytes: number): DiskRoom => ({
      host: 'here',
      volume: 'data',
      folder: '/data',
      freeBytes,
      totalBytes: 100 * GB,
    })
    const seen: string[] = []
    for (const gigabytes of [50, 9.9, 10.1, 9.9, 11.9, 1.9, 10.1, 12.1, 12.1, 12.1, 12.1]) {
      disks = [room(gigabytes * GB)]
      const [alarm] = await watchFor(15 * SECOND_MS)
      seen.push(alarm?.severity ?? '')
    }

    assert.deepEqual(seen, [
      '',
      ...Array(4).fill('warning'),
      ...Array(2).fill('critical'),
      ...Array(2).fill('critical'),
      '',
      '',
    ])
    assert.deepEqual(said(), ['alarm.raised disk_filling', 'alarm.raised disk_filling', 'alarm.cleared disk_filling'])
  })

  it('G11: reports for an hour that nothing could be written, if that lasted long or refused a request', async () => {
    const ended = (lastedMs: number, refused: number) => {
      const until = world.clock.now()
      return { since: until - lastedMs, until, cause: 'The disk is full.', refused }
    }
    const short = ended(SECOND_MS, 0)
    outages = [short, ended(MINUTE_MS, 17)]
    const afterShort = await watchFor(15 * SECOND_MS)

    const [alarm, ...others] = await watchFor(50 * MINUTE_MS)
    const sentence = alarm && alarmText(alarm, world.clock.now()).cause
    const later = await watchFor(20 * MINUTE_MS)

    assert.deepEqual(afterShort, [])
    assert.deepEqual([alarm?.kind, alarm?.object, others], ['storage_unavailable', 'here:7', []])
    assert.match(
      sentence ?? '',
      /^Nothing could be written for 1 min, until 50 min ago .here, process 7.: The disk is full. 17 requests were refused/,
    )
    assert.deepEqual(later, [])
  })

  it('reports this as soon as storage can be written again', async () => {
    outages = [{ since: 0, until: 1, cause: 'The disk is full.', refused: 1 }]
    let isFull = true
    const failing: Watch = {
      ...world.watch,
      raiseAlarms: (...given) => (isFull ? Promise.reject(new Error('full')) : world.watch.raiseAlarms(...given)),
    }
    watchdog = newWatchdog(failing)
    await assert.rejects(watchdog.check())

    isFull = false
    const found = await watchFor(15 * SECOND_MS)

    assert.deepEqual(kinds(found), ['storage_unavailable'])
  })

  it('warns that a limit is near before anything is refused', async () => {
    const [, sender] = await laneWith({}, 18)
    await world.administration.setConnectionState(sender.connectionId, 'paused', 'test')

    const alarms = await watchFor(45 * SECOND_MS)

    if (_name === 'SQLite') assert.deepEqual(kinds(alarms), ['backlog_near_limit'])
  })
})

describe('several processes on PostgreSQL', () => {
  it('let one of them watch, and another if that one is gone', async () => {
    const world = await newPostgresWorld()
    const { watch } = world.processOf(BEN, 'another' as SpoolId)
    const turns = async () => [await world.watch.acquireLease(ANNA, 40_000), await watch.acquireLease(BEN, 40_000)]

    const first = await turns()
    await world.clock.pass(30 * SECOND_MS)
    const second = await turns()
    await world.clock.pass(41 * SECOND_MS)
    const third = await watch.acquireLease(BEN, 40_000)
    const back = await world.watch.acquireLease(ANNA, 40_000)

    await watch.releaseLease(ANNA)
    const kept = await world.watch.acquireLease(ANNA, 40_000)
    await watch.releaseLease(BEN)
    const left = await world.watch.acquireLease(ANNA, 40_000)

    assert.deepEqual([first, second, third, back], [[true, false], [true, false], true, false])
    assert.deepEqual([kept, left], [false, true])
    await world.close()
  })

  it('raise an alarm once, even if two of them find it at the same moment', async () => {
    const world = await newPostgresWorld()
    const { watch } = world.processOf(BEN, 'another' as SpoolId)
    const finding = {
      kind: 'disk_filling',
      accountId: null,
      object: 'here:/data',
      severity: 'warning',
      since: 0,
      facts: {},
      raises: true,
    } as const

    await Promise.all([world.watch, watch].map((one) => one.raiseAlarms([finding], world.clock.now())))

    assert.equal((await watch.readOpenAlarms()).length, 1)
    await world.close()
  })
})
