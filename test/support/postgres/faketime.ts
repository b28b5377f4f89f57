import { globSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning } from '../black-box/test-folder.ts'
import { OwnedFolder } from './owned-folder.ts'

// The variant for programs with threads. Debian puts it in a folder named after the machine's kind.
const LIBRARIES = '/usr/lib/*/faketime/libfaketimeMT.so.1'
// What the library shares between a program and its children, with the number of the process that made it.
const SHARED = '/dev/shm/{faketime_shm_,sem.faketime_sem_}*'

/** Null where a clock can be moved; otherwise why not, for the name of a skipped test. */
export function whyNoFaketime(): string | null {
  return globSync(LIBRARIES).length > 0 ? null : 'Debian package libfaketime is not installed'
}

/**
 * The wall clock of programs that are started with its environment, which can be moved while they run. Their monotonic
 * clock and their timers go on as if nothing had happened, as when a machine's clock is set.
 */
export class MovableClock {
  readonly environment: Readonly<Record<string, string>>
  readonly #folder: OwnedFolder
  readonly #file: string

  private constructor(library: string) {
    this.#folder = OwnedFolder.open()
    this.#file = join(this.#folder.path, 'offset')
    this.moveTo(0)
    this.environment = {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      // It reads the file at every question for the time: otherwise it would notice a move late.
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // The times of files stay true.
      NO_FAKE_STAT: '1',
    }
  }

  static open(): MovableClock {
    const [library] = globSync(LIBRARIES)
    if (!library) throw new Error(`No clock can be moved: ${whyNoFaketime()}`)
    sweepShared()
    return new MovableClock(library)
  }

  /** From now on the clock is this far from the true time: ahead of it, or behind when negative. */
  moveTo(offsetMs: number): void {
    // Renamed into place, so that no process ever reads half of it.
    const aside = `${this.#file}.new`
    writeFileSync(aside, `${offsetMs < 0 ? '-' : '+'}${(Math.abs(offsetMs) / 1_000).toFixed(3)}`)
    renameSync(aside, this.#file)
  }

  /** When the programs that use it have ended. */
  async close(): Promise<void> {
    await this.#folder.close()
    sweepShared()
  }
}

// A program that is killed leaves them, and the next one that happens to get its number would not start.
function sweepShared(): void {
  for (const file of globSync(SHARED)) {
    const pid = Number(/\d+$/.exec(file)?.[0])
    try {
      if (!isRunning(pid)) rmSync(file, { force: true })
    } catch {
      // Another user's: in their way, not in ours.
    }
  }
}
