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
  if (isAbsolute(named)) return openFolder(join(named, 'nuncio'))
  return openInHome() ?? openFolder(join(tmpdir(), `nuncio-${process.geteuid?.() ?? 'cache'}`))
}

/** Null where this user has no folder, or may not write there: services often have none. */
function openInHome(): string | null {
  try {
    return isAbsolute(homedir()) ? makeFolder(join(homedir(), '.cache', 'nuncio')) : null
  } catch (error) {
    if (error instanceof CannotUnpack) throw error
    return null
  }
}

function openFolder(folder: string): string {
  try {
    return makeFolder(folder)
  } catch (error) {
    throw error instanceof CannotUnpack ? error : cannotWrite(folder, error)
  }
}

/**
 * Makes what is missing from above to below, and checks each folder before anything is made in it: what is made for another
 * user would be closed to them. Returns the path without links, because a link could be changed later.
 */
function makeFolder(wanted: string): string {
  const above = dirname(wanted)
  const folder = join(existsSync(above) ? checkedAbove(realpathSync(above)) : makeFolder(above), basename(wanted))
  // Recursive, so that it may be there: another start may have been faster.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  refuseForeign(folder)
  return folder
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
function refuseForeign(folder: string): void {
  const user = process.geteuid?.()
  if (user === undefined) return
  const own = lstatSync(folder)
  if (!own.isDirectory()) throw new CannotUnpack(`${folder} is not a folder. Remove it, and start again.`)
  if (own.uid !== user) throw belongsToAnother(folder)
  if (own.mode & WRITABLE_BY_OTHERS) throw writableByOthers(folder)
}

/** The same folder, when neither it nor one above it can be changed by another user but root. */
function checkedAbove(folder: string): string {
  const user = process.geteuid?.()
  if (user === undefined) return folder
  const all = withThoseAbove(folder)
  // Inside of a container with users of its own, root may have another number.
  const root = lstatSync(all.at(-1) ?? folder).uid
  for (const path of all) {
    const { uid, mode } = lstatSync(path)
    if (uid !== user && uid !== root) throw belongsToAnother(path)
    if (mode & WRITABLE_BY_OTHERS && !(mode & STICKY)) throw writableByOthers(path)
  }
  return folder
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
