import { join } from 'node:path'
import { openMigratedDatabase } from '../administration-world/migrated-database.ts'
import { findFreePort } from '../black-box/free-port.ts'
import { NuncioProcess } from '../black-box/nuncio-process.ts'
import { QuickCli } from '../black-box/quick-cli.ts'
import { openTestFolder } from '../black-box/test-folder.ts'
import type { EngineName } from './engines.ts'

export interface ServicePlan {
  readonly engine?: EngineName
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts a service on its own data, with its command line. Adds to `closers` what ends them. */
export async function startService(
  { engine = 'SQLite', environment = {} }: ServicePlan,
  closers: (() => Promise<void> | void)[],
): Promise<{ readonly service: NuncioProcess; readonly cli: QuickCli }> {
  const folder = openTestFolder()
  closers.push(() => folder.remove())
  const database = engine === 'PostgreSQL' ? await openMigratedDatabase() : null
  if (database) closers.push(() => database.drop())
  const dataDir = join(folder.path, 'data')
  const service = new NuncioProcess({
    dataDir,
    workDir: folder.path,
    environment: { ...environment, ...(database && { NUNCIO_DATABASE_URL: database.url }) },
    port: await findFreePort(),
    onStart: (pid) => folder.remember(pid),
  })
  closers.push(() => service.stop())
  await service.start()
  return { service, cli: new QuickCli({ dataDir, environment, ...(database && { databaseUrl: database.url }) }) }
}
