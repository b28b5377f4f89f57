import { globSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning } from '../black-box/test-folder.ts'
import { OwnedFolder } from './owned-folder.ts'

// The library for programs with threads. Debian puts it in a folder named after the machine's architecture.
const LIBRARIES = '/usr/lib/*/faketime/libfaketimeMT.so.1'
// Files that the library shares between a program and its children. Their names end with the id of the process that made them.
const SHARED = '/dev/shm/{faketime_shm_,sem.faketime_sem_}*'

/** Null where a clock can be moved; otherwise the reason, for the name of a skipped test. */
export function whyNoFaketime(): string | null {
  return globSync(LIBRARIES).length > 0 ? null : 'Debian package libfaketime is not installed'
}

/**
 * Programs that are started with its environment have a wall clock that can be moved while they run. Their monotonic clock and
 * their timers are not affected, as when a machine's clock is set.
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
      // Reads the file at every call. With its cache the library would notice a move late.
      FAKETIME_NO_CACHE: '1',
      DONT_FAKE_MONOTONIC: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      // The timestamps of files stay real.
      NO_FAKE_STAT: '1',
    }
  }

  static open(): MovableClock {
    const [library] = globSync(LIBRARIES)
    if (!library) throw new Error(`No clock can be moved: ${whyNoFaketime()}`)
    sweepShared()
    return new MovableClock(library)
  }

  /** Sets how far the clock is ahead of real time; negative: behind it. */
  moveTo(offsetMs: number): void {
    // Renamed into place, so that no process reads a half-written file.
    const aside = `${this.#file}.new`
    writeFileSync(aside, `${offsetMs < 0 ? '-' : '+'}${(Math.abs(offsetMs) / 1_000).toFixed(3)}`)
    renameSync(aside, this.#file)
  }

  /** Call it after the programs that use the clock have ended. */
  async close(): Promise<void> {
    await this.#folder.close()
    sweepShared()
  }
}

// A killed program leaves these files. A later program that happened to get its process id would not start.
function sweepShared(): void {
  for (const file of globSync(SHARED)) {
    const pid = Number(/\d+$/.exec(file)?.[0])
    try {
      if (!isRunning(pid)) rmSync(file, { force: true })
    } catch {
      // The file belongs to another user and does not disturb us.
    }
  }
}
