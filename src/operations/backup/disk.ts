import { createHash } from 'node:crypto'
import { type FileHandle, open, statfs } from 'node:fs/promises'
import { Refusal } from '../../core/refusals.ts'
import { explainErrno } from '../../core/system-errors.ts'
import { bytesText } from '../../format/bytes.ts'

const PIECE_BYTES = 1024 * 1024

interface Streamed {
  readonly bytes: number
  readonly sha256: string
}

/** Reads a whole file, a piece at a time. */
export async function digestFile(path: string, onBytes: (bytes: number) => void): Promise<Streamed> {
  const from = await open(path, 'r')
  try {
    return await stream(from, null, onBytes)
  } finally {
    await from.close()
  }
}

/** Copies a file to a new path, readable by us alone, and flushes it. Returns what was written. */
export async function copyFile(from: string, to: string, onBytes: (bytes: number) => void): Promise<Streamed> {
  const source = await open(from, 'r')
  try {
    const target = await open(to, 'wx', 0o600)
    try {
      const streamed = await stream(source, target, onBytes)
      await target.sync()
      return streamed
    } finally {
      await target.close()
    }
  } finally {
    await source.close()
  }
}

async function stream(from: FileHandle, to: FileHandle | null, onBytes: (bytes: number) => void): Promise<Streamed> {
  const digest = createHash('sha256')
  const piece = Buffer.allocUnsafe(PIECE_BYTES)
  let bytes = 0
  for (;;) {
    const { bytesRead } = await from.read(piece, 0, PIECE_BYTES, null)
    if (bytesRead === 0) return { bytes, sha256: digest.digest('hex') }
    const read = piece.subarray(0, bytesRead)
    digest.update(read)
    if (to) await to.writeFile(read)
    bytes += bytesRead
    onBytes(bytes)
  }
}

/** Flushes a file or a folder. What was written in it, or the names in it, then survive a power cut. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Refuses with `no_room` if this would fill the disk, because a service may need it, too. */
export async function refuseTooLarge(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const free = bavail * bsize
  // Some room is left for other programs that write there meanwhile.
  const needed = Math.ceil(bytes * 1.05) + 16 * PIECE_BYTES
  if (free >= needed) return
  throw new Refusal(
    'no_room',
    `The disk of ${folder} has ${bytesText(free)} free, and ${bytesText(needed)} are needed. Make room there, or name another disk.`,
  )
}

/** Turns an error of the system about a file into a sentence. Refusals and faults pass unchanged. */
export function translateDiskError(error: unknown, what: string): unknown {
  if (error instanceof Refusal || !(error instanceof Error) || !('code' in error)) return error
  const code = String(error.code)
  if (!/^E[A-Z]+$/.test(code)) return error
  const path = 'path' in error && typeof error.path === 'string' ? error.path : null
  const why =
    explainErrno(code, path ?? 'the backup') ??
    `${error.message.replace(/^E[A-Z]+: /, '')} (${code}). Check the folder and its permissions.`
  return new Refusal('file_unusable', `${what}: ${why}`, null, { cause: error })
}
