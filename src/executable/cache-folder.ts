import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join } from 'node:path'
import { CannotUnpack } from './cannot-unpack.ts'

const WRITABLE_BY_OTHERS = 0o022
// In such a folder users can remove and rename only what is their own.
const STICKY = 0o1000

/** The folder into which the program is unpacked. Made if missing; it belongs to this user, and no other may write to it. */
export function openCacheFolder(): string {
  const named = process.env['XDG_CACHE_HOME'] ?? ''
  // The rule of XDG: a path that is not absolute counts as not set.
  if (isAbsolute(named)) return openFolder(join(named, 'nuncio'))
  return openInHome() ?? openFolder(join(tmpdir(), `nuncio-${process.geteuid?.() ?? 'cache'}`))
}

/** Null if this user has no home folder or may not write there, as often for services. */
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
 * Makes missing folders from the top down, and checks each before it makes anything in it: a folder made inside one of another
 * user would be closed to that user. Returns the path without links, because a link could be changed later.
 */
function makeFolder(wanted: string): string {
  const above = dirname(wanted)
  const folder = join(existsSync(above) ? checkedAbove(realpathSync(above)) : makeFolder(above), basename(wanted))
  // Recursive, so that an existing folder is no error: another start may have made it.
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  refuseForeign(folder)
  return folder
}

/** Explains an error of Node about writing below a folder. */
export function cannotWrite(folder: string, error: unknown): CannotUnpack {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
  const remedy = ['ENOSPC', 'EDQUOT'].includes(code)
    ? 'Free 20 MB there, or name a folder on another disk with XDG_CACHE_HOME.'
    : 'Make it writable for this user, or name another folder with XDG_CACHE_HOME.'
  return new CannotUnpack(`The program unpacks itself into ${folder}, and cannot write there (${code}). ${remedy}`)
}

/** A user who can change the folder, or one above it, could make this user run another program. */
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
