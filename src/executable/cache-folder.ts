import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { CannotUnpack } from './cannot-unpack.ts'

const WRITABLE_BY_OTHERS = 0o022
// In such a folder users can remove and rename only what is their own.
const STICKY = 0o1000

/** The folder that the program is unpacked into, made if it is not there: of this user, and writable by no other. */
export function openCacheFolder(): string {
  const named = process.env['XDG_CACHE_HOME'] ?? ''
  // The rule of XDG: other paths than absolute ones count as not set.
  const wanted = isAbsolute(named) ? makeFolder(join(named, 'nuncio')) : (homeCache() ?? makeFolder(temporaryCache()))
  // From here on by the path without links: a link could be changed later.
  const folder = join(realpathSync(dirname(wanted)), basename(wanted))
  if (process.geteuid) refuseForeign(folder, process.geteuid())
  return folder
}

/** Null where this user has no folder, or may not write there: services often have none. */
function homeCache(): string | null {
  try {
    const folder = join(homedir(), '.cache', 'nuncio')
    refuseForeignAbove(folder)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return isAbsolute(folder) ? folder : null
  } catch (error) {
    if (error instanceof CannotUnpack) throw error
    return null
  }
}

function temporaryCache(): string {
  return join(tmpdir(), `nuncio-${process.geteuid?.() ?? 'cache'}`)
}

function makeFolder(folder: string): string {
  refuseForeignAbove(folder)
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  } catch (error) {
    throw cannotWrite(folder, error)
  }
}

/** For what Node says when something could not be written below a folder. */
export function cannotWrite(folder: string, error: unknown): CannotUnpack {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  const mend = ['ENOSPC', 'EDQUOT'].includes(code)
    ? 'Free 20 MB there, or name a folder on another disk with XDG_CACHE_HOME.'
    : 'Make it writable for this user, or name another folder with XDG_CACHE_HOME.'
  return new CannotUnpack(`The program unpacks itself into ${folder}, and cannot write there (${code}). ${mend}`)
}

/** Whoever can change the folder, or a folder above it, could have this user run another program. */
function refuseForeign(folder: string, user: number): void {
  const own = lstatSync(folder)
  if (!own.isDirectory()) throw new CannotUnpack(`${folder} is not a folder. Remove it, and start again.`)
  if (own.uid !== user) throw belongsToAnother(folder)
  if (own.mode & WRITABLE_BY_OTHERS) throw writableByOthers(folder)
  refuseForeignAbove(folder)
}

/** Before anything is made in it: what is made for another user would be closed to them. */
function refuseForeignAbove(folder: string): void {
  const user = process.geteuid?.()
  if (user === undefined) return
  const above = foldersAbove(folder)
  // Inside of a container with users of its own, root may have another number.
  const root = lstatSync(above.at(-1) ?? folder).uid
  for (const path of above) {
    const { uid, mode } = lstatSync(path)
    if (uid !== user && uid !== root) throw belongsToAnother(path)
    if (mode & WRITABLE_BY_OTHERS && !(mode & STICKY)) throw writableByOthers(path)
  }
}

/** Those that are there, from the nearest to the root, by their paths without links. */
function foldersAbove(folder: string): readonly string[] {
  const above = dirname(folder)
  if (above === folder) return []
  return existsSync(above) ? withThoseAbove(realpathSync(above)) : foldersAbove(above)
}

function withThoseAbove(folder: string): readonly string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...withThoseAbove(above)]
}

function belongsToAnother(folder: string): CannotUnpack {
  return new CannotUnpack(
    `${folder} belongs to another user, who could exchange the program there. Name a folder of your own with XDG_CACHE_HOME.`,
  )
}

function writableByOthers(folder: string): CannotUnpack {
  return new CannotUnpack(
    `Other users may write to ${folder}, and could exchange the program there. Run \`chmod go-w ${folder}\`, or name another folder with XDG_CACHE_HOME.`,
  )
}
