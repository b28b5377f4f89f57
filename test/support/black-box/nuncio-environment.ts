import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../../', import.meta.url)

/** The program as it is shipped; `npm run build` makes it. */
export const nuncioMain = fileURLToPath(new URL('dist/src/nuncio.js', ROOT))

/** The same from the sources, whose parts a test can wrap before they are used. */
export const nuncioSource = fileURLToPath(new URL('src/cli/main.ts', ROOT))

/** Only what is named here: settings of the person's shell must not change what is tested. */
export function nuncioEnvironment(
  dataDir: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', NUNCIO_DATA_DIR: dataDir, NUNCIO_LOG_LEVEL: 'warn', ...more }
}
