import { setTimeout as pause } from 'node:timers/promises'
import {
  type DeferredMessage,
  type LaneTransition,
  type LaneTransitionResult,
  StorageUnavailable,
} from '../../../core/ports/lanes.ts'
import { Batcher } from '../connection/batcher.ts'
import { withoutNul } from '../connection/binary-arrays.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import { type Row, StatementRefused } from '../connection/pg-connection.ts'
import { bigint, boolean, columns, integer, StoredFunction, text } from '../connection/stored-function.ts'

const STEPS_AT_ONCE = 1_000
// Lanes that once met in a batch come together again and again. In two halves, one is written while the other is sent.
// A batch costs the server as much as some 40 steps, so not even four times as many are worth a batch of their own: they wait
// for the batch before them, but not for one that is blocked by a lock.
const STEPS_PER_CONNECTION = 192
const LINGER_MS = 10
// Shorter than PostgreSQL's `deadlock_timeout` of one second: in a deadlock the steps give up, and never the statement of a person.
const LOCK_WITHIN_MS = 300
// A person may be cancelling thousands of messages at once.
const LOCKED_PAUSES_MS = [5, 10, 20, 40, 80, 160, 250, 250, 500, 500, 1_000, 1_000]

const RESULTS: Readonly<Record<string, LaneTransitionResult>> = {
  o: { fenced: false, started: true },
  n: { fenced: false, started: false },
  f: { fenced: true },
}

interface StepBatch {
  readonly connection: FencedConnection
  readonly count: number
  readonly skipsLocked: boolean
  readonly steps: readonly LaneTransition[]
  /** The few steps that write something besides an attempt, with their positions from 1. */
  readonly extras: readonly (LaneTransition & { readonly position: number })[]
  readonly deferred: readonly (DeferredMessage & { readonly position: number })[]
}

const ENDS = { finalize: 1, 'keep-queued': 2, 'await-evidence': 3 } as const

const WRITE_STEPS = new StoredFunction<StepBatch>('write_steps', {
  a_worker: ({ connection }) => connection.worker,
  a_connection_index: ({ connection }) => connection.number,
  a_count: ({ count }) => count,
  lock_ms: () => LOCK_WITHIN_MS,
  skip_locked: ({ skipsLocked }) => skipsLocked,
  ...columns(({ steps }: StepBatch) => steps, {
    connections: text(({ connectionId }) => connectionId),
    accounts: text(({ accountId }) => accountId),
    epochs: bigint(({ epoch }) => epoch),
    ats: bigint(({ at }) => at),
    ends: integer(({ finish }) => finish && ENDS[finish.disposition.do]),
    close_sequences: bigint(({ finish }) => finish?.attempt.sequence ?? null),
    close_numbers: integer(({ finish }) => finish?.attempt.number ?? null),
    started_ats: bigint(({ finish }) => finish?.attempt.startedAt ?? null),
    ended_ats: bigint(({ finish }) => finish?.attempt.endedAt ?? null),
    outcomes: text(({ finish }) => finish?.attempt.outcome ?? null),
    codes: text(({ finish }) => finish?.attempt.code ?? null),
    attempt_words: text(({ finish }) => finish && clean(finish.attempt.words)),
    attempt_facts: text(({ finish }) => clean(toJson(finish?.attempt.facts))),
    retries: text(retryOf),
    network_ids: text(({ finish }) => finish && clean(finish.attempt.networkId)),
    states: text((step) => finalOf(step)?.as ?? null),
    reasons: text((step) => finalOf(step)?.reason ?? null),
    end_words: text(wordsOf),
    evidence_untils: bigint(({ finish }) =>
      finish?.disposition.do === 'await-evidence' ? finish.disposition.until : null,
    ),
    open_sequences: bigint(({ start }) => start?.sequence ?? null),
    open_numbers: integer(({ start }) => start?.number ?? null),
    known_throughs: bigint(({ start }) => start?.knownThrough ?? null),
    is_plain: boolean(({ finish }) => finish && isPlain(finish)),
  }),
  ...columns(({ extras }: StepBatch) => extras, {
    extras: integer(({ position }) => position),
    drop_sequences: bigint(({ discard }) => discard?.sequence ?? null),
    drop_states: text(({ discard }) => discard?.as ?? null),
    drop_reasons: text(({ discard }) => discard?.reason ?? null),
    drop_words: text(({ discard }) => discard && clean(discard.words)),
    changes_memory: boolean(({ memory }) => memory !== undefined),
    failure_streaks: text(({ memory }) => toJson(memory?.failureStreak)),
    wait_reasons: text(({ memory }) => memory?.wait?.reason ?? null),
    wait_texts: text(({ memory }) => clean(memory?.wait?.words ?? null)),
    wait_untils: bigint(({ memory }) => memory?.wait?.until ?? null),
    notes_attempt: boolean(({ notesAttempt }) => notesAttempt ?? false),
  }),
  ...columns(({ deferred }: StepBatch) => deferred, {
    deferred_at: integer(({ position }) => position),
    deferred_sequences: bigint(({ sequence }) => sequence),
    deferred_retries: text(({ retry }) => clean(JSON.stringify(retry))),
  }),
})

/** Writes the steps of lanes: those of one turn of the event loop in one commit. A step whose claim is gone writes nothing (G6). */
export class StepWriter {
  readonly #connections: readonly FencedConnection[]
  readonly #batches: Batcher<LaneTransition, string>
  readonly #locked: Batcher<LaneTransition, string>

  /** As many batches may be on their way at once as there are connections. */
  constructor(connections: readonly FencedConnection[]) {
    this.#connections = connections
    const run = (skipsLocked: boolean) => (steps: readonly LaneTransition[], index: number) =>
      this.#write(steps, connections[index] as FencedConnection, skipsLocked)
    const shared = { mostPerBatch: STEPS_AT_ONCE, minPerConnection: STEPS_PER_CONNECTION, lingerMs: LINGER_MS }
    this.#batches = new Batcher({ ...shared, concurrency: connections.length, run: run(false) })
    this.#locked = new Batcher({ concurrency: 1, mostPerBatch: STEPS_AT_ONCE, run: run(true) })
  }

  async write(step: LaneTransition): Promise<LaneTransitionResult> {
    const letter = await this.#batches.submit(step)
    return RESULTS[letter] ?? this.#writeLater(step)
  }

  /** Another transaction has locked a message of this step: it is retried apart from the others, so that their lanes go on. */
  async #writeLater(step: LaneTransition): Promise<LaneTransitionResult> {
    for (const ms of LOCKED_PAUSES_MS) {
      await pause(ms)
      const result = RESULTS[await this.#locked.submit(step)]
      if (result) return result
    }
    throw new StorageUnavailable('another transaction holds a message of this lane', false)
  }

  async #write(
    steps: readonly LaneTransition[],
    connection: FencedConnection,
    skipsLocked: boolean,
  ): Promise<readonly string[]> {
    // Some of these steps may repeat a batch that was lost on another connection. It must not arrive after them.
    for (const other of this.#connections)
      if (other !== connection && other.hasLost) await other.passLost(connection.pgConnection, LOCK_WITHIN_MS)
    try {
      return await record(steps, connection, skipsLocked)
    } catch (error) {
      if (skipsLocked || !(error instanceof StatementRefused && error.kind === 'contended')) throw error
      return record(steps, connection, true)
    }
  }
}

/** Returns one letter for each step: see `write_steps`. */
async function record(
  steps: readonly LaneTransition[],
  connection: FencedConnection,
  skipsLocked: boolean,
): Promise<readonly string[]> {
  const extras = steps.flatMap((step, at) => (hasExtras(step) ? { ...step, position: at + 1 } : []))
  const deferred = steps.flatMap((step, at) => step.deferred?.map((one) => ({ ...one, position: at + 1 })) ?? [])
  return connection.run(steps.length, async (count) => {
    const values = WRITE_STEPS.valuesFor({ connection, count, skipsLocked, steps, extras, deferred })
    const [row] = await connection.pgConnection.query(WRITE_STEPS.sql, values, 'prepared')
    return [...((row as Row)['write_steps'] as string)]
  })
}

/** What a step writes only while its claim holds is written under the lock of its lane. */
function hasExtras({ discard, memory, notesAttempt, deferred }: LaneTransition): boolean {
  return discard !== null || memory !== undefined || notesAttempt === true || deferred !== undefined
}

function retryOf({ finish }: LaneTransition): string | null {
  return finish?.disposition.do === 'keep-queued' ? clean(toJson(finish.disposition.retry)) : null
}

function finalOf({ finish }: LaneTransition) {
  return finish?.disposition.do === 'finalize' ? finish.disposition : null
}

function wordsOf({ finish }: LaneTransition): string | null {
  return finish && 'words' in finish.disposition ? clean(finish.disposition.words) : null
}

/** The network accepted it and said nothing else, so the message says everything about the attempt. */
function isPlain({ attempt, disposition }: NonNullable<LaneTransition['finish']>): boolean {
  const { outcome, code, words, facts } = attempt
  return disposition.do === 'finalize' && outcome === 'accepted' && code === null && words === null && !facts
}

/** Texts of networks may contain U+0000, which PostgreSQL refuses. */
function clean(value: string | null): string | null {
  return value && withoutNul(value)
}

function toJson(value: object | null | undefined): string | null {
  return value ? JSON.stringify(value) : null
}
