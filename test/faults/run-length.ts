const isQuick = Boolean(process.env['FAULT_QUICK'])

/**
 * How often a fault test does what it does. `brief` is for `npm run test:faults`; `quick` for `--quick`, which takes as many
 * rounds as the test needs to be able to fail. FAULT_ROUNDS makes a run longer, FAULT_SEED repeats one:
 * `FAULT_ROUNDS=500 FAULT_SEED=7 npx vitest run test/faults/kill-nine.test.ts`.
 */
export function readRounds({ brief, quick }: { readonly brief: number; readonly quick: number }): number {
  return readNumber('FAULT_ROUNDS') ?? (isQuick ? quick : brief)
}

/** Milliseconds after which a test has hung. Only for what never ends: how long it may take, its waits say. */
export function timeLimitMs(rounds: number): number {
  return 600_000 + rounds * 60_000
}

/** The longest pause of a load, in milliseconds: a quick run waits for leases to run out as long as others, with less work. */
export function loadPauseMs(pauseMs: number): number {
  return isQuick ? 4 * pauseMs : pauseMs
}

/** How many messages wait behind one. */
export function deferredAtOnce(): number {
  return isQuick ? 500 : 10_000
}

/**
 * Within how many milliseconds the lanes of a lost worker must move again. A brief run may share its machine with others,
 * and is given some more; a long one is watched, and is not.
 */
export function takenOverWithinMs(): number {
  return readNumber('FAULT_ROUNDS') === null ? 28_000 : 20_000
}

/**
 * Within how many milliseconds lanes must move on where the 15 s of a claim need not run out. Brief runs are
 * given more, for the same reason.
 */
export function movedOnWithinMs(): number {
  return readNumber('FAULT_ROUNDS') === null ? 10_000 : 6_000
}

/**
 * Within how many milliseconds a caller has its answer, whatever the database does: after 5 s the service checks every
 * 1.25 s which requests have waited too long. Brief runs are given more, for the same reason.
 */
export function answeredWithinMs(): number {
  return readNumber('FAULT_ROUNDS') === null ? 9_000 : 7_500
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
