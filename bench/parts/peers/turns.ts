import { setTimeout as pause } from 'node:timers/promises'
import type { Bench } from '../../bench.ts'
import type { Child } from '../../child.ts'
import { type Figure, formatNumber, type Reach } from '../../figure.ts'
import type { PeerCalls } from '../../peers/graphile-worker.ts'
import { median } from '../../statistics.ts'

const PART = 'peers'

/** One measurement of another queue. */
export interface Turn {
  readonly addedPerSecond: number
  readonly donePerSecond: number
  /** Further facts for the note of the figure. */
  readonly note: string
  readonly cpuUs: number
}

/** Counts in the middle of the run, as for our own dispatch. */
export async function measureDone(bench: Bench, child: Child<Pick<PeerCalls, 'progress'>>, jobs: number) {
  await bench.warmUp()
  const before = await child.ask('progress', null)
  await pause(bench.options.seconds * 1000)
  const after = await child.ask('progress', null)
  if (after.done === jobs) bench.options.print('  ! its jobs were gone before the end')
  const done = after.done - before.done
  return {
    donePerSecond: (done / (after.atMs - before.atMs)) * 1000,
    all: after.done,
    outOfOrder: after.outOfOrder,
    cpuUs: ((after.cpuSeconds - before.cpuSeconds) / done) * 1e6,
  }
}

export function rateOf(name: string, rounds: readonly number[]) {
  return { part: PART, name, value: median(rounds), unit: '/s', reach: null, rounds }
}

export function figuresOf(name: string, turns: readonly Turn[]): Figure[] {
  const added = turns.map(({ addedPerSecond }) => addedPerSecond)
  const done = turns.map(({ donePerSecond }) => donePerSecond)
  const cpu = median(turns.map(({ cpuUs }) => cpuUs))
  const notes = turns.slice(-1).flatMap(({ note }) => (note === '' ? [] : [note]))
  return [
    { ...rateOf(`${name}: added`, added), note: '1,000 in a call, one call after the other' },
    { ...rateOf(`${name}: run`, done), note: [`${formatNumber(cpu)} µs of CPU each in Node`, ...notes].join('; ') },
  ]
}

interface Compared {
  readonly ours: readonly number[]
  /** From the same rounds. */
  readonly theirs: readonly number[]
  readonly reach: Reach | null
}

export function ratioOf(name: string, { ours, theirs, reach }: Compared): Figure {
  const rounds = ours.map((rate, place) => rate / (theirs[place] ?? Number.NaN))
  return { part: PART, name, value: median(ours) / median(theirs), unit: '', reach, rounds, note: '' }
}

export function doneRates(turns: readonly Turn[]): readonly number[] {
  return turns.map(({ donePerSecond }) => donePerSecond)
}

/** Reports this in the results too: a missing comparison must not seem to be one that was never planned. */
export function leftOut(bench: Bench, name: string, why: string): Figure {
  bench.options.print(`  ${name} left out: ${why}`)
  return { part: PART, name, value: Number.NaN, unit: '', reach: null, rounds: [], note: `left out: ${why}` }
}

export function say(turns: readonly Turn[]): string {
  const last = turns.at(-1)
  return `${formatNumber(last?.donePerSecond ?? 0)}/s (added at ${formatNumber(last?.addedPerSecond ?? 0)}/s)`
}
