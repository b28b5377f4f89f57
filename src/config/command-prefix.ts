import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isSea } from 'node:sea'
import { assetPath } from '../assets/asset-path.ts'
import { setCommandPrefix, shellWord } from '../core/command-line.ts'

/** How this program was started. */
export interface HowStarted {
  readonly isExecutable: boolean
  /** The first word of the command that started it, as it was typed. */
  readonly calledAs: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The folder that holds `src`. */
  readonly folder: string
}

/** The text that a person types before a command, which depends on how the program is installed. */
export function prefixOf({ isExecutable, calledAs, environment, folder }: HowStarted): string {
  if (isExecutable) return shellWord(calledAs)
  const bootstrap = 'scripts/bootstrap.mjs'
  // The second one is for a build, which is in a folder of the clone.
  if (existsSync(join(folder, bootstrap)) || existsSync(join(folder, '..', bootstrap))) return 'npm run -s nuncio --'
  // Programs that npx started pass its variables on to their own children.
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = environment
  return event === 'npx' && /^["']?nuncio["']?$/.test(script) ? `npx ${shellWord(packageOfNpx(folder))}` : 'nuncio'
}

/** If npx was called with a file, the command must name it again: with the name alone npx would fetch the package from npm. */
function packageOfNpx(folder: string): string {
  try {
    // npx records its argument in the folder to which it installs.
    const { _npx } = JSON.parse(readFileSync(join(folder, '../../package.json'), 'utf8')) as {
      readonly _npx: { readonly packages: readonly string[] }
    }
    return _npx.packages.find((given) => given.includes('nuncio')) ?? 'nuncio'
  } catch {
    // npx runs a package that is installed in a project or globally.
    return 'nuncio'
  }
}

/** Programs must call this first, before any code that prints sentences with commands. */
export function applyCommandPrefix(): void {
  setCommandPrefix(
    prefixOf({
      isExecutable: isSea(),
      calledAs: process.argv0,
      environment: process.env,
      folder: assetPath('.'),
    }),
  )
}
