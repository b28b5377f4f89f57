import { readSettings, type Settings } from '../src/config/read-settings.ts'

// So high that no request reaches them. Not 0, because the check itself is part of the measurement.
const UNMET = '1000000000'

/** The environment of every measured service. */
export const BENCH_ENVIRONMENT: Readonly<Record<string, string>> = {
  NUNCIO_LOG_LEVEL: 'warn',
  NUNCIO_MAX_WAITING_PER_CONNECTION: UNMET,
  NUNCIO_MAX_WAITING_PER_ACCOUNT: UNMET,
}

export function settingsFor(dataDir: string, environment: Readonly<Record<string, string>> = {}): Settings {
  const { settings, problems } = readSettings({
    environment: { ...BENCH_ENVIRONMENT, ...environment, NUNCIO_DATA_DIR: dataDir },
    envFile: {},
  })
  if (!settings) throw new Error(problems.map(({ sentence }) => sentence).join('\n'))
  return settings
}
