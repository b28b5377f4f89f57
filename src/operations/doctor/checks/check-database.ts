import type { Settings } from '../../../config/read-settings.ts'
import { bytesText } from '../../../format/bytes.ts'
import { CONNECTIONS_OF_A_PROCESS } from '../../../storage/postgres/connection/connection-purposes.ts'
import type { NumberSupply, ServerSurvey } from '../../../storage/postgres/safety/survey-server.ts'
import type { DatabaseSurvey } from '../../../storage/sqlite/safety/survey-database.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'

const SYNCHRONOUS_FULL = 2
// A write-ahead log that large means that another program reads for very long, and keeps it from being written over.
const LARGE_WAL_BYTES = 1024 ** 3
// With fewer numbers of transactions, or of multixacts, than this a server should have vacuumed long ago, unless it was
// set to wait for longer.
const FEW_NUMBERS = 1_000_000_000
const LATE_BY_NUMBERS = 100_000_000

export async function checkDatabase({ settings, now }: Examination): Promise<readonly CheckResult[]> {
  if (!settings) return [skipped('The settings are wrong, so that it is unknown which database is meant.')]
  const { database } = settings
  if (database.engine === 'postgres') {
    const { surveyServer } = await import('../../../storage/postgres/safety/survey-server.ts')
    const survey = await surveyServer(database.url, now)
    return [...assessServer(survey, settings), assessVersion(survey.migrated, survey.known)]
  }
  const { surveyDatabase } = await import('../../../storage/sqlite/safety/survey-database.ts')
  const { path } = database
  const survey = surveyDatabase(path)
  if (!survey) return [ok(`${path} is not there yet; the first start makes it.`)]
  return [...assessFile(survey), assessVersion(survey.version, survey.known)]
}

/** Pure. */
export function assessFile(survey: DatabaseSurvey): readonly CheckResult[] {
  const { journalMode, synchronous, damage, sizeBytes, walBytes } = survey
  const facts = { journalMode, synchronous, sizeBytes, walBytes, damage }
  const found: CheckResult[] = []
  if (journalMode !== null && (journalMode !== 'wal' || synchronous !== SYNCHRONOUS_FULL))
    found.push(
      problem(
        `SQLite commits with journal_mode ${journalMode} and synchronous ${synchronous ?? 'unknown'}: a power cut may lose what was answered with 200.`,
        'Move NUNCIO_DATA_DIR to a local disk.',
        facts,
      ),
    )
  if (damage !== null && damage !== 'ok')
    found.push(
      problem(
        `The database is damaged: ${damage}`,
        'Stop the service, keep a copy of the data folder, and restore a backup.',
        facts,
      ),
    )
  if (walBytes > LARGE_WAL_BYTES)
    found.push(
      warning(
        `The write-ahead log has grown to ${bytesText(walBytes)}.`,
        'Something reads the database for very long: find out which other program has it open.',
        facts,
      ),
    )
  if (found.length > 0) return found
  const whole = damage === null ? 'it is too large to be read whole here' : 'every page of it is in order'
  const safety = journalMode === null ? '' : ' commits are written through to the disk (WAL, synchronous FULL), and'
  return [ok(`SQLite, ${bytesText(sizeBytes)}:${safety} ${whole}.`, facts)]
}

/** Pure. What the service itself would refuse has been refused before. */
export function assessServer(
  survey: ServerSurvey,
  { database, processes }: Pick<Settings, 'database' | 'processes'>,
): readonly CheckResult[] {
  const { server, version, connections, connectionsLeft, synchronousStandbys, isThroughPooler } = survey
  const { fsync, fullPageWrites, synchronousCommit, isSuperuser, transactions, multixacts } = survey
  const facts = { server, version, fsync, fullPageWrites, synchronousCommit, synchronousStandbys }
  const more = { ...facts, connections, connectionsLeft, isSuperuser, isThroughPooler }
  const standbys = synchronousStandbys === '' ? 'no standby has it when it is answered' : 'a standby has it, too'
  const found = [
    ok(`PostgreSQL ${version} at ${server}: commits are written through to its disk, and ${standbys}.`, more),
  ]
  const needed = processes * CONNECTIONS_OF_A_PROCESS
  // Behind a pooler others share the sessions, and the count of the server says nothing.
  if (!isThroughPooler && connectionsLeft < needed)
    found.push(
      warning(
        `The server has ${connectionsLeft} of ${connections} connections left, and ${processes === 1 ? 'a process' : `${processes} processes`} that starts may need ${needed}.`,
        'Raise max_connections in postgresql.conf and restart it, or find out who holds so many.',
        { connections, connectionsLeft },
      ),
    )
  found.push(...assessSupply('transactions', transactions), ...assessSupply('multixacts', multixacts))
  if (isSuperuser)
    found.push(
      warning(
        'Nuncio comes to PostgreSQL as a superuser, and needs far less.',
        'Make a user of its own: create role nuncio login password …; create database nuncio owner nuncio',
        { isSuperuser },
      ),
    )
  if (isThroughPooler && database.engine === 'postgres' && database.listenUrl === database.url)
    found.push(
      warning(
        'A pooler stands between Nuncio and PostgreSQL. If it works by transactions, LISTEN does not come through, and messages wait for the next poll.',
        'Name a direct way to the same database in NUNCIO_DATABASE_LISTEN_URL.',
        { isThroughPooler },
      ),
    )
  return found
}

function assessSupply(kind: 'transactions' | 'multixacts', { left, overdue }: NumberSupply): readonly CheckResult[] {
  const isLate = overdue > LATE_BY_NUMBERS || left < LATE_BY_NUMBERS
  if (left >= FEW_NUMBERS || !isLate) return []
  return [
    warning(
      `The server has ${Math.max(0, Math.floor(left / 1_000_000))} million ${kind} left, and then writes no more: something keeps it from vacuuming.`,
      'Check for old entries in pg_replication_slots, pg_prepared_xacts and pg_stat_activity (backend_xmin), end them, and run vacuumdb --all --freeze.',
      { [`${kind}Left`]: left },
    ),
  ]
}

/** Pure. `version`: null when there are no tables yet. */
export function assessVersion(version: number | null, known: number): CheckResult {
  const facts = { version, known }
  if (version === null || version === 0) return ok('There are no tables yet; the first start makes them.', facts)
  if (version < known)
    return warning(
      `The database is of version ${version}, and this program makes it ${known} when it starts.`,
      'Back it up before the new version starts.',
      facts,
    )
  if (version > known)
    return warning(
      `The database is of version ${version}, and this program knows ${known}: a newer one has been here.`,
      'Run the newer version, unless you are going back on purpose.',
      facts,
    )
  return ok(`The tables are those of this version (${version}).`, facts)
}
