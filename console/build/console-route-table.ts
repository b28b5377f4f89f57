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
 * What the browser needs of the contract to make a call: method, path and access of each route. The shapes stay out:
 * they would bring every schema into the first view, though the server has checked what it sends.
 */
export function consoleRouteTable(): Plugin {
  return {
    name: 'console-route-table',
    resolveId: (id) => (id === NAME ? RESOLVED : null),
    async load(id) {
      if (id !== RESOLVED) return null
      this.addWatchFile(CONTRACT)
      // A module is kept under its address: with the file's time in it, a changed file is read again.
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
