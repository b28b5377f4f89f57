import { fileURLToPath } from 'node:url'

const ROOT = new URL('../../../', import.meta.url)

/** The program as it is shipped; `npm run build` makes it. */
export const nuncioMain = fileURLToPath(new URL('dist/src/nuncio.js', ROOT))

/** The same program from the sources. A test can wrap their parts before they are loaded. */
export const nuncioSource = fileURLToPath(new URL('src/cli/main.ts', ROOT))

/** Contains only what is named here: settings in the person's shell must not change what is tested. */
export function nuncioEnvironment(
  dataDir: string,
  more: Readonly<Record<string, string>> = {},
): Record<string, string> {
  return { PATH: process.env['PATH'] ?? '', NUNCIO_DATA_DIR: dataDir, NUNCIO_LOG_LEVEL: 'warn', ...more }
}
