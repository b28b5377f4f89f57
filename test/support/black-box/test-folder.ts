import {
  appendFileSync,
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PREFIX = 'nuncio-fault-'

/** A folder of its own for one run, with the processes that work in it. */
export interface TestFolder {
  readonly path: string
  /** Records a process, so that a later run can end it if this run is killed. */
  remember(pid: number): void
  remove(): void
}

/** Creates the folder, and first removes what killed runs have left. */
export function openTestFolder(): TestFolder {
  sweepLeftovers()
  const path = mkdtempSync(join(tmpdir(), PREFIX))
  // When we are root, PostgreSQL works in this folder as another user.
  chmodSync(path, 0o755)
  writeFileSync(join(path, 'namespace'), namespace())
  writeFileSync(join(path, 'owner'), `${process.pid}\n`)
  return {
    path,
    remember: (pid) => appendFileSync(join(path, 'processes'), `${pid}\n`),
    remove: () => rmSync(path, { recursive: true, force: true }),
  }
}

function sweepLeftovers(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith(PREFIX)) continue
    const path = join(tmpdir(), name)
    const [owner] = readPids(join(path, 'owner'))
    // A folder without a readable owner is just being created.
    if (owner === undefined || isRunning(owner) || isOfOtherNamespace(path)) continue
    for (const pid of readPids(join(path, 'processes'))) if (worksIn(pid, path)) process.kill(pid, 'SIGKILL')
    removeOurs(path)
  }
}

// Runs in other process namespaces share the parent folder, and each takes the others' owners for dead.
function isOfOtherNamespace(path: string): boolean {
  try {
    return readFileSync(join(path, 'namespace'), 'utf8') !== namespace()
  } catch {
    // The folder is just being created.
    return false
  }
}

function namespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function readPids(file: string): number[] {
  try {
    return readFileSync(file, 'utf8').trim().split('\n').map(Number)
  } catch {
    return []
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

function removeOurs(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // It belongs to another user, whose next run removes it.
  }
}

// The number may belong to another program by now. Only a process that was started for this folder may be ended.
function worksIn(pid: number, path: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`NUNCIO_DATA_DIR=${path}`)
  } catch {
    return false
  }
}
