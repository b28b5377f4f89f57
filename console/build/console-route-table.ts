import { statSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Plugin } from 'vite'

interface Route {
  readonly method: string
  readonly path: string
  readonly access: string
}

const NAME = 'virtual:console-routes'
const RESOLVED = `\0${NAME}`
const CONTRACT = fileURLToPath(new URL('../../src/contract/console/routes.ts', import.meta.url))

/**
 * The parts of the contract that the browser needs to make a call: method, path and access of each route. Without the
 * shapes, which would load every schema with the first view although the server checks its replies.
 */
export function consoleRouteTable(): Plugin {
  return {
    name: 'console-route-table',
    resolveId: (id) => (id === NAME ? RESOLVED : null),
    async load(id) {
      if (id !== RESOLVED) return null
      this.addWatchFile(CONTRACT)
      // Modules are cached by address: with the file's time in it, a changed file is loaded again.
      const address = `${pathToFileURL(CONTRACT).href}?changed=${statSync(CONTRACT).mtimeMs}`
      const { CONSOLE_ROUTES } = (await import(address)) as { CONSOLE_ROUTES: Readonly<Record<string, Route>> }
      const table = Object.entries(CONSOLE_ROUTES).map(([name, { method, path, access }]) => [
        name,
        { method, path, access },
      ])
      return `export const ROUTES = ${JSON.stringify(Object.fromEntries(table))}`
    },
  }
}
