import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const FLUSHES = 40
const PAGE_BYTES = 4_096

export interface FlushTimes {
  readonly medianMs: number
  readonly slowestMs: number
}

/** Writes a page into a small file in this folder again and again, has each flushed to the disk, and removes the file. */
export function measureFlush(folder: string): FlushTimes {
  const path = join(folder, `.nuncio-doctor-${process.pid}`)
  const file = openSync(path, 'wx', 0o600)
  try {
    // Laid out once, so that what follows flushes data and no new lengths, as a log does that is written over.
    writeSync(file, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, 0)
    fdatasyncSync(file)
    const times = Array.from({ length: FLUSHES }, (_, index) => {
      writeSync(file, Buffer.alloc(PAGE_BYTES, index + 1), 0, PAGE_BYTES, 0)
      const before = performance.now()
      fdatasyncSync(file)
      return performance.now() - before
    }).toSorted((a, b) => a - b)
    return { medianMs: times[FLUSHES / 2] ?? 0, slowestMs: times.at(-1) ?? 0 }
  } finally {
    closeSync(file)
    rmSync(path, { force: true })
  }
}
