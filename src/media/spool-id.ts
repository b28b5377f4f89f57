import { randomUUID } from 'node:crypto'
import { constants, copyFile, link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { SpoolId } from '../core/ids.ts'
import { SpoolUnavailable } from '../core/ports/media.ts'

const FILE = 'spool-id'
const ID = /^spool-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\n$/
// Another process can see a half-written file only on file systems without hard links, and then only for an instant.
const READ_TRIES = 20
const READ_AGAIN_AFTER_MS = 50

/**
 * The id of the spool in a folder. The first process makes it, and all get the same one, even if several start at once. By
 * it a storage that several machines share knows which of them can read a file.
 */
export async function openSpoolId(folder: string): Promise<SpoolId> {
  try {
    return (await read(folder)) ?? (await make(folder))
  } catch (cause) {
    if (cause instanceof SpoolUnavailable) throw cause
    const { code } = cause as NodeJS.ErrnoException
    throw new SpoolUnavailable(`The media spool ${folder} cannot be used (${code ?? 'unknown error'}).`, { cause })
  }
}

async function make(folder: string): Promise<SpoolId> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const own = join(folder, `${FILE}.${randomUUID()}`)
  try {
    await writeWhole(own, `spool-${randomUUID()}\n`)
    await publish(own, join(folder, FILE))
    await syncFolder(folder)
  } finally {
    await rm(own, { force: true })
  }
  const id = await read(folder)
  if (id === null) throw new SpoolUnavailable(`Another program removes files from the media spool ${folder}.`)
  return id
}

/** Null when there is none. */
async function read(folder: string): Promise<SpoolId | null> {
  const path = join(folder, FILE)
  try {
    for (let tries = 0; tries < READ_TRIES; tries++) {
      const text = await readFile(path, 'utf8')
      if (ID.test(text)) return text.trimEnd() as SpoolId
      await pause(READ_AGAIN_AFTER_MS)
    }
  } catch (error) {
    if (isError(error, 'ENOENT')) return null
    throw error
  }
  throw new SpoolUnavailable(`${path} is damaged. Remove it: a new one is made at the next start.`)
}

/** Gives the file its name unless another file has it. A hard link appears atomically and never replaces a file. */
async function publish(own: string, name: string): Promise<void> {
  try {
    await link(own, name).catch((error: unknown) => {
      if (isError(error, 'EEXIST')) throw error
      return copyFile(own, name, constants.COPYFILE_EXCL)
    })
  } catch (error) {
    if (!isError(error, 'EEXIST')) throw error
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function isError(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code
}
