import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { memoryFolder } from '../postgres/memory-folder.ts'
import { OwnedFolder } from '../postgres/owned-folder.ts'

/**
 * Runs once, in the runner's main process. Creates the folder for the temporary files of tests that do not test a disk: most of
 * them write databases, and a flush to a real disk takes longer than the rest of the test. The folder goes with the run, however
 * that ends.
 */
export async function setup({ provide }: TestProject): Promise<() => Promise<void>> {
  const folder = OwnedFolder.open(memoryFolder())
  // The same owner as the folder that it replaces: some tests work as several users, who may not share files.
  chownSync(folder.path, process.getuid?.() ?? 0, process.getgid?.() ?? 0)
  chmodSync(folder.path, 0o1777)
  provide('temporaryFolder', mayRunPrograms(folder.path) ? folder.path : tmpdir())
  return () => folder.close()
}

/** Containers often forbid programs on their memory disk. */
function mayRunPrograms(folder: string): boolean {
  const probe = join(folder, 'probe')
  writeFileSync(probe, '#!/bin/sh\n', { mode: 0o700 })
  const { status } = spawnSync(probe)
  rmSync(probe)
  return status === 0
}

declare module 'vitest' {
  interface ProvidedContext {
    temporaryFolder: string
  }
}
