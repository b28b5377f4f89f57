import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { applyMigrations, readMigrations } from '../../../src/storage/sqlite/schema/migrate.ts'
import { type CliAnswer, NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { readRunArguments, reportAndExit } from '../../support/black-box/own-mounts.ts'
import { SmallDisk } from '../disk-full/small-disk.ts'

export interface Tried {
  readonly what: string
  readonly command: string
  readonly answer: CliAnswer
  /** Whether every byte of the database is unchanged. */
  readonly isUnchanged: boolean
}

const DISK_MB = 2
// Enough room to open it, and too little to migrate it.
const LEFT_BYTES = 100_000
const UNPRIVILEGED_ID = 65_534
// Runs as root without the right to access files of other users.
const WITH_FEWER_RIGHTS = ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--']

const { workDir } = readRunArguments()
const tried: Tried[] = []
const disk = new SmallDisk(workDir, DISK_MB)
const dataDir = join(disk.path, 'data')
const path = join(dataDir, 'nuncio.db')
const environment = { NUNCIO_PORT: '0' }
const cli = new NuncioCli({ dataDir, workDir, environment })
const fewerRights = new NuncioCli({ dataDir, workDir, environment, through: WITH_FEWER_RIGHTS })

makeDatabase()
disk.fill()
await tryCommands('full disk', cli, ['serve', 'migrate', 'account list', 'account create Acme', `backup ${workDir}/to`])
disk.makeRoom()

makeDatabase([])
disk.fill(LEFT_BYTES)
await tryCommands('full while migrating', cli, ['migrate', 'serve'])
disk.makeRoom()

makeDatabase()
execFileSync('mount', ['-o', 'remount,ro', disk.path])
await tryCommands('read-only disk', cli, ['serve', 'migrate', 'account list', 'account create Acme'])
execFileSync('mount', ['-o', 'remount,rw', disk.path])

makeDatabase()
chmodSync(path, 0o444)
await tryCommands('read-only file', fewerRights, ['serve', 'migrate', 'account create Acme'])

makeDatabase()
for (const [mode, what] of [
  [0o755, 'folder of another'],
  [0o700, 'hidden folder'],
] as const) {
  chownSync(dataDir, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
  chmodSync(dataDir, mode)
  await tryCommands(what, fewerRights, ['serve', 'migrate', 'account list', 'account create Acme'])
}
reportAndExit(tried)

/** Creates a database of this version, or with fewer migrations one without tables. */
function makeDatabase(migrations = readMigrations()): void {
  rmSync(dataDir, { recursive: true, force: true })
  mkdirSync(dataDir, { mode: 0o700 })
  const database = new DatabaseSync(path)
  database.exec('pragma journal_mode = wal')
  applyMigrations(database, path, migrations)
  database.close()
}

async function tryCommands(what: string, from: NuncioCli, commands: readonly string[]): Promise<void> {
  for (const command of commands) {
    const before = digest()
    const answer = await from.run(...command.split(' '))
    tried.push({ what, command, answer, isUnchanged: digest() === before })
  }
}

function digest(): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}
