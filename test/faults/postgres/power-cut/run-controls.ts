import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { readRunArguments, reportAndExit } from '../../../support/black-box/own-mounts.ts'
import type { PostgresSettings } from '../../../support/postgres/postgres-server.ts'
import { CuttableDisk, mountStore } from '../../power-cut/cuttable-disk.ts'
import { checkCopy, openOnDisk } from './check-copy.ts'

/** What the cuts did to the rows of one writer. */
export interface ControlReport {
  readonly acked: number
  /** The number of cuts after which at least one acknowledged row was missing. */
  readonly cutsWithLoss: number
  readonly mostLost: number
}

// The service refuses the last two settings, so these writers do not use it.
const SETTINGS = {
  safe: {},
  // By default the server would write what is due five times a second, and sometimes just before a cut.
  'synchronous_commit=off': { synchronous_commit: 'off', wal_writer_delay: '10s' },
  'fsync=off': { fsync: 'off' },
} as const satisfies Readonly<Record<string, PostgresSettings>>

type ControlName = keyof typeof SETTINGS
export type ControlReports = Readonly<Record<ControlName, ControlReport>>

const RUN_IN_MS = 2_000
const BETWEEN_CUTS_MS = 300
const PAUSE_MS = 3
const DATABASE = 'postgres'

const { workDir, cuts } = readRunArguments<{ cuts: number }>()
const store = await mountStore(workDir)
const writers = await Promise.all((Object.keys(SETTINGS) as ControlName[]).map(startWriter))
await setTimeout(RUN_IN_MS)
for (let cut = 0; cut < cuts; cut += 1) {
  await Promise.all(writers.map(cutOnce))
  await setTimeout(BETWEEN_CUTS_MS)
}
await Promise.all(writers.map(({ server }) => server.close()))
reportAndExit(Object.fromEntries(writers.map(({ name, acked, report }) => [name, { ...report, acked: acked.length }])))

async function startWriter(name: ControlName) {
  const disk = await CuttableDisk.open(store, name.replace('=', '-'))
  const server = await openOnDisk(disk, SETTINGS[name])
  const client = new pg.Client({ connectionString: server.url(DATABASE) })
  client.on('error', () => {})
  await client.connect()
  await client.query('create table row (id integer primary key, body text)')
  const acked: string[] = []
  void writeRows(client, acked).catch(() => {})
  return { name, disk, server, acked, report: { cutsWithLoss: 0, mostLost: 0 } }
}

/** Writes about 200 rows a second until the server ends. */
async function writeRows(client: pg.Client, acked: string[]): Promise<void> {
  for (let id = 1; ; id += 1) {
    await client.query('insert into row (id, body) values ($1, $2)', [id, 'x'.repeat(200)])
    acked.push(String(id))
    await setTimeout(PAUSE_MS)
  }
}

async function cutOnce({ disk, server, acked, report }: Awaited<ReturnType<typeof startWriter>>): Promise<void> {
  const before = acked.slice()
  const copy = await disk.cut()
  const wanted = { password: server.password, database: DATABASE, sql: 'select id from row', acked: before }
  const { lost } = await checkCopy(copy, wanted)
  if (lost > 0) report.cutsWithLoss += 1
  report.mostLost = Math.max(report.mostLost, lost)
  await copy.remove()
}
