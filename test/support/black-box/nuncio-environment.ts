import { fileURLToPath } from 'node:url'

export const nuncioMain = fileURLToPath(new URL('../../../src/cli/main.js', import.meta.url))

/** Only what is named here: settings of whoever runs the tests must not change what is tested. */
export function nuncioEnvironment(
  dataDir: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', NUNCIO_DATA_DIR: dataDir, NUNCIO_LOG_LEVEL: 'warn', ...more }
}
