import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { readRunArguments, reportAndExit } from '../../support/black-box/own-mounts.ts'
import { checkCopy } from './check-copy.ts'
import { CuttableDisk, mountStore } from './cuttable-disk.ts'

/** What the cuts did to the rows of one writer. */
export interface ControlReport {
  readonly acked: number
  /** The number of cuts after which at least one acknowledged row was missing. */
  readonly cutsWithLoss: number
  readonly mostLost: number
  readonly damaged: number
}

export type ControlReports = Readonly<Record<'FULL' | 'NORMAL' | 'OFF', ControlReport>>

// Before this time the careless settings have not written the database file at all, and would lose it as a whole.
const RUN_IN_MS = 8_000
const BETWEEN_CUTS_MS = 300

const { workDir, cuts } = readRunArguments<{ cuts: number }>()
const store = await mountStore(workDir)
const settings = ['FULL', 'NORMAL', 'OFF'] as const
const writers = await Promise.all(settings.map((synchronous) => startWriter(synchronous)))
await setTimeout(RUN_IN_MS)
for (let cut = 0; cut < cuts; cut += 1) {
  for (const writer of writers) await cutOnce(writer)
  await setTimeout(BETWEEN_CUTS_MS)
}
reportAndExit(
  Object.fromEntries(
    writers.map(({ synchronous, acked, report }) => [synchronous, { ...report, acked: acked.length }]),
  ),
)

async function startWriter(synchronous: string) {
  const disk = await CuttableDisk.open(store, synchronous)
  const script = fileURLToPath(new URL('write-rows.ts', import.meta.url))
  const child = spawn(process.execPath, [script, join(disk.path, 'rows.db'), synchronous], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const acked: string[] = []
  let rest = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    acked.push(...lines)
  })
  return { synchronous, disk, acked, report: { cutsWithLoss: 0, mostLost: 0, damaged: 0 } }
}

async function cutOnce({ disk, acked, report }: Awaited<ReturnType<typeof startWriter>>): Promise<void> {
  const before = acked.slice()
  const copy = await disk.cut()
  const { lost, integrity } = checkCopy(join(copy.path, 'rows.db'), before, 'select id from row')
  if (lost > 0) report.cutsWithLoss += 1
  else if (integrity !== 'ok') report.damaged += 1
  report.mostLost = Math.max(report.mostLost, lost)
  await copy.remove()
}
