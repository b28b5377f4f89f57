import { setTimeout as pause } from 'node:timers/promises'
import { type LaneTransition, type LaneTransitionResult, StorageUnavailable } from '../../../core/ports/lanes.ts'
import { Batches } from '../connection/batcher.ts'
import type { FencedConnection } from '../connection/fenced-connection.ts'
import { StatementRefused } from '../connection/pg-connection.ts'
import type { KnownLane, LaneCache } from './lane-cache.ts'
import { type LaneStep, toLeanValues, toValues } from './step-values.ts'

const STEPS_AT_ONCE = 1_000
// Lanes that once met in a batch come together again and again. In two halves, one is written while the other is sent.
// A batch costs the server as much as some 40 steps, so not even four times as many are worth one of their own: they wait
// for the batch before them, but not for one that is stuck behind a lock.
const STEPS_PER_CONNECTION = 192
const GATHER_MS = 10
// Shorter than the second after which a server looks whether two wait for each other: it is the lanes that let go, and
// never the person whose change they met.
const LOCK_WITHIN_MS = 300
// Somebody may be cancelling thousands of messages at once.
const BUSY_PAUSES_MS = [5, 10, 20, 40, 80, 160, 250, 250, 500, 500, 1_000, 1_000]

const parameters = (count: number) => Array.from({ length: count }, (_, at) => `$${at + 1}`).join(', ')
export const STEPS = `select write_steps(${parameters(38)}) as letters`
export const ONE_STEP = `select write_step(${parameters(19)}) as letters`

const RESULTS: Readonly<Record<string, LaneTransitionResult>> = {
  o: { fenced: false, started: true },
  n: { fenced: false, started: false },
  f: { fenced: true },
}

// Of a connection that does not exist. Nobody holds its lane, so whatever is written for it is fenced.
const NO_LANE: KnownLane = { accountId: '' as KnownLane['accountId'], hasPace: false }

interface StepWriterParts {
  /** One for each way. */
  readonly slots: readonly FencedConnection[]
  readonly known: LaneCache
}

/** Writes the moves of lanes: those of one turn in one commit. Nothing of a step is written when its claim is gone (G6). */
export class StepWriter {
  readonly #slots: readonly FencedConnection[]
  readonly #known: LaneCache
  readonly #batches: Batches<LaneTransition, string>
  readonly #busy: Batches<LaneTransition, string>

  constructor({ slots, known }: StepWriterParts) {
    this.#slots = slots
    this.#known = known
    const run = (skipsLocked: boolean) => (steps: readonly LaneTransition[], way: number) =>
      this.#write(steps, slots[way] as FencedConnection, skipsLocked)
    const shared = { mostPerBatch: STEPS_AT_ONCE, worthOfAConnection: STEPS_PER_CONNECTION, gatherMs: GATHER_MS }
    this.#batches = new Batches({ ...shared, ways: slots.length, run: run(false) })
    this.#busy = new Batches({ ways: 1, mostPerBatch: STEPS_AT_ONCE, run: run(true) })
  }

  async write(step: LaneTransition): Promise<LaneTransitionResult> {
    const letter = await this.#batches.submit(step)
    return RESULTS[letter] ?? this.#writeLater(step)
  }

  /** Somebody else has locked a message of it: apart from the others, so that their lanes go on meanwhile. */
  async #writeLater(step: LaneTransition): Promise<LaneTransitionResult> {
    for (const ms of BUSY_PAUSES_MS) {
      await pause(ms)
      const result = RESULTS[await this.#busy.submit(step)]
      if (result) return result
    }
    throw new StorageUnavailable('somebody else holds a message of this lane', false)
  }

  async #write(
    steps: readonly LaneTransition[],
    slot: FencedConnection,
    skipsLocked: boolean,
  ): Promise<readonly string[]> {
    // Of these some may be what was lost on the other way, once more: what comes late there must not come after it.
    for (const other of this.#slots)
      if (other !== slot && other.hasLost) await other.passLost(slot.link, LOCK_WITHIN_MS)
    const lanes = await this.#lanesOf(steps)
    const described = steps.map((step, at) => ({ step, lane: lanes[at] as KnownLane }))
    try {
      return await record(described, slot, skipsLocked)
    } catch (error) {
      if (skipsLocked || !(error instanceof StatementRefused && error.kind === 'contended')) throw error
      return record(described, slot, true)
    }
  }

  async #lanesOf(steps: readonly LaneTransition[]): Promise<readonly KnownLane[]> {
    const lanes = steps.map(({ connectionId }) => this.#known.find(connectionId))
    if (!lanes.includes(undefined)) return lanes as KnownLane[]
    const found = await this.#known.lookUp(steps.map(({ connectionId }) => connectionId))
    return steps.map(({ connectionId }) => found.get(connectionId) ?? NO_LANE)
  }
}

/** Returns one letter for each: see `write_steps`. */
async function record(
  steps: readonly LaneStep[],
  slot: FencedConnection,
  skipsLocked: boolean,
): Promise<readonly string[]> {
  const [only] = steps
  const lean = only && steps.length === 1 && !skipsLocked ? toLeanValues(only) : null
  return slot.run(steps.length, async (count) => {
    const head = [slot.worker, slot.number, count, LOCK_WITHIN_MS]
    const letters = lean
      ? await slot.link.queryForText(ONE_STEP, [...head, ...lean])
      : await slot.link.queryForText(STEPS, [...head, skipsLocked, ...toValues(steps, skipsLocked)])
    return [...letters]
  })
}
