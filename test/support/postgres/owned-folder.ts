import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isRunning } from '../black-box/test-folder.ts'
import { findUnprivilegedUser } from './unprivileged-user.ts'

const PREFIX = 'nuncio-owned-'
const ENDING = fileURLToPath(new URL('end-owned-folder.sh', import.meta.url))

/**
 * A temporary folder for servers that must not outlive this process. A process that has written its id to a file `*.pid` in the
 * folder, and whose command line names the folder, is ended with it.
 *
 * - On close.
 * - When this process ends without closing, even by SIGKILL: a small shell waits for that at the end of a pipe.
 * - When the shell was killed as well: by the next process that opens such a folder.
 *
 * Every user may enter the folder. When we are root, it belongs to the user of servers that refuse to run as root.
 */
export class OwnedFolder {
  readonly path: string
  readonly #guard: ChildProcess

  private constructor(parent: string) {
    this.path = mkdtempSync(join(parent, PREFIX))
    chmodSync(this.path, 0o755)
    // The server writes its process id here by itself, so its user owns the folder.
    const user = findUnprivilegedUser()
    if (user) chownSync(this.path, user.uid, user.gid)
    writeFileSync(join(this.path, 'owner'), `${machine()}\n${process.pid}\n`)
    // In its own process group: Ctrl-C in a terminal ends a whole group, and the guard must outlive the others.
    this.#guard = spawn('sh', [ENDING, this.path], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], cwd: '/' })
    writeFileSync(join(this.path, 'guard'), `${this.#guard.pid}\n`)
    this.#guard.unref()
  }

  static open(parent = tmpdir()): OwnedFolder {
    sweepLeftovers(parent)
    return new OwnedFolder(parent)
  }

  /** Closing twice is harmless. */
  async close(): Promise<void> {
    if (this.#guard.exitCode !== null || this.#guard.signalCode !== null) return end(this.path)
    this.#guard.ref()
    const gone = once(this.#guard, 'exit')
    this.#guard.stdin?.end()
    await gone
  }
}

function sweepLeftovers(parent: string): void {
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(parent, name)
    if (isAbandoned(path)) end(path)
  }
}

function end(path: string): void {
  spawnSync('sh', [ENDING, path], { stdio: 'ignore', cwd: '/' })
}

function isAbandoned(path: string): boolean {
  try {
    const [where, pid] = readFileSync(join(path, 'owner'), 'utf8').trim().split('\n')
    return where === machine() && !isRunning(Number(pid))
  } catch {
    // The folder is just being created or removed.
    return false
  }
}

// Process ids are valid only in their namespace. Containers, and fault tests in process namespaces of their own, share this
// folder and take each other's owners for dead.
function machine(): string {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}
