import { lstatSync, mkdirSync } from 'node:fs'
import module from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const WRITABLE_BY_OTHERS = 0o022

/**
 * Halves the time of a short command: otherwise most of it goes into compiling the same files again. Node's own place for
 * compiled code belongs to whichever user of the machine makes it first, who could leave other code there for us to run.
 * Without a folder that only this user can write, nothing is kept.
 */
export function enableCompileCache() {
  const user = process.geteuid?.()
  if (user === undefined) return void module.enableCompileCache()
  const folder = join(tmpdir(), `nuncio-compile-cache-${user}`)
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch {
    // It is there, or cannot be made.
  }
  const stats = lstatSync(folder, { throwIfNoEntry: false })
  if (stats?.isDirectory() && stats.uid === user && (stats.mode & WRITABLE_BY_OTHERS) === 0)
    module.enableCompileCache(folder)
}
