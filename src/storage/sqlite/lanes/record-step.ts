import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { AttemptRecord, LaneMemory, LaneTransition, LaneTransitionResult } from '../../../core/ports/lanes.ts'
import type { Directory } from '../accept/directory.ts'
import type { LaneClaims } from './claim-lanes.ts'
import type { LaneTrim } from './lane-trim.ts'
import type { QueuedMessages } from './queued-messages.ts'
import { GOES_ON, Standstills } from './standstills.ts'

const FENCED: LaneTransitionResult = { fenced: true }
const OPENED: LaneTransitionResult = { fenced: false, started: true }
const NOT_OPENED: LaneTransitionResult = { fenced: false, started: false }

/** `settled`: how many messages no longer wait after this step. */
interface Written {
  readonly result: LaneTransitionResult
  readonly settled: number
}

type Settle = { readonly as: string; readonly reason: string | null; readonly words: string | null }

interface StepWriterParts {
  readonly claims: LaneClaims
  readonly directory: Directory
  readonly trim: LaneTrim
  readonly messages: QueuedMessages
}

/** Writes one step of a lane, inside a transaction of the caller. Writes nothing when the claim has ended (G6). */
export class StepWriter {
  readonly #claims: LaneClaims
  readonly #directory: Directory
  readonly #messages: QueuedMessages
  readonly #insertOpen: StatementSync
  readonly #moveOpen: StatementSync
  readonly #deleteOpen: StatementSync
  readonly #awaitEvidence: StatementSync
  readonly #noteUnknown: StatementSync
  readonly #settle: StatementSync
  readonly #drop: StatementSync
  readonly #keepQueued: StatementSync
  readonly #insertAttempt: StatementSync
  readonly #wasUnknown: StatementSync
  readonly #saveMemory: StatementSync
  readonly #standstills: Standstills
  readonly #deferOne: StatementSync
  readonly #trim: LaneTrim
  readonly #noteAttempt: StatementSync
  /** How many messages the step that is being written has settled. */
  #settled = 0

  constructor(database: DatabaseSync, { claims, directory, trim, messages }: StepWriterParts) {
    this.#claims = claims
    this.#directory = directory
    this.#messages = messages
    this.#standstills = new Standstills(database)
    const waits = `exists (select 1 from message where sequence = ? and state = 'QUEUED')`
    // Repeated when the result of the first commit is unknown: an attempt that this claim has opened already counts as open.
    this.#insertOpen = database.prepare(
      `insert into open_attempt (connection_id, message_sequence, number, epoch, started_at) select ?, ?, ?, ?, ? where ${waits}
         on conflict do update set started_at = excluded.started_at where connection_id = excluded.connection_id
           and epoch = excluded.epoch and message_sequence = excluded.message_sequence and number = excluded.number`,
    )
    this.#moveOpen = database.prepare(
      `update open_attempt set message_sequence = ?, number = ?, started_at = ?, crashes = 0, evidence_until = null, words = null
         where connection_id = ? and epoch = ? and message_sequence = ? and number = ? and ${waits}`,
    )
    this.#deleteOpen = database.prepare(
      'delete from open_attempt where connection_id = ? and epoch = ? and message_sequence = ? and number = ?',
    )
    this.#awaitEvidence = database.prepare(
      `update open_attempt set evidence_until = ?, words = ?
         where connection_id = ? and epoch = ? and message_sequence = ? and number = ?`,
    )
    // Once, also where the step is repeated because the result of its commit was unknown.
    this.#noteUnknown = database.prepare(
      `insert into timeline (message_sequence, position, at, kind, words, facts)
         select ?1, 1 + coalesce(max(position), 0), ?2, 'attempt-unknown', ?3, ?4 from timeline where message_sequence = ?1
           having max(kind = 'attempt-unknown' and facts = ?4) is not 1`,
    )
    this.#settle = database.prepare(
      `update message set state = ?, reason = ?, words = ?, attempts = ?, published_at = ?, settled_at = ?, network_id = ?, retry = null
         where sequence = ? and state = 'QUEUED'`,
    )
    this.#drop = database.prepare(
      `update message set state = ?, reason = ?, words = ?, settled_at = ?, retry = null
         where sequence = ? and connection_id = ? and state = 'QUEUED'`,
    )
    this.#keepQueued = database.prepare('update message set attempts = ?, retry = ? where sequence = ?')
    this.#insertAttempt = database.prepare(
      'insert into attempt (message_sequence, number, started_at, ended_at, outcome, code, words, facts) values (?, ?, ?, ?, ?, ?, ?, ?)',
    )
    this.#trim = trim
    this.#wasUnknown = database.prepare(
      `select 1 from attempt where message_sequence = ? and outcome = 'unknown' limit 1`,
    )
    this.#saveMemory = database.prepare(
      `update lane set failure_streak = ?, wait_reason = ?, wait_words = ?, wait_until = ?,
           wait_since = case when ? is null then null when wait_reason is ? and ${GOES_ON('?')} then wait_since else ? end
         where connection_id = ?`,
    )
    this.#deferOne = database.prepare(
      `update message set retry = ? where sequence = ? and connection_id = ? and state = 'QUEUED'`,
    )
    this.#noteAttempt = database.prepare('update lane set last_attempt_at = ? where connection_id = ?')
  }

  write(step: LaneTransition): Written {
    this.#settled = 0
    const result = step.finish ? this.#close(step, step.finish) : this.#withoutClose(step)
    if (!result.fenced) {
      if (step.discard) this.#dropMessage(step, step.discard)
      for (const { sequence, retry } of step.deferred ?? [])
        this.#deferOne.run(JSON.stringify(retry), sequence, step.connectionId)
      for (const range of step.passed ?? []) this.#trim.passed(step.connectionId, range)
      if (step.memory) this.#remember(step, step.memory)
      if (result.started && step.notesAttempt) this.#noteAttempt.run(step.at, step.connectionId)
    }
    return { result, settled: this.#settled }
  }

  #close(step: LaneTransition, close: NonNullable<LaneTransition['finish']>): LaneTransitionResult {
    const { attempt, disposition } = close
    if (disposition.do === 'await-evidence') {
      const { changes } = this.#awaitEvidence.run(
        disposition.until,
        disposition.words,
        step.connectionId,
        step.epoch,
        attempt.sequence,
        attempt.number,
      )
      if (changes === 0) return FENCED
      const facts = JSON.stringify({ attempt: attempt.number })
      this.#noteUnknown.run(attempt.sequence, attempt.endedAt, disposition.words, facts)
      return NOT_OPENED
    }
    // The open attempt first, because it carries the epoch: with another epoch nothing may be written.
    const result = this.#endOpen(step, attempt)
    if (result.fenced) return result
    const settled = disposition.do === 'finalize' ? disposition : this.#orphaned(step.connectionId, attempt)
    const retry = disposition.do === 'keep-queued' && disposition.retry ? JSON.stringify(disposition.retry) : null
    if (settled) this.#settleMessage(attempt, settled)
    else this.#keepQueued.run(attempt.number, retry, attempt.sequence)
    this.#insertAttempt.run(
      attempt.sequence,
      attempt.number,
      attempt.startedAt,
      attempt.endedAt,
      attempt.outcome,
      attempt.code,
      attempt.words,
      attempt.facts ? JSON.stringify(attempt.facts) : null,
    )
    return result
  }

  #endOpen(step: LaneTransition, attempt: AttemptRecord): LaneTransitionResult {
    const { connectionId, epoch, start: open } = step
    if (open && this.#mayOpen(step)) {
      const moved = this.#moveOpen.run(
        open.sequence,
        open.number,
        step.at,
        connectionId,
        epoch,
        attempt.sequence,
        attempt.number,
        open.sequence,
      )
      if (moved.changes === 1) return OPENED
    }
    const { changes } = this.#deleteOpen.run(connectionId, epoch, attempt.sequence, attempt.number)
    return changes === 1 ? NOT_OPENED : FENCED
  }

  #withoutClose(step: LaneTransition): LaneTransitionResult {
    const { connectionId, epoch, start: open } = step
    if (!this.#claims.holds(connectionId, epoch)) return FENCED
    if (!open || !this.#mayOpen(step)) return NOT_OPENED
    return this.#insertOpen.run(connectionId, open.sequence, open.number, epoch, step.at, open.sequence).changes === 1
      ? OPENED
      : NOT_OPENED
  }

  #dropMessage({ connectionId, at }: LaneTransition, drop: NonNullable<LaneTransition['discard']>): void {
    const { changes } = this.#drop.run(drop.as, drop.reason, drop.words, at, drop.sequence, connectionId)
    this.#settled += Number(changes)
  }

  #settleMessage(attempt: AttemptRecord, settle: Settle): void {
    const publishedAt = settle.as === 'PUBLISHED' ? attempt.endedAt : null
    const { changes } = this.#settle.run(
      settle.as,
      settle.reason,
      settle.words,
      attempt.number,
      publishedAt,
      attempt.endedAt,
      attempt.networkId,
      attempt.sequence,
    )
    this.#settled += Number(changes)
  }

  /** A message that would wait for its next attempt on a removed connection would wait for ever. */
  #orphaned(connectionId: LaneTransition['connectionId'], { sequence, outcome }: AttemptRecord): Settle | null {
    if (this.#directory.connectionById(connectionId)?.state !== 'removed') return null
    // It was to be repeated because it may have arrived, and that is still so.
    if (outcome === 'unknown' || this.#wasUnknown.get(sequence))
      return { as: 'UNCONFIRMED', reason: 'result_unknown', words: null }
    return { as: 'CANCELLED', reason: 'connection_removed', words: null }
  }

  #mayOpen({ connectionId, start: open, finish: close }: LaneTransition): boolean {
    if (!this.#directory.maySend(connectionId)) return false
    if (open?.knownThrough === undefined) return true
    const range = { after: open.knownThrough, closed: close?.attempt.sequence ?? null }
    return this.#messages.isNext(connectionId, open.sequence, range)
  }

  #remember({ connectionId, at }: LaneTransition, { failureStreak: error, wait }: LaneMemory): void {
    const reason = wait?.reason ?? null
    this.#standstills.noteWait(connectionId, { reason, at })
    this.#saveMemory.run(
      error && JSON.stringify(error),
      reason,
      wait?.words ?? null,
      wait?.until ?? null,
      reason,
      reason,
      at,
      at,
      connectionId,
    )
  }
}
