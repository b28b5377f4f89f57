import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { sessionAction } from '../../../core/connection/session-action.ts'
import { validLeaseSql } from '../../../core/dispatch/workers/lease.ts'
import type { ConnectionId, Instant } from '../../../core/ids.ts'
import type { ClaimedLane, FailureStreak, LaneMemory, Lanes, OpenAttempt } from '../../../core/ports/lanes.ts'
import type { Directory } from '../accept/directory.ts'
import { BUSY_LANES } from './lane-trim.ts'
import type { QueuedMessages } from './queued-messages.ts'
import type { UnindexedTail } from './unindexed-tail.ts'

interface LaneRow {
  readonly owner: string | null
  readonly epoch: number
  readonly failure_streak: string | null
  readonly wait_reason: string | null
  readonly wait_words: string | null
  readonly wait_until: number | null
  readonly last_attempt_at: number | null
}

interface OpenRow {
  readonly message_sequence: number
  readonly number: number
  readonly started_at: number
  readonly crashes: number
  readonly evidence_until: number | null
  readonly is_possibly_superseded: 0 | 1
}

type Asker = Pick<Parameters<Lanes['claim']>[0], 'worker' | 'shouldDefer'>

interface ClaimParts {
  readonly directory: Directory
  readonly messages: QueuedMessages
  readonly tail: UnindexedTail
}

/** Which worker holds which lane. Every method runs inside a transaction of the caller. */
export class LaneClaims {
  readonly #directory: Directory
  readonly #messages: QueuedMessages
  readonly #busyConnections: StatementSync
  readonly #lane: StatementSync
  readonly #isAt: StatementSync
  readonly #isAlive: StatementSync
  readonly #take: StatementSync
  readonly #takeOpen: StatementSync
  readonly #noteCrash: StatementSync
  readonly #open: StatementSync
  readonly #hasSession: StatementSync
  readonly #request: StatementSync
  readonly #tail: UnindexedTail
  readonly #release: StatementSync
  readonly #clear: StatementSync

  constructor(database: DatabaseSync, { directory, messages, tail }: ClaimParts) {
    this.#tail = tail
    this.#directory = directory
    this.#messages = messages
    this.#busyConnections = database.prepare(
      `${BUSY_LANES} select id from busy where id is not null union select connection_id from open_attempt
         union select connection_id from channel_session
         union select connection_id from session_request where ended_at is null`,
    )
    this.#lane = database.prepare(
      'select owner, epoch, failure_streak, wait_reason, wait_words, wait_until, last_attempt_at from lane where connection_id = ?',
    )
    this.#isAt = database.prepare('select 1 from lane where connection_id = ? and epoch = ?')
    this.#isAlive = database.prepare(`select 1 from worker where id = ?1 and ${validLeaseSql('?2')}`)
    this.#take = database.prepare(
      `insert into lane (connection_id, owner, epoch) values (?, ?, 1)
         on conflict (connection_id) do update set owner = excluded.owner, epoch = lane.epoch + 1`,
    )
    // If a worker lost an attempt while its call was running, that counts as a crash of the attempt; during a wait for evidence
    // it does not.
    this.#takeOpen = database.prepare(
      'update open_attempt set epoch = ?, crashes = crashes + (evidence_until is null) where connection_id = ?',
    )
    this.#noteCrash = database.prepare(
      `insert into timeline (message_sequence, position, at, kind, facts)
         select ?1, coalesce(max(position), 0) + 1, ?2, 'recovered', ?3 from timeline where message_sequence = ?1`,
    )
    this.#open = database.prepare(
      `select message_sequence, number, started_at, crashes, evidence_until,
           possibly_superseded_sequence is message_sequence as is_possibly_superseded
         from open_attempt where connection_id = ?`,
    )
    this.#hasSession = database.prepare(
      `select 1 from channel_session where connection_id = ?1
         union all select 1 from session_request where connection_id = ?1 and ended_at is null`,
    )
    this.#request = database.prepare('select id from session_request where connection_id = ? and ended_at is null')
    this.#clear = database.prepare('delete from lane_entry where connection_id = ?')
    this.#release = database.prepare('update lane set owner = null where connection_id = ? and epoch = ?')
  }

  claim(request: Parameters<Lanes['claim']>[0], now: Instant): ClaimedLane[] {
    const claimed: ClaimedLane[] = []
    for (const id of request.only ?? this.#busy()) {
      if (request.held.has(id)) continue
      const lane = this.#claimOne(id, request, now)
      if (lane) claimed.push(lane)
      if (claimed.length >= request.limit) break
    }
    return claimed
  }

  inspect(connectionId: ConnectionId, epoch: number): ClaimedLane | null {
    const lane = this.#lane.get(connectionId) as unknown as LaneRow | undefined
    return lane?.epoch === epoch ? this.#describe(connectionId, lane) : null
  }

  release(lanes: Parameters<Lanes['release']>[0]): void {
    for (const { connectionId, epoch } of lanes) this.#release.run(connectionId, epoch)
  }

  /** True while the lane is at this epoch. */
  holds(connectionId: ConnectionId, epoch: number): boolean {
    return this.#isAt.get(connectionId, epoch) !== undefined
  }

  #busy(): ConnectionId[] {
    const entered = (this.#busyConnections.all() as { id: ConnectionId }[]).map((row) => row.id)
    return [...new Set([...entered, ...this.#tail.connections()])]
  }

  #claimOne(id: ConnectionId, { worker, shouldDefer }: Asker, now: Instant): ClaimedLane | null {
    const open = this.#open.get(id) as unknown as OpenRow | undefined
    if (!open && !this.#hasWork(id)) return null
    const owner = (this.#lane.get(id) as unknown as LaneRow | undefined)?.owner ?? null
    if (owner !== null && owner !== worker && this.#isAlive.get(owner, now)) return null
    // Called last, because it counts each lane that it is asked about as free.
    if (shouldDefer(id)) return null
    this.#take.run(id, worker)
    const lane = this.#lane.get(id) as unknown as LaneRow
    if (open) this.#takeOpen.run(lane.epoch, id)
    if (open?.evidence_until === null)
      this.#noteCrash.run(open.message_sequence, now, JSON.stringify({ attempt: open.number }))
    return this.#describe(id, lane)
  }

  /** A lane that may not open attempts, or has no waiting message, has no work but its session. */
  #hasWork(id: ConnectionId): boolean {
    if (this.#directory.maySend(id)) {
      if (this.#messages.hasAny(id)) return true
      // A crash left entries of settled messages behind; without them the lane need not be checked again.
      this.#clear.run(id)
    }
    return !this.#directory.isHeld && this.#hasSession.get(id) !== undefined
  }

  #describe(id: ConnectionId, lane: LaneRow): ClaimedLane | null {
    const connection = this.#directory.connectionById(id)
    if (!connection) return null
    return {
      connectionId: id,
      accountId: connection.accountId,
      number: connection.number,
      channel: connection.channel,
      channelSettings: connection.channelSettings,
      policy: connection.policy,
      epoch: lane.epoch,
      mayOpen: this.#directory.maySend(id),
      session: sessionAction(connection.state, this.#directory.isHeld),
      sessionRequest: (this.#request.get(id) as { id: string } | undefined)?.id ?? null,
      memory: toMemory(lane),
      lastAttemptAt: lane.last_attempt_at,
      open: this.#openAttempt(id),
    }
  }

  #openAttempt(id: ConnectionId): OpenAttempt | null {
    const row = this.#open.get(id) as unknown as OpenRow | undefined
    const message = row && this.#messages.one(row.message_sequence)
    if (!row || !message) return null
    return {
      message,
      number: row.number,
      startedAt: row.started_at,
      crashes: row.crashes,
      evidenceUntil: row.evidence_until,
      isPossiblySuperseded: row.is_possibly_superseded === 1,
    }
  }
}

function toMemory(row: LaneRow): LaneMemory {
  return {
    failureStreak: row.failure_streak === null ? null : (JSON.parse(row.failure_streak) as FailureStreak),
    wait: row.wait_reason === null ? null : { reason: row.wait_reason, words: row.wait_words, until: row.wait_until },
  }
}
