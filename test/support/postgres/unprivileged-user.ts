import { spawnSync } from 'node:child_process'

/** The user of a server that refuses to run as root. */
export interface UnprivilegedUser {
  readonly name: string
  readonly uid: number
  readonly gid: number
}

// The second exists on every system, so no user has to be added.
const CANDIDATES = ['postgres', 'nobody']

/** Null when we are not root: then the server runs as our own user. */
export function findUnprivilegedUser(): UnprivilegedUser | null {
  if (process.getuid?.() !== 0) return null
  for (const name of CANDIDATES) {
    const [uid, gid] = [ask('-u', name), ask('-g', name)]
    if (uid && gid) return { name, uid, gid }
  }
  throw new Error('PostgreSQL refuses to run as root, and this system has neither a user "postgres" nor "nobody".')
}

function ask(what: string, name: string): number {
  const { status, stdout } = spawnSync('id', [what, name], { encoding: 'utf8' })
  return status === 0 ? Number(stdout) : 0
}
