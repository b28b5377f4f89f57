import { hash, randomBytes } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import { commandLine } from '../../core/command-line.ts'
import type { People } from '../../core/ports/console/people.ts'
import { Refusal } from '../../core/refusals.ts'

const SECRET_BYTES = 32

export interface SetupLink {
  /** Null at a quiet start, which makes none. */
  readonly url: string | null
  /** Null when it could not be written. */
  readonly file: string | null
}

interface SetupPlace {
  readonly dataDir: string
  readonly url: string
  readonly isQuiet: boolean
  /** The link could not be made. The next start makes one, and so does the command line. */
  readonly onError: (error: unknown) => void
}

/**
 * While there is no person, makes a link by which the first one comes in. It is printed at the start, and kept in a file that
 * only our user can read, for services whose output is not seen. The database keeps only its hash. Never rejects: a service on
 * a full disk, which cannot make the link, must still start (G11).
 */
export async function printSetupLink(
  people: Pick<People, 'hasPeople' | 'createPersonLink'>,
  place: SetupPlace,
): Promise<SetupLink | null> {
  try {
    return await makeSetupLink(people, place)
  } catch (error) {
    place.onError(error)
    return null
  }
}

async function makeSetupLink(
  people: Pick<People, 'hasPeople' | 'createPersonLink'>,
  { dataDir, url, isQuiet }: SetupPlace,
): Promise<SetupLink | null> {
  // Deleted first, because the rights of a file are set only when it is made.
  await deleteSetupLink(dataDir)
  if (await people.hasPeople()) return null
  if (isQuiet) return { url: null, file: null }
  const link = await createSetupLink(people, 'first start')
  if (link === null) return null
  const setupUrl = `${url}/console/set-up/${link}`
  const file = fileIn(dataDir)
  const isWritten = await writeFile(file, `${setupUrl}\n`, { mode: 0o600, flag: 'wx' }).then(
    () => true,
    () => false,
  )
  return { url: setupUrl, file: isWritten ? file : null }
}

/** Once it was used, or a new one is made. */
export async function deleteSetupLink(dataDir: string): Promise<void> {
  await rm(fileIn(dataDir), { force: true })
}

function fileIn(dataDir: string): string {
  return join(dataDir, 'setup-link')
}

export function warnOfSetupLink(logger: Logger, error: unknown): void {
  logger.warn(
    { err: error },
    `The link by which the first owner comes in could not be made: ${commandLine`user setup-link`}`,
  )
}

/** Null when another person has just become the first one. */
async function createSetupLink(people: Pick<People, 'createPersonLink'>, by: string): Promise<string | null> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const sha256 = hash('sha256', secret, 'buffer')
  try {
    await people.createPersonLink({ kind: 'set-up', sha256, personId: null, invitation: null }, by)
    return secret
  } catch (error) {
    if (error instanceof Refusal && error.code === 'people_exist') return null
    throw error
  }
}
