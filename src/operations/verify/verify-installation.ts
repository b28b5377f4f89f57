import { existsSync } from 'node:fs'
import { describeDatabase } from '../../config/database-url.ts'
import type { Settings } from '../../config/read-settings.ts'
import { openEngine } from '../../server/wiring/open-engine.ts'
import { spoolFolder } from '../../server/wiring/spool-folder.ts'
import { verifyBackup } from './verify-backup.ts'
import { type Verified, verifyContents } from './verify-contents.ts'
import type { VerifyRequest } from './verify-request.ts'

/** Reports what is wrong with the live database beside a running service, or with a backup. */
export async function verify(request: VerifyRequest): Promise<Verified> {
  const begunAt = request.now()
  const verified = request.backup === null ? await verifyLive(request) : await verifyBackup(request, request.backup)
  return { ...verified, tookMs: request.now() - begunAt }
}

async function verifyLive({ settings, onProgress }: VerifyRequest): Promise<Omit<Verified, 'tookMs'>> {
  const { database } = settings
  const storage = await openEngine(settings, false)
  try {
    const verified = await verifyContents({
      store: storage.store,
      secretStore: storage.openSecretStore(),
      engine: await loadEngine(database.engine),
      keyRingFile: settings.keyRingFile,
      spool: database.engine === 'sqlite' ? { id: null } : await ownSpool(settings),
      isServed: true,
      onProgress,
    })
    return { place: describeDatabase(database), ...verified }
  } finally {
    await storage.close()
  }
}

async function loadEngine(engine: Settings['database']['engine']) {
  if (engine === 'postgres')
    return (await import('../../storage/postgres/safety/verify-engine.ts')).postgresVerifyEngine
  return (await import('../../storage/sqlite/safety/verify-engine.ts')).sqliteVerifyEngine({ isCopy: false })
}

/** Null where there is none yet: opening it would make one, and nothing is changed here. */
async function ownSpool(settings: Settings): Promise<{ readonly id: string } | null> {
  const folder = spoolFolder(settings)
  if (!existsSync(folder)) return null
  const { openSpoolId } = await import('../../media/spool-id.ts')
  return { id: await openSpoolId(folder) }
}
