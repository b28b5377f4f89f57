import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, vi } from 'vitest'
import { WHATSAPP_WEB } from '../../../src/channels/whatsapp-web/name.ts'
import { readSettings } from '../../../src/config/read-settings.ts'
import type { ConnectionId } from '../../../src/core/ids.ts'
import { openAdministration } from '../../../src/server/wiring/open-administration.ts'
import type { NuncioCli } from '../../support/black-box/nuncio-cli.ts'
import { openStranger } from '../../support/journey/engines.ts'
import { LIBRARY_FOLDER } from '../../support/whatsapp-web/library.ts'
import { Simulator } from '../../support/whatsapp-web/simulator.ts'
import { storeLinked } from '../../support/whatsapp-web/store-linked.ts'

/** A simulator where everybody has WhatsApp. */
export async function openNetwork(): Promise<Simulator> {
  // libsignal prints whole sessions with their keys.
  for (const method of ['log', 'info', 'warn', 'error'] as const) vi.spyOn(console, method).mockImplementation(() => {})
  const simulator = await Simulator.start()
  simulator.library.WA_CERT_DETAILS.PUBLIC_KEY = simulator.rootKey.public
  simulator.isEveryoneRegistered = true
  onTestFinished(async () => {
    await simulator.close()
    vi.restoreAllMocks()
  })
  return simulator
}

/** The settings of the service for it; `folder` is one of the test's own. */
export function networkSettings(simulator: Simulator, folder: string): Readonly<Record<string, string>> {
  const authority = join(folder, 'media.pem')
  writeFileSync(authority, simulator.media.authority)
  return {
    NUNCIO_WHATSAPP_WEB_URL: `${simulator.url}#${simulator.rootKey.public.toString('base64url')}`,
    NUNCIO_MEDIA_ALLOWED_PRIVATE: '127.0.0.0/8',
    NODE_EXTRA_CA_CERTS: authority,
  }
}

interface Linking {
  readonly cli: Pick<NuncioCli, 'json'>
  readonly dataDir: string
  readonly databaseUrl?: string
}

/** Installs the channel for a service. */
export function installChannel({ dataDir }: Pick<Linking, 'dataDir'>): void {
  mkdirSync(join(dataDir, 'extras'), { recursive: true })
  symlinkSync(LIBRARY_FOLDER, join(dataDir, 'extras', WHATSAPP_WEB))
}

/** A connection that sends as fast as it can. */
export async function addConnection({ cli }: Pick<Linking, 'cli'>, number: string): Promise<void> {
  const pace = ['--set', 'least_gap=0s', '--set', 'gap_jitter=0s']
  await cli.json('connection', 'add', number, '--channel', WHATSAPP_WEB, ...pace)
}

/** As after a phone was linked to this connection. */
export async function linkPhone(
  simulator: Simulator,
  linking: Omit<Linking, 'cli'>,
  number: string,
): Promise<ConnectionId> {
  const { settings, session } = await openData(linking)
  const stranger = await openStranger(settings.database)
  try {
    const isPostgres = settings.database.engine === 'postgres'
    return await storeLinked({ stranger, isPostgres, secrets: await session.openSecrets() }, simulator, number)
  } finally {
    await stranger.close()
    await session.close()
  }
}

/** As a command does it. */
export async function openData({ dataDir, databaseUrl }: Omit<Linking, 'cli'>) {
  const environment = {
    NUNCIO_DATA_DIR: dataDir,
    ...(databaseUrl !== undefined && { NUNCIO_DATABASE_URL: databaseUrl }),
  }
  const { settings, problems } = readSettings({ environment, envFile: {} })
  if (!settings) throw new Error(problems.map(({ sentence }) => sentence).join('\n'))
  return { settings, session: await openAdministration(settings, { create: false }) }
}
