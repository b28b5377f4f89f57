import { commandLine } from './command-line.ts'
import { StorageUnavailable } from './ports/lanes.ts'
import { Refusal } from './refusals.ts'

/** What the system says of an error; Node puts these beside its message. */
interface SystemError extends Error {
  readonly code: string
  readonly path?: string
}

// By errno: what is wrong, and what to do. `place` is the file or the folder.
const OF_FILES: Readonly<Record<string, (place: string) => string>> = {
  ENOSPC: (place) => `There is no room left on the disk of ${place}. Make room and try again.`,
  EDQUOT: (place) => `This user may keep no more on the disk of ${place}. Raise the quota or make room, and try again.`,
  EROFS: (place) => `The disk of ${place} is mounted read-only. Mount it so that it can be written.`,
  EIO: (place) => `The disk of ${place} reported an error. Have the disk checked before you try again.`,
  EACCES: (place) =>
    `This user may not use ${place}. Run it as the user that runs Nuncio; if that is this one, give it the right with chown or chmod.`,
  EPERM: (place) =>
    `The system allows this user nothing at ${place}. Run it as the user that runs Nuncio, or find out what forbids it (chattr, SELinux, a container).`,
  ENOENT: (place) => `${place} is not there. Make it, or correct the setting that names it.`,
  ENOTDIR: (place) =>
    `${place} cannot be there, because a part of this path is not a folder. Correct the setting that names it.`,
  EISDIR: (place) => `${place} is a folder, and must be a file. Move it away, or correct the setting that names it.`,
  EEXIST: (place) => `${place} is there already and is in the way. Move it away and try again.`,
  ENAMETOOLONG: (place) => `The path ${place} is too long for this disk. Choose a shorter one.`,
  ELOOP: (place) => `The links that lead to ${place} go round in a circle. Correct them.`,
  EBUSY: (place) => `${place} is in use by the system or another program. Try again in a moment.`,
  ESTALE: (place) => `The share of ${place} was mounted anew on its server. Mount it again here.`,
}

// These are about no place, or about any.
const OF_ALL: Readonly<Record<string, string>> = {
  EMFILE:
    'This process has as many files and connections open as it may. Raise the limit: ulimit -n, or LimitNOFILE of systemd.',
  ENFILE: 'This machine has as many files open as it can. Raise fs.file-max, or end what holds so many.',
  ENOMEM: 'This machine has no memory left. End something else, or give it more.',
  EAGAIN: 'This user may have no more processes or threads. Raise the limit: ulimit -u, or TasksMax of systemd.',
}

/** Errnos of disks that no process can write to. */
export const OF_DISKS: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO'])

const OF_LISTENING: Readonly<Record<string, (host: string, port: string) => string>> = {
  EADDRINUSE: (host, port) => `Another program listens on ${host}:${port} already. Set NUNCIO_PORT to another port.`,
  EACCES: (_, port) =>
    `This user may not listen on port ${port}: those below 1024 are the system’s. Set NUNCIO_PORT to 1024 or more, or give the right (AmbientCapabilities=CAP_NET_BIND_SERVICE of systemd).`,
  EADDRNOTAVAIL: (host) =>
    `This machine has no address ${host}. Set NUNCIO_HOST to one that it has (ip address shows them), or to 0.0.0.0 for all.`,
  EAFNOSUPPORT: (host) => `This machine cannot use addresses such as ${host}. Set NUNCIO_HOST to 127.0.0.1 or 0.0.0.0.`,
  EINVAL: (host, port) => `Nothing can listen on ${host}:${port}. Correct NUNCIO_HOST and NUNCIO_PORT.`,
  ENOTFOUND: (host) =>
    `The name ${host} is not known. Set NUNCIO_HOST to an address of this machine, or to a name of it.`,
  EAI_AGAIN: (host) =>
    `The name ${host} could not be looked up. Set NUNCIO_HOST to an address of this machine, or repair the name service.`,
}

/**
 * Turns an error of the system about a file or a folder into a refusal that says what to do. A refusal stays as it is. Null for
 * everything else: that is a fault of ours.
 */
export function refusalOfSystem(error: unknown): Refusal | null {
  if (error instanceof Refusal) return error
  if (error instanceof StorageUnavailable) {
    const sentence = `Nothing can be written to the database: ${error.message}. Make room or repair it, and try again; ${commandLine`doctor`} shows what is wrong.`
    return new Refusal('database_unavailable', sentence, null, { cause: error })
  }
  if (!isSystemError(error)) return null
  // What is written to an open file names no path.
  const { code, path = OF_DISKS.has(code) ? 'the data' : null } = error
  const sentence = path === null ? (OF_ALL[code] ?? null) : explainErrno(code, path)
  return sentence === null ? null : new Refusal('file_unusable', sentence, null, { cause: error })
}

/** What is wrong with a file or a folder, and what to do. Null for an errno that is not about one. */
export function explainErrno(code: string, place: string): string | null {
  return OF_ALL[code] ?? OF_FILES[code]?.(place) ?? null
}

/** The same of an address to listen on. */
export function refusalOfListening(error: unknown, { host, port }: ListenAt): Refusal | null {
  if (!isSystemError(error)) return null
  const sentence = OF_LISTENING[error.code]?.(host, String(port))
  if (sentence === undefined) return refusalOfSystem(error)
  const isInUse = error.code === 'EADDRINUSE'
  const setting = isInUse || error.code === 'EACCES' ? 'NUNCIO_PORT' : 'NUNCIO_HOST'
  return new Refusal(isInUse ? 'address_in_use' : 'address_unusable', sentence, setting, { cause: error })
}

interface ListenAt {
  readonly host: string
  readonly port: number
}

function isSystemError(error: unknown): error is SystemError {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && /^E[A-Z_]+$/.test(error.code)
}
