import type { ChannelSessions } from '../../ports/channel.ts'
import type { ClaimedLane } from '../../ports/lanes.ts'
import type { LaneParts } from './lane-parts.ts'

interface LaneSessionParts extends Pick<LaneParts, 'lease' | 'journal' | 'stopping'> {
  readonly sessions: ChannelSessions
}

/** The session of a connection while this worker holds its lane: one at most, closed before the lane is released. */
export class LaneSession {
  readonly #parts: LaneSessionParts
  #claimed: ClaimedLane
  #generation: number
  #isOpen = false
  #closing: Promise<void> | null = null

  constructor(claimed: ClaimedLane, parts: LaneSessionParts) {
    this.#parts = parts
    this.#claimed = claimed
    this.#generation = parts.lease.generation
    this.#open()
  }

  /** While true, the lane is kept with nothing to send. */
  get keepsLane(): boolean {
    return this.#claimed.session === 'keep'
  }

  /**
   * The lease was lost since the lane was last read, so another worker may have claimed it. Until it is read again, the session
   * may write nothing.
   */
  get isDoubtful(): boolean {
    return this.#generation !== this.#parts.lease.generation
  }

  /** The lane was read in this generation of the lease, and is still this worker's. */
  follow(claimed: ClaimedLane, generation: number): void {
    this.#claimed = claimed
    this.#generation = generation
    this.#open()
  }

  /** Null when there is nothing to close. */
  close(): Promise<void> | null {
    const { sessions, journal, stopping: signal } = this.#parts
    const remove = this.#claimed.session === 'remove'
    const lane = { ...laneOf(this.#claimed), stillHolds: () => this.#holds() }
    if (this.#isOpen || remove)
      this.#closing ??= sessions.close(lane, { remove, signal }).catch((error: unknown) => {
        // Another owner may begin all the same: storage refuses what this one writes, and the network ends its session.
        journal.record({ event: 'fault', where: 'session', error })
      })
    return this.#closing
  }

  #open(): void {
    if (!this.keepsLane || this.#closing) return
    const { sessions } = this.#parts
    const stillHolds = () => !this.#closing && this.#holds()
    if (!this.#isOpen) sessions.open({ ...laneOf(this.#claimed), stillHolds })
    this.#isOpen = true
    if (this.#claimed.sessionRequest !== null) sessions.requested(this.#claimed.connectionId)
  }

  #holds(): boolean {
    return this.#parts.lease.isHeld() && !this.isDoubtful
  }
}

function laneOf({ connectionId, accountId, number, epoch }: ClaimedLane) {
  return { connectionId, accountId, number, epoch }
}
