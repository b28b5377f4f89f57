import { accessSync, constants, lstatSync, type Stats, statSync } from 'node:fs'
import { shellWord } from '../../../core/command-line.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'
import { nearestFolder } from '../machine/nearest-folder.ts'

/** What a mode grants to the group and to all other users. */
const OTHERS = 0o077

/** What was seen of the folder. */
interface FolderFacts {
  readonly path: string
  /** Null when it is not there. */
  readonly found: (Pick<Stats, 'uid' | 'mode'> & { readonly isDirectory: boolean }) | null
  /** Whether we may read, write and enter it; if it is not there, the folder in which it would be made. */
  readonly mayUse: boolean
  readonly ownUid: number
  readonly above: string
}

export async function checkDataFolder({ dataDir }: Examination): Promise<CheckResult> {
  if (dataDir === null) return skipped('NUNCIO_DATA_DIR is wrong, so there is no folder to check.')
  return assessFolder(readFolder(dataDir))
}

/** Pure. */
export function assessFolder({ path, found, mayUse, ownUid, above }: FolderFacts): CheckResult {
  const facts = { path, owner: found?.uid ?? null, mode: found ? (found.mode & 0o777).toString(8) : null }
  if (!found) {
    if (mayUse) return ok(`${path} is not there yet; the first start makes it.`, facts)
    return problem(
      `${path} is not there, and this user may not make it in ${above}.`,
      `Make it for the user that runs Nuncio: install -d -m 700 -o USER ${shellWord(path)}`,
      facts,
    )
  }
  if (!found.isDirectory) return problem(`${path} is not a folder.`, 'Set NUNCIO_DATA_DIR to a folder.', facts)
  if (!mayUse)
    return problem(
      `This user (${ownUid}) may not write to ${path}, which belongs to the user ${found.uid}.`,
      'Run the doctor as the user that runs Nuncio; if that is this one, give it the folder with chown.',
      facts,
    )
  if (ownUid === 0 && found.uid !== 0)
    return warning(
      `${path} belongs to the user ${found.uid}, and this is root: the service may be unable to read what root writes there.`,
      'Run commands as the user that runs Nuncio.',
      facts,
    )
  if ((found.mode & OTHERS) !== 0)
    return warning(
      `Other users of this machine may read ${path}, which holds texts and numbers of messages.`,
      `Close it to them: chmod 700 ${shellWord(path)}`,
      facts,
    )
  return ok(`${path} is this user’s own, and no other user may read it.`, facts)
}

function readFolder(path: string): FolderFacts {
  const above = nearestFolder(path)
  // Windows has no numeric user ids.
  const ownUid = process.geteuid?.() ?? -1
  return { path, found: statOf(path), mayUse: mayUse(above), ownUid, above }
}

function statOf(path: string): FolderFacts['found'] {
  try {
    lstatSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
  const stats = statSync(path)
  return { uid: stats.uid, mode: stats.mode, isDirectory: stats.isDirectory() }
}

function mayUse(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}
