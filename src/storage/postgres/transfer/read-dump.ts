import { spawn } from 'node:child_process'
import { Refusal } from '../../../core/refusals.ts'
import { type ChildEnvironment, ended, programVersion, refuseOlder, textOf } from './programs.ts'

interface DumpToRead {
  readonly dump: string
  /** The version of pg_dump. */
  readonly dumpedBy: string
  readonly childEnvironment: ChildEnvironment
}

/** Unpacks a dump and discards the result. Refuses with `backup_unusable` when it cannot be read to its end. */
export async function readDump({ dump, dumpedBy, childEnvironment }: DumpToRead): Promise<void> {
  refuseOlder('pg_restore', await programVersion('pg_restore', childEnvironment), dumpedBy)
  const child = spawn('pg_restore', ['--file=/dev/null', dump], {
    env: childEnvironment({}),
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const words = textOf(child)
  if ((await ended(child, 'pg_restore')) === 0) return
  throw new Refusal('backup_unusable', `${dump} cannot be read: ${words()} Take another backup.`)
}
