import { readSettings } from '../../../src/config/read-settings.ts'
import { linesOf, openLog } from '../journey/open-log.ts'
import type { QuickCli } from './quick-cli.ts'

interface Place {
  readonly dataDir: string
  /** Left out: the SQLite database in the data folder. */
  readonly databaseUrl?: string
}

/** Reads the three lines of a message page. */
export type ReadLines = (id: string) => Promise<readonly (string | null)[]>

/** Reads them as an owner who signs in to this service. Call it once for each installation. */
export async function openPages({ dataDir, databaseUrl }: Place, url: string): Promise<ReadLines> {
  const environment = { NUNCIO_DATA_DIR: dataDir, ...(databaseUrl && { NUNCIO_DATABASE_URL: databaseUrl }) }
  const { settings } = readSettings({ commandLine: {}, environment, envFile: {} })
  if (!settings) throw new Error('These are no settings of a service')
  const { openAdministration } = await import('../../../src/server/wiring/open-administration.ts')
  const operator = await openAdministration(settings, { create: false })
  try {
    const page = await openLog(url, operator)
    return async (id) => linesOf(await page(id))
  } finally {
    await operator.close()
  }
}

/** Reads the same three lines from the command line, which also works while the service is down. */
export function readAtCommandLine(cli: Pick<QuickCli, 'run'>): ReadLines {
  return async (id) => {
    const { stdout } = await cli.run('message', 'explain', id)
    const sentence = /^State: .*\n(.+)$/m.exec(stdout)?.[1] ?? null
    const after = (label: string) => new RegExp(`^${label}: (.+)$`, 'm').exec(stdout)?.[1] ?? null
    return [sentence, after('Why'), after('What to do')]
  }
}
