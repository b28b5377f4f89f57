import type { ConnectionId, Instant, WorkerId } from '../ids.ts'
import { InterruptibleSleep } from '../interruptible-sleep.ts'
import type { Clock } from '../ports/clock.ts'
import type { Journal } from '../ports/journal.ts'
import type { Outage } from '../ports/lanes.ts'
import type { LaneMeasure, Watch, WatchedLane } from '../ports/watch.ts'
import type { Finding, OpenAlarm } from './alarm.ts'
import { checkDisk, type DiskRoom } from './check-disk.ts'
import {
  checkBrokenPromises,
  checkChangedCapabilities,
  checkContactLock,
  checkFull,
  checkInstallation,
  checkOutage,
  checkUnconfirmed,
  checkUnreported,
  KEPT_NEAR_LIMIT_SHARE,
  SILENT_FOR_MS,
} from './check-installation.ts'
import { CONNECTION_ALARMS, checkLane } from './check-lane.ts'
import { checkTokens, EXPIRED_WATCHED_MS, TOKEN_WARNED_MS } from './check-tokens.ts'
import { followLanes, type LaneMarks } from './follow-lanes.ts'
import { LaneMeasures } from './lane-measures.ts'
import { type AlarmMemory, NO_ALARM_MEMORY, settleAlarms } from './settle-alarms.ts'

// A stalled lane raises an alarm within 75 seconds; a check of ten thousand idle lanes costs next to nothing.
const CHECK_EVERY_MS = 15_000
// Another process takes over after two missed checks.
const LEASE_MS = 40_000
// Takes some milliseconds of the thread that also accepts messages.
const LANES_AT_ONCE = 100
const REST_MS = 20
// Counting a thousand long lanes takes the database half a second. So it takes a twentieth of the time, as other counting
// does; but a check lasts at most this much longer for it.
const THROTTLE_FACTOR = 19
const THROTTLE_MOST_MS = 10_000
// Counting all that waits takes the database seconds, and may take minutes: it has a thirtieth of the time, and goes on at the
// next check. Each check counts at least twenty parts, however long they take.
const FULL_THROTTLE_FACTOR = 29
const FULL_THROTTLE_MOST_MS = 5_000
const FULL_RESTS_MOST_MS = FULL_THROTTLE_MOST_MS / 20
const KEPT_MS = 90 * 86_400_000
const FORGET_EVERY_MS = 3_600_000

interface WatchLimits {
  /** 0: a head may wait for however long. */
  readonly oldestWaitingMs: number
  /** 0: disks are not checked. */
  readonly diskFreeShare: number
}

/** Figures for metrics. */
export interface WatchState {
  readonly alarms: readonly OpenAlarm[]
  readonly disks: readonly DiskRoom[]
  /** Null where another process watches the lanes. */
  readonly oldestWaitingMs: number | null
  readonly checkedAt: Instant
}

export interface WatchdogParts {
  readonly watch: Watch
  readonly watcher: WorkerId
  readonly host: string
  readonly pid: number
  readonly clock: Clock
  readonly journal: Journal
  readonly limits: WatchLimits
  readonly readDisks: () => Promise<readonly DiskRoom[]>
  /** When this process could write nothing, and how many requests it refused for that; null when there is nothing new. Each is returned once. */
  readonly takeOutage: () => (Outage & { readonly refused: number }) | null
  /** How long a call to the channel of this name may take. */
  readonly callBudgetMs: (channel: string) => number
  /** Announces alarms that were raised or cleared. */
  readonly announce: (now: Instant) => Promise<void>
  readonly onChecked?: (state: WatchState) => void
}

/**
 * Checks every 15 seconds for problems that need attention, and stores them as alarms.
 *
 * - Of several processes on one database one watches it; each watches the disks of its own machine.
 * - It holds no rules: `checkLane` and its like find problems, `settleAlarms` decides what to raise and clear.
 * - Open alarms are in the database, so a restart does not raise them again.
 */
export class Watchdog {
  readonly #parts: WatchdogParts
  readonly #measures: LaneMeasures
  readonly #sleeper: InterruptibleSleep
  #marks: LaneMarks = new Map()
  #memory: AlarmMemory = NO_ALARM_MEMORY
  #cancel: (() => void) | null = null
  #checking: Promise<void> = Promise.resolve()
  #isRunning = false
  #isEnding = false
  /** How much longer this check may pause for other work, in milliseconds. */
  #givesWayMs = 0
  #forgetAt: Instant = 0
  /** Kept until it has been written. */
  #outage: ReturnType<WatchdogParts['takeOutage']> = null

  constructor(parts: WatchdogParts) {
    this.#parts = parts
    this.#sleeper = new InterruptibleSleep(parts.clock)
    this.#measures = new LaneMeasures({ ...parts, throttle: (tookMs) => this.#throttle(tookMs * THROTTLE_FACTOR) })
  }

  /** Harmless while it runs. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    this.#isEnding = false
    this.#plan(0)
  }

  /** Resolves when no check is running. Harmless twice, and before the start. */
  async stop(): Promise<void> {
    const wasRunning = this.#isRunning
    this.#isRunning = false
    this.#isEnding = true
    this.#cancel?.()
    this.#cancel = null
    this.#sleeper.interrupt()
    await this.#checking
    // If this fails, another process takes over once the lease has expired.
    if (wasRunning) await this.#parts.watch.releaseLease(this.#parts.watcher).catch(() => {})
  }

  /** One check. Rejects with `StorageUnavailable`; then nothing has changed. */
  async check(): Promise<void> {
    const { watch, watcher, clock, readDisks, takeOutage, onChecked, announce } = this.#parts
    const isOurs = await watch.acquireLease(watcher, LEASE_MS)
    const disks = await readDisks()
    const before = await watch.readOpenAlarms()
    const seen = isOurs ? await this.#checkDatabase(before) : { findings: [], oldestAt: null, isFullKnown: true }
    const now = clock.now()
    this.#outage ??= takeOutage()
    const outage = this.#outage ? [checkOutage(this.#outage, this.#parts)] : []
    const findings = [...seen.findings, ...this.#checkDisks(disks, now), ...outage]
    await this.#settle(
      findings,
      before.filter(
        (alarm) =>
          (isOurs || this.#isOfThisMachine(alarm)) && (seen.isFullKnown || alarm.kind !== 'backlog_near_limit'),
      ),
    )
    this.#outage = null
    await announce(clock.now())
    if (isOurs) await this.#forget(now)
    else this.#marks = new Map()
    onChecked?.({
      alarms: await watch.readOpenAlarms(),
      disks,
      oldestWaitingMs: isOurs ? Math.max(0, now - (seen.oldestAt ?? now)) : null,
      checkedAt: now,
    })
  }

  #plan(delayMs: number): void {
    if (!this.#isRunning) return
    this.#cancel = this.#parts.clock.after(delayMs, () => {
      this.#checking = this.check()
        .catch((error: unknown) => {
          // Nothing was seen since the last check, so a lane with the same state may have moved in between.
          this.#marks = new Map()
          this.#parts.journal.record({ event: 'storage.unavailable', error })
        })
        .finally(() => this.#plan(CHECK_EVERY_MS * (0.9 + this.#parts.clock.random() / 5)))
    })
  }

  async #checkDatabase(open: readonly OpenAlarm[]) {
    const { watch, clock } = this.#parts
    const installation = await watch.readInstallation()
    const lanes = await this.#checkLanes(open)
    const now = clock.now()
    const tokens = await watch.readTokens({ from: now - EXPIRED_WATCHED_MS, to: now + TOKEN_WARNED_MS })
    const expired = tokens.filter(({ expiresAt }) => expiresAt <= now)
    const uses = expired.length === 0 ? [] : await watch.readExpiredUse(expired)
    const full = await this.#readFullLanes()
    const findings = [
      ...checkInstallation(installation, now),
      ...lanes.findings,
      ...checkTokens(tokens, uses, now),
      ...(await watch.readUnconfirmed()).map(checkUnconfirmed),
      ...(await watch.readUnreported(SILENT_FOR_MS)).map(checkUnreported),
      ...(await watch.readBrokenPromises()).map(checkBrokenPromises),
      ...(await watch.readChangedCapabilities()).flatMap(checkChangedCapabilities),
      ...(await watch.readContactLocks()).map(checkContactLock).filter((lock) => !isReported(lock, lanes.findings)),
      ...(full ?? []).map((lane) => checkFull(lane, now)),
    ]
    return { findings, oldestAt: lanes.oldestAt, isFullKnown: full !== null }
  }

  #readFullLanes(): ReturnType<Watch['readFullLanes']> {
    this.#givesWayMs = FULL_THROTTLE_MOST_MS
    return this.#parts.watch.readFullLanes(KEPT_NEAR_LIMIT_SHARE, async (tookMs) => {
      await this.#throttle(Math.min(tookMs * FULL_THROTTLE_FACTOR, FULL_RESTS_MOST_MS))
      return this.#givesWayMs > 0 && !this.#isEnding
    })
  }

  async #checkLanes(open: readonly OpenAlarm[]) {
    const { watch, clock } = this.#parts
    this.#givesWayMs = THROTTLE_MOST_MS
    const marks = new Map<WatchedLane['connectionId'], ReturnType<LaneMarks['get']> & object>()
    const findings: Finding[] = []
    let oldestAt: Instant | null = null
    const take = async (lanes: readonly WatchedLane[]) => {
      const now = clock.now()
      for (const [id, mark] of followLanes(this.#marks, lanes, { open, now })) marks.set(id, mark)
      const predicted = await this.#measures.predict(lanes, now)
      for (const lane of lanes) {
        if (lane.head) oldestAt = Math.min(oldestAt ?? now, lane.head.acceptedAt)
        findings.push(...(await this.#checkLane(lane, marks, predicted.get(lane.connectionId) ?? null)))
      }
    }
    let after: WatchedLane['connectionId'] | null = null
    for (;;) {
      const lanes: readonly WatchedLane[] = await watch.readLanes(after, LANES_AT_ONCE)
      await take(lanes)
      after = lanes.at(-1)?.connectionId ?? null
      if (lanes.length < LANES_AT_ONCE) break
      await this.#sleeper.sleep(REST_MS)
    }
    // Nothing waits in these any more, but their connection may be as broken as before.
    const broken = open.filter(({ kind }) => CONNECTION_ALARMS.has(kind)).map(({ object }) => object as ConnectionId)
    const others = [...new Set([...broken, ...(await watch.readLostSessions())])].filter((id) => !marks.has(id))
    if (others.length > 0) await take(await watch.readLanesOf(others))
    this.#marks = marks
    this.#measures.keepOnly(marks)
    return { findings, oldestAt: oldestAt as Instant | null }
  }

  async #checkLane(lane: WatchedLane, marks: LaneMarks, predicted: LaneMeasure | null): Promise<readonly Finding[]> {
    const { clock, limits, callBudgetMs } = this.#parts
    const now = clock.now()
    const mark = marks.get(lane.connectionId)
    if (!mark) return []
    const context = { mark, oldestWaitingMs: limits.oldestWaitingMs, callBudgetMs: callBudgetMs(lane.channel), now }
    const found = checkLane(lane, { ...context, measure: predicted })
    if (found.length === 0 || predicted !== null) return found
    const measures = await this.#measures.measure([lane], now)
    return checkLane(lane, { ...context, measure: measures.get(lane.connectionId) ?? null })
  }

  #checkDisks(disks: readonly DiskRoom[], now: Instant): readonly Finding[] {
    return disks.flatMap((disk) => checkDisk(disk, this.#parts.limits.diskFreeShare, now) ?? [])
  }

  #isOfThisMachine({ kind, facts }: OpenAlarm): boolean {
    return kind === 'disk_filling' && facts['host'] === this.#parts.host
  }

  /** An alarm about another machine is cleared by the process there. */
  async #settle(findings: readonly Finding[], mine: readonly OpenAlarm[]): Promise<void> {
    const { watch, clock, journal } = this.#parts
    const now = clock.now()
    const open = mine.filter((alarm) => alarm.kind !== 'disk_filling' || this.#isOfThisMachine(alarm))
    const { raise, change, clear, memory } = settleAlarms({ open, findings, memory: this.#memory, now })
    if (raise.length > 0) await watch.raiseAlarms(raise, now)
    if (change.length > 0) await watch.changeAlarms(change, now)
    if (clear.length > 0) await watch.clearAlarms(clear, now)
    this.#memory = memory
    for (const { kind, severity, object } of raise) journal.record({ event: 'alarm.raised', kind, severity, object })
    for (const { alarm, finding, isWorse } of change)
      if (isWorse)
        journal.record({ event: 'alarm.raised', kind: alarm.kind, severity: finding.severity, object: alarm.object })
    for (const { kind, severity, object } of clear) journal.record({ event: 'alarm.cleared', kind, severity, object })
  }

  async #forget(now: Instant): Promise<void> {
    if (now < this.#forgetAt) return
    await this.#parts.watch.forgetAlarms(now - KEPT_MS)
    this.#forgetAt = now + FORGET_EVERY_MS
  }

  /** Does not pause while `stop` waits for the end of the check. */
  async #throttle(wantedMs: number): Promise<void> {
    const restMs = Math.min(Math.round(wantedMs), this.#givesWayMs)
    if (restMs <= 0 || !this.#isRunning) return
    this.#givesWayMs -= restMs
    await this.#sleeper.sleep(restMs)
  }
}

/** Whether a finding of the same kind is raised for the same connection. It is worse, because it concerns the whole number. */
function isReported({ kind, object }: Finding, findings: readonly Finding[]): boolean {
  return findings.some((other) => other.raises && other.kind === kind && other.object === object)
}
