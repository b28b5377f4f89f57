import { randomUUID } from 'node:crypto'
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopBecauseOf } from './report.mjs'

const CHECK_EVERY_MS = 200
const SIGN_OF_LIFE_EVERY_MS = 1_000
// For an owner on another machine, and for a process id that another program has got meanwhile: nothing else shows that the owner
// is gone. Sixty signs may be lost before a healthy owner loses its lock.
const SILENT_FOR_MS = 60_000

/**
 * Allows one installation at a time in this folder. Waits for an earlier owner, and removes the lock of a dead one.
 *
 * The lock is a folder that holds one file, named after its owner. It is made aside and renamed into place: renaming
 * fails while a folder with a file in it is there, so two can never both succeed. Sweeping removes the dead owner's
 * file by name, so it cannot hit an owner who came in between.
 *
 * It cannot stand in node_modules, which `npm ci` empties first.
 */
export async function takeLock(folder) {
  const owner = randomUUID()
  try {
    let watched
    while (!tryToTake(folder, owner)) {
      const other = ownerOf(folder)
      if (other) {
        const isNew = watched?.name !== other.name
        watched = watch(watched, other)
        if (isDead(watched)) removeOwner(folder, other.name)
        else if (isNew) announce(watched)
      }
      await sleep(CHECK_EVERY_MS)
    }
  } catch (error) {
    throw stopBecauseOf(error, dirname(folder))
  }
  return hold(folder, owner)
}

function hold(folder, owner) {
  const file = join(folder, owner)
  const signs = setInterval(() => giveSign(file), SIGN_OF_LIFE_EVERY_MS)
  return {
    /** The lock also stays while this process lives: npm continues if only its parent was killed. */
    include: (pid) => appendFileSync(file, `${pid}\n`),
    release() {
      clearInterval(signs)
      removeOwner(folder, owner)
    },
  }
}

function tryToTake(folder, owner) {
  const aside = `${folder}-${owner}`
  mkdirSync(aside)
  try {
    writeFileSync(join(aside, owner), `${machine()}\n${process.pid}\n`)
    // Windows does not rename over a folder, not even over an empty one.
    removeIfEmpty(folder)
    renameSync(aside, folder)
    return true
  } catch (error) {
    rmSync(aside, { recursive: true, force: true })
    const isTaken = ['ENOTEMPTY', 'EEXIST'].includes(error.code)
    if (isTaken || (process.platform === 'win32' && error.code === 'EPERM')) return false
    throw error
  }
}

function ownerOf(folder) {
  try {
    const [name] = readdirSync(folder)
    if (!name) return undefined
    const [where, ...pids] = readFileSync(join(folder, name), 'utf8').trim().split('\n')
    return { name, where, pids: pids.map(Number), lastSign: statSync(join(folder, name)).mtimeMs }
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Follows the signs of one owner with our own clock: another machine's may differ, and ours may have been set. */
function watch(watched, other) {
  const isSilent = watched?.name === other.name && watched.lastSign === other.lastSign
  return { ...other, heardAt: isSilent ? watched.heardAt : performance.now() }
}

function announce({ pids }) {
  process.stderr.write(`setup: waiting for another start that is installing (process ${pids[0]})\n`)
}

function isDead({ where, pids, heardAt }) {
  const isGone = where === machine() && !pids.some(isRunning)
  return isGone || performance.now() - heardAt > SILENT_FOR_MS
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return !isZombie(pid)
  } catch (error) {
    return error.code !== 'ESRCH'
  }
}

// In a container without an init process, dead orphans are never cleared away.
function isZombie(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

// Two containers may share the host's name and this folder, but not their process ids.
function machine() {
  try {
    return `${hostname()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

function giveSign(file) {
  try {
    utimesSync(file, new Date(), new Date())
  } catch {
    // Removed as dead, for example because the machine slept for long. The work is nearly done; the next start checks it.
  }
}

function removeOwner(folder, owner) {
  rmSync(join(folder, owner), { force: true })
  removeIfEmpty(folder)
}

function removeIfEmpty(folder) {
  try {
    rmdirSync(folder)
  } catch {
    // It holds another owner's file by now, or another process was faster.
  }
}
