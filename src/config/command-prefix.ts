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

/** What a person types before the words of a command: what stands in a clone is no command elsewhere, and the other way round. */
export function prefixOf({ isExecutable, calledAs, environment, folder }: HowStarted): string {
  if (isExecutable) return shellWord(calledAs)
  const bootstrap = 'scripts/bootstrap.mjs'
  // The second is of a build, which lies in a folder of the clone.
  if (existsSync(join(folder, bootstrap)) || existsSync(join(folder, '..', bootstrap))) return 'npm run -s nuncio --'
  // What npx runs starts programs of its own, which inherit its variables.
  const { npm_lifecycle_event: event, npm_lifecycle_script: script = '' } = environment
  return event === 'npx' && /^["']?nuncio["']?$/.test(script) ? `npx ${shellWord(packageOfNpx(folder))}` : 'nuncio'
}

/** Given a file, npx must be given it again: by the name alone it would fetch what stands under that name on npm. */
function packageOfNpx(folder: string): string {
  try {
    // It notes what it was given in the folder that it installs to.
    const { _npx } = JSON.parse(readFileSync(join(folder, '../../package.json'), 'utf8')) as {
      readonly _npx: { readonly packages: readonly string[] }
    }
    return _npx.packages.find((given) => given.includes('nuncio')) ?? 'nuncio'
  } catch {
    // It runs what is installed in a project, or for the whole machine.
    return 'nuncio'
  }
}

/** For programs that begin to run, before whatever has sentences with commands in it. */
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
