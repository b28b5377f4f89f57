import { execFileSync } from 'node:child_process'
import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const CHUNK = Buffer.alloc(64 * 1024)

/** A disk that is small enough to fill quickly. */
export class SmallDisk {
  readonly path: string

  constructor(workDir: string, sizeMb: number) {
    this.path = join(workDir, 'small')
    mkdirSync(this.path)
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMb}m`, 'none', this.path])
  }

  /** Takes all free room except `leftBytes`. A further call also takes what others have freed since. */
  fill(leftBytes = 0): void {
    const filler = openSync(this.#filler, 'a')
    try {
      for (let size = CHUNK.length; size > 0; ) {
        try {
          writeSync(filler, CHUNK, 0, size)
        } catch (error) {
          if (!(error instanceof Error && 'code' in error && error.code === 'ENOSPC')) throw error
          // Fills the rest with smaller and smaller pieces.
          size = Math.floor(size / 2)
        }
      }
      if (leftBytes > 0) ftruncateSync(filler, Math.max(0, fstatSync(filler).size - leftBytes))
    } finally {
      closeSync(filler)
    }
  }

  makeRoom(): void {
    rmSync(this.#filler, { force: true })
  }

  get #filler(): string {
    return join(this.path, 'filler')
  }
}
