import { execFile } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'

const SIGN_OF_TIMESYNCD = '/run/systemd/timesync/synchronized'
const ANSWER_WITHIN_MS = 2_000
const OFF_WARNING_MS = 1_000
const OFF_PROBLEM_MS = 60_000
const HOUR_MS = 3_600_000

export async function checkClock({ settings, openSession, now }: Examination): Promise<readonly CheckResult[]> {
  const found = [assessPlausible(now(), statSync(fileURLToPath(import.meta.url)).mtimeMs)]
  if (settings?.database.engine === 'postgres') {
    const { surveyServer } = await import('../../../storage/postgres/safety/survey-server.ts')
    found.push(assessOffset(await surveyServer(settings.database.url, now)))
  } else {
    const session = await openSession()
    const workers = session ? await session.administration.listWorkers() : []
    const last = Math.max(0, ...workers.map(({ lastHeartbeatAt }) => lastHeartbeatAt))
    if (last > 0) found.push(assessLastSign(last, now()))
  }
  found.push(await findClockSource())
  return found
}

/** Pure. `programAt`: when this program was put in place. */
export function assessPlausible(now: number, programAt: number): CheckResult {
  const facts = { now: new Date(now).toISOString() }
  // Files from an archive may carry the time of another zone.
  if (now < programAt - 24 * HOUR_MS)
    return problem(
      `The clock shows ${facts.now}, which is before this program was put in place.`,
      'Set the clock, and let it be kept by NTP: time limits of messages and tokens follow it.',
      facts,
    )
  return ok(`The clock shows ${facts.now}.`, facts)
}

/** Pure. Checks the clock of the database server. */
export function assessOffset({
  clockAheadMs,
  clockUncertainMs,
}: {
  readonly clockAheadMs: number
  readonly clockUncertainMs: number
}): CheckResult {
  const facts = { clockAheadMs, clockUncertainMs }
  const off = Math.max(0, Math.abs(clockAheadMs) - clockUncertainMs)
  const words = `The clock of the database is ${Math.abs(clockAheadMs)} ms ${clockAheadMs >= 0 ? 'ahead of' : 'behind'} this one`
  const remedy = 'Let NTP keep both. Nuncio goes by the clock of the database; logs go by this one.'
  if (off > OFF_PROBLEM_MS) return problem(`${words}.`, remedy, facts)
  if (off > OFF_WARNING_MS) return warning(`${words}.`, remedy, facts)
  return ok(`${words} (to within ${clockUncertainMs} ms).`, facts)
}

/** Pure. `lastAt`: the last sign of life that a service has left in the database. */
export function assessLastSign(lastAt: number, now: number): CheckResult {
  const facts = { lastAt: new Date(lastAt).toISOString() }
  const behind = lastAt - now
  if (behind > OFF_WARNING_MS)
    return problem(
      `The clock has gone back: a service ran at ${facts.lastAt}, which is still ${Math.ceil(behind / 1_000)} seconds away.`,
      'Set the clock, and let it be kept by NTP.',
      facts,
    )
  return ok('The clock has not gone back since a service last ran.', facts)
}

/** Asks this machine only. */
async function findClockSource(): Promise<CheckResult> {
  if (existsSync(SIGN_OF_TIMESYNCD)) return ok('The clock is kept by NTP (systemd-timesyncd).')
  const answer = await ask('timedatectl', ['show', '-p', 'NTPSynchronized', '--value'])
  if (answer === 'yes') return ok('The clock is kept by NTP.')
  if (answer === 'no')
    return warning(
      'The clock is not kept by NTP at the moment.',
      'Let it be kept: timedatectl set-ntp true, or start chrony.',
    )
  return skipped(
    'It cannot be seen here whether the clock is kept by NTP (in a container the machine around it does that).',
  )
}

function ask(program: string, parameters: readonly string[]): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(program, [...parameters], { timeout: ANSWER_WITHIN_MS }, (error, stdout) =>
      resolve(error ? null : stdout.trim()),
    )
  })
}
