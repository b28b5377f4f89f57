const isQuick = Boolean(process.env['FAULT_QUICK'])

/**
 * How many rounds a fault test has. `brief` is for `npm run test:faults`. `quick` is for `--quick`, and is the number of rounds
 * that the test needs to be able to fail. FAULT_ROUNDS makes a run longer, FAULT_SEED repeats one: `FAULT_ROUNDS=500 FAULT_SEED=7
 * npx vitest run test/faults/kill-nine.test.ts`.
 */
export function readRounds({ brief, quick }: { readonly brief: number; readonly quick: number }): number {
  return readNumber('FAULT_ROUNDS') ?? (isQuick ? quick : brief)
}

/** Milliseconds after which a test counts as hung. This is only for what never ends; the waits in a test limit its time. */
export function timeLimitMs(rounds: number): number {
  return 600_000 + rounds * 60_000
}

/** The longest pause of a load, in milliseconds. In a quick run leases take as long to expire, so it sends less. */
export function loadPauseMs(pauseMs: number): number {
  return isQuick ? 4 * pauseMs : pauseMs
}

/** How many messages wait behind one. */
export function deferredAtOnce(): number {
  return isQuick ? 500 : 10_000
}

/**
 * The milliseconds within which the lanes of a lost worker must move again. A brief run may share its machine with others and
 * gets more time. A long one does not.
 */
export function takenOverWithinMs(): number {
  return readNumber('FAULT_ROUNDS') === null ? 28_000 : 20_000
}

/**
 * The milliseconds within which lanes must move again if the 15 s of a claim need not expire. Brief runs get more time, for the
 * same reason.
 */
export function movedOnWithinMs(): number {
  return readNumber('FAULT_ROUNDS') === null ? 10_000 : 6_000
}

/**
 * The milliseconds within which a caller has its answer, whatever the database does: after 5 s the service checks every 1.25 s
 * which requests have waited too long. Brief runs get more time, for the same reason.
 */
export function answeredWithinMs(): number {
  return readNumber('FAULT_ROUNDS') === null ? 9_000 : 7_500
}

/** New for each run, so that brief runs together cover much. It is printed with the results. */
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
