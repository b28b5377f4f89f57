/**
 * `npm test` runs every fault test briefly. FAULT_ROUNDS makes a run longer, FAULT_SEED repeats one:
 * `FAULT_ROUNDS=500 FAULT_SEED=7 npx vitest run test/faults/kill-nine.test.ts`.
 */
export function readRounds(brief: number): number {
  return readNumber('FAULT_ROUNDS') ?? brief
}

/**
 * Why a run whose limits of time are not yet steady on a busy machine is left out of `npm test`; null in a long run, which
 * somebody watches. What it says of losses and duplicates has always held.
 */
export function whyOnlyInLongRuns(): string | null {
  return readNumber('FAULT_ROUNDS') === null ? 'unsteady on a busy machine; set FAULT_ROUNDS to run it' : null
}

/** A new one for each run, so that many brief runs together see much; it is printed with what it found. */
export function readSeed(): number {
  return readNumber('FAULT_SEED') ?? Math.floor(Math.random() * 1_000_000)
}

function readNumber(name: string): number | null {
  const text = process.env[name]
  if (text === undefined || text === '') return null
  const number = Number(text)
  if (!Number.isInteger(number) || number < 1) throw new Error(`${name} must be a whole number from 1, not "${text}"`)
  return number
}
