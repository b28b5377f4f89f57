import { hash, randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { settingsOf } from '../../../config/load-settings.ts'
import { readSettings, type Settings } from '../../../config/read-settings.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import { createToken, tokenPrefix } from '../../../core/token/token-format.ts'
import { openAdministration } from '../../../server/wiring/open-administration.ts'
import { nearestFolder } from '../machine/nearest-folder.ts'

const START = '.nuncio-kill-test-'
const DATABASE_START = 'nuncio_kill_test_'
const FIRST_NUMBER = 15_550_003_000
const DAY_MS = 86_400_000
const ACTOR = 'kill test'
// So slow that a lane has an attempt open at most moments.
const LATENCY_MS = 15

/** Data of its own for the test, on the disk or the server of the real ones. */
export interface TestPlace {
  readonly folder: string
  readonly settings: Settings
  /** The settings as a service started there is given them. */
  readonly environment: Readonly<Record<string, string>>
  readonly token: string
  /** Numbers of sandbox connections. */
  readonly lanes: readonly string[]
  /** Leaves nothing behind. Harmless twice. */
  readonly remove: () => Promise<void>
}

/** Never touches the data of these settings: only the disk that they lie on, and on PostgreSQL their server. */
export async function makeTestPlace(real: Settings, laneCount: number): Promise<TestPlace> {
  const undo: (() => Promise<unknown>)[] = []
  const remove = async () => {
    for (const step of undo.splice(0).reverse()) await step()
  }
  try {
    const folder = await makeFolder(real)
    undo.push(() => rm(folder, { recursive: true, force: true }))
    const environment: Record<string, string> = {
      NUNCIO_DATA_DIR: join(folder, 'data'),
      NUNCIO_HOST: '127.0.0.1',
      NUNCIO_PORT: '0',
      NUNCIO_LOG_LEVEL: 'warn',
    }
    if (real.database.engine === 'postgres') {
      const { makeTemporaryDatabase, withDatabase } = await import(
        '../../../storage/postgres/transfer/make-temporary-database.ts'
      )
      // A pooler knows only its configured databases, so the direct way is taken.
      const { listenUrl, migrateUrl } = real.database
      const database = await makeTemporaryDatabase(migrateUrl, DATABASE_START)
      undo.push(database.drop)
      environment['NUNCIO_DATABASE_URL'] = withDatabase(listenUrl, database.name)
      environment['NUNCIO_DATABASE_MIGRATE_URL'] = withDatabase(migrateUrl, database.name)
    }
    const settings = settingsOf(readSettings({ environment, envFile: {} }))
    return { folder, settings, environment, ...(await fill(settings, laneCount)), remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/** On the disk of the database where that is a file, else on that of the data folder. */
function makeFolder({ database, dataDir }: Settings): Promise<string> {
  const beside = database.engine === 'sqlite' ? dirname(database.path) : dataDir
  return mkdtemp(join(nearestFolder(beside), START))
}

async function fill(settings: Settings, laneCount: number): Promise<Pick<TestPlace, 'token' | 'lanes'>> {
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 })
  const session = await openAdministration(settings, { create: true })
  try {
    const { administration } = session
    const account = await administration.createAccount('Kill test', ACTOR)
    const lanes = Array.from({ length: laneCount }, (_, index) => String(FIRST_NUMBER + index))
    for (const number of lanes)
      await administration.addConnection(
        {
          accountId: account.id,
          number,
          channel: 'sandbox',
          policy: DEFAULT_LANE_POLICY,
          channelSettings: { latencyMs: LATENCY_MS },
        },
        ACTOR,
      )
    const token = createToken(randomBytes)
    await administration.createToken(
      {
        accountId: account.id,
        name: 'kill test',
        events: ['messaging.send_message'],
        expiresAt: Date.now() + DAY_MS,
        connectionIds: null,
        sourceRanges: null,
        sha256: hash('sha256', token, 'buffer'),
        prefix: tokenPrefix(token),
      },
      ACTOR,
    )
    return { token, lanes }
  } finally {
    await session.close()
  }
}
