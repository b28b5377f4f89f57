import { resolve } from 'node:path'
import type { SettingsReading } from '../../config/read-settings.ts'
import { Refusal } from '../../core/refusals.ts'
import { type AdministrationSession, openAdministration } from '../../server/wiring/open-administration.ts'
import { checkAttention } from './checks/check-attention.ts'
import { checkChannels } from './checks/check-channels.ts'
import { checkClock } from './checks/check-clock.ts'
import { checkDataFolder } from './checks/check-data-folder.ts'
import { checkDatabase } from './checks/check-database.ts'
import { checkDisk } from './checks/check-disk.ts'
import { checkFlush } from './checks/check-flush.ts'
import { checkKeyRing } from './checks/check-key-ring.ts'
import { checkLimits } from './checks/check-limits.ts'
import { checkOutbound } from './checks/check-outbound.ts'
import { checkPort } from './checks/check-port.ts'
import { checkProgram } from './checks/check-program.ts'
import { checkResolver } from './checks/check-resolver.ts'
import { checkSettings } from './checks/check-settings.ts'
import { checkTimeZones } from './checks/check-time-zones.ts'
import { checkTls } from './checks/check-tls.ts'
import type { Check, Examination } from './examination.ts'
import { CHECKS, type CheckName, type CheckResult, type Finding, problem } from './finding.ts'
import { runKillTest } from './kill-test/run-kill-test.ts'

/** What an operator wants to know about this installation. */
export interface ExamineRequest
  extends Pick<Examination, 'program' | 'isOffline' | 'outboundUrl' | 'killRounds' | 'now' | 'onProgress'> {
  readonly reading: SettingsReading
}

const RUN: Readonly<Record<CheckName, Check>> = {
  settings: checkSettings,
  program: checkProgram,
  limits: checkLimits,
  'data folder': checkDataFolder,
  disk: checkDisk,
  flush: checkFlush,
  database: checkDatabase,
  'key ring': checkKeyRing,
  clock: checkClock,
  'time zones': checkTimeZones,
  service: checkPort,
  tls: checkTls,
  attention: checkAttention,
  channels: checkChannels,
  resolver: checkResolver,
  outbound: checkOutbound,
  'kill test': runKillTest,
}

// Longer than anything in a check waits by itself; the networks of many connections are asked several at once.
const LONGEST_CHECK_MS = 60_000
const UNBOUNDED: readonly CheckName[] = ['kill test']

/** Runs every check, one after the other. Changes nothing, and never throws for what it finds. */
export async function* examine(request: ExamineRequest): AsyncIterable<Finding> {
  const session = new SharedSession(request.reading)
  const interruption = new Interruption()
  const { signal } = interruption
  const examination: Examination = {
    ...request,
    settings: request.reading.settings,
    dataDir: findDataDir(request.reading),
    signal,
    openSession: () => session.open(),
  }
  try {
    for (const check of CHECKS) {
      if (signal.aborted) return
      for (const result of await runOne(check, examination)) yield { check, ...result }
    }
  } finally {
    await session.close()
    interruption.close()
  }
}

async function runOne(check: CheckName, examination: Examination): Promise<readonly CheckResult[]> {
  const late = Promise.withResolvers<CheckResult>()
  const timer = UNBOUNDED.includes(check) ? null : setTimeout(() => late.resolve(tooSlow(check)), LONGEST_CHECK_MS)
  try {
    const found = await Promise.race([RUN[check](examination), late.promise])
    return 'status' in found ? [found] : found
  } catch (error) {
    return [explain(error)]
  } finally {
    if (timer) clearTimeout(timer)
  }
}

function tooSlow(check: CheckName): CheckResult {
  return problem(
    `This did not come to an end within ${LONGEST_CHECK_MS / 1_000} seconds.`,
    `Find out what hangs: a disk, a network or a database that does not answer (${check}).`,
  )
}

/** A refusal says itself what to do. */
function explain(error: unknown): CheckResult {
  if (error instanceof Refusal)
    return { status: 'problem', sentence: error.message, nextStep: null, facts: { code: error.code } }
  const code = error instanceof Error && 'code' in error ? String(error.code) : null
  const words = error instanceof Error ? error.message : String(error)
  return problem(
    `This could not be checked: ${words}`,
    'Run the doctor as the user that runs Nuncio, with the same settings; if it stays, report it.',
    { code },
  )
}

/** The first Ctrl+C ends the run in order, so that it can clear away what it made; a second one at once. */
class Interruption {
  readonly #ending = new AbortController()
  readonly #end = () => this.#ending.abort()
  readonly signal = this.#ending.signal

  constructor() {
    process.once('SIGINT', this.#end).once('SIGTERM', this.#end).once('SIGHUP', this.#end)
  }

  close(): void {
    process.off('SIGINT', this.#end).off('SIGTERM', this.#end).off('SIGHUP', this.#end)
  }
}

/** The data, opened when a check first needs it. */
class SharedSession {
  readonly #reading: SettingsReading
  #opened: Promise<AdministrationSession | null> | null = null

  constructor(reading: SettingsReading) {
    this.#reading = reading
  }

  open(): Promise<AdministrationSession | null> {
    const { settings } = this.#reading
    this.#opened ??= settings
      ? openAdministration(settings, { create: false }).catch(() => null)
      : Promise.resolve(null)
    return this.#opened
  }

  async close(): Promise<void> {
    const session = await this.#opened
    await session?.close()
  }
}

function findDataDir({ readings }: SettingsReading): string | null {
  const found = readings.find(({ name }) => name === 'NUNCIO_DATA_DIR')
  return found && !found.problem ? resolve(found.value) : null
}
