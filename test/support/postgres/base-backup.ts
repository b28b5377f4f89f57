import { chown, constants, copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import type { UnprivilegedUser } from './unprivileged-user.ts'

// Left out of the copy, as the manual says ("Making a base backup using the low level API"): the new server creates these.
const MADE_ANEW = ['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots', 'pg_subtrans']
const LEFT_OUT = /^(?:postmaster\.(?:pid|opts)|pg_internal\.init.*|pgsql_tmp.*|backup_label|standby\.signal|.*\.tmp)$/

interface Backup {
  /** A superuser on the running server. */
  readonly client: pg.Client
  readonly from: string
  /** The folder must not exist yet. */
  readonly to: string
  readonly owner: UnprivilegedUser | null
}

/**
 * Copies the data folder of a running server. The packaged binaries have no pg_basebackup, so this follows the manual's way
 * without it. Changes during the copy are replayed from the log, so the new server needs access to it.
 */
export async function copyRunningData({ client, from, to, owner }: Backup): Promise<void> {
  await client.query(`select pg_backup_start('nuncio test', true)`)
  await copyFolder({ from, to, owner, isTop: true })
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop()')
  const label = join(to, 'backup_label')
  await writeFile(label, rows[0]!.labelfile, { mode: 0o600 })
  await give(label, owner)
}

interface Copy {
  readonly from: string
  readonly to: string
  readonly owner: UnprivilegedUser | null
  readonly isTop?: boolean
}

async function copyFolder({ from, to, owner, isTop = false }: Copy): Promise<void> {
  await mkdir(to, { mode: 0o700 })
  await give(to, owner)
  // A database or table may be dropped during the copy. The log records that too.
  const entries = await unlessGone(readdir(from, { withFileTypes: true }))
  for (const entry of (entries ?? []).filter(({ name }) => !LEFT_OUT.test(name))) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (isTop && MADE_ANEW.includes(entry.name)) {
      await mkdir(target, { mode: 0o700 })
      await give(target, owner)
    } else if (entry.isDirectory()) await copyFolder({ from: source, to: target, owner })
    else await copyOne(source, target, owner)
  }
}

async function copyOne(source: string, target: string, owner: UnprivilegedUser | null): Promise<void> {
  await unlessGone(copyFile(source, target, constants.COPYFILE_FICLONE).then(() => give(target, owner)))
}

async function unlessGone<Result>(work: Promise<Result>): Promise<Result | null> {
  try {
    return await work
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

async function give(path: string, owner: UnprivilegedUser | null): Promise<void> {
  if (owner) await chown(path, owner.uid, owner.gid)
}
