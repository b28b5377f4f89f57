import { type FSWatcher, watch } from 'node:fs'
import type { Directory } from '../accept/directory.ts'
import type { Participant } from './group-commit.ts'

const POLL_EVERY_MS = 100
// While the file is watched.
const SAFETY_POLL_EVERY_MS = 1_000
// Our own commits cause events too, and each of them costs more than a poll. Per second.
const MOST_EVENTS = 10
// The first event of a commit arrives before the commit is visible, and several arrive together.
const CHECK_AFTER_MS = 10
const CHECK_AGAIN_AFTER_MS = 25

/**
 * Notices within a tenth of a second that another connection has committed, without waking an idle process ten times a second.
 *
 *               at most ten commits of ours in a second
 *   POLLING ──────────────────────────────────────────────▶ WATCHING the write-ahead log
 *      ▲  more than ten events in a second                     │
 *      ├───────────────────────────────────────────────────────┤
 *      └── permanently: the system cannot watch, the watch has ended, or it has missed a commit of ours
 *
 * A system that does not report the writes of others does not report ours either. We write every few seconds, so this is
 * detected. Until then the safety poll notices commits within a second.
 */
export class CommitWatch implements Participant {
  readonly #directory: Directory
  readonly #path: string
  #timer: NodeJS.Timeout | null = null
  #check: NodeJS.Timeout | null = null
  #watcher: FSWatcher | null = null
  #isReliable = true
  #commits = 0
  #events = 0
  /** Counts our own writes. */
  #written = 0
  /** `#written` at the last safety poll, and at the last event. */
  #writtenByPoll = 0
  #writtenByEvent = 0

  constructor(directory: Directory, path: string) {
    this.#directory = directory
    this.#path = path
  }

  start(): void {
    this.#poll()
  }

  /** May be called twice, and before `start`. */
  stop(): void {
    this.#isReliable = false
    this.#watcher?.close()
    clearInterval(this.#timer ?? undefined)
    clearTimeout(this.#check ?? undefined)
  }

  begin(): void {}

  committed(): void {
    this.#commits += 1
  }

  rolledBack(): void {}

  /** The last commit was not empty, so the watch must report it. */
  wrote(): void {
    this.#written += 1
  }

  #poll(): void {
    this.#watcher?.close()
    this.#watcher = null
    let polls = 0
    this.#every(POLL_EVERY_MS, () => {
      this.#directory.refresh()
      polls += 1
      if (polls % (SAFETY_POLL_EVERY_MS / POLL_EVERY_MS) > 0) return
      if (this.#commits <= MOST_EVENTS && this.#isReliable) this.#watch()
      this.#commits = 0
    })
  }

  #watch(): void {
    try {
      this.#watcher = watch(this.#path, { persistent: false }, (event) =>
        // A file that is renamed or removed is not the one that is written from now on.
        event === 'change' ? this.#onEvent() : this.#giveUp(),
      )
      this.#watcher.on('error', () => this.#giveUp())
    } catch {
      this.#isReliable = false
      return
    }
    this.#events = 0
    this.#writtenByPoll = this.#written
    this.#every(SAFETY_POLL_EVERY_MS, () => this.#safetyPoll())
    // Another process may have written before the watch began.
    this.#onEvent()
  }

  #onEvent(): void {
    this.#writtenByEvent = this.#written
    this.#events += 1
    if (this.#events > MOST_EVENTS) this.#poll()
    this.#check ??= this.#checkAfter(CHECK_AFTER_MS)
  }

  #checkAfter(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#check = this.#directory.refreshExactly() ? null : this.#checkAfter(CHECK_AGAIN_AFTER_MS)
    }, delayMs).unref()
  }

  #safetyPoll(): void {
    this.#directory.refresh()
    this.#events = 0
    // Writes since the last poll may not have been reported yet.
    if (this.#writtenByEvent < this.#writtenByPoll) this.#giveUp()
    this.#writtenByPoll = this.#written
  }

  #giveUp(): void {
    if (!this.#isReliable) return
    this.#isReliable = false
    this.#poll()
  }

  #every(delayMs: number, call: () => void): void {
    clearInterval(this.#timer ?? undefined)
    this.#timer = setInterval(call, delayMs).unref()
  }
}
