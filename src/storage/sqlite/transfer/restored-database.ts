import { existsSync, linkSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { type KnownPast, knowsAllSince, placedHolds, type Replaced } from '../../queries/checkpoint.ts'
import type { BackupFacts, HappenedSince, RestoredHold } from '../../queries/verify/backup-facts.ts'
import { READ_ONLY, withDatabase } from '../connection/open-database.ts'
import { takeServiceLock } from '../connection/service-lock.ts'
import { refuseChangedSchema } from '../schema/migrate.ts'
import { readBackupFacts } from './read-backup-facts.ts'

const ACTOR = 'restore'

/** While this is held no process can serve the database at the path, whether or not there is one. */
export function lockForRestore(path: string): { release(): void } {
  return takeServiceLock(join(dirname(path), 'service.lock'))
}

/** Opens a copy that no other process uses yet, and closes it again. */
export function readFactsOf(path: string): BackupFacts {
  return withDatabase(path, READ_ONLY, readBackupFacts)
}

/** Before anything is written, because a trigger that was added to a copy would run. */
export function refuseOtherSchema(path: string): void {
  withDatabase(path, READ_ONLY, (database) => refuseChangedSchema(database, path))
}

/**
 * Holds all lanes in a copy, before it is put in its place: from then on nothing of it is sent before a person has checked it
 * (G12). People sign in again, because sessions that ended after the copy was made would be valid again.
 */
export function holdRestored(path: string, hold: RestoredHold): void {
  withDatabase(path, {}, (database) => {
    database.exec('begin immediate')
    const run = (sql: string, ...values: (string | number)[]) => database.prepare(sql).run(...values)
    run(
      'insert into hold (only, since, reason) values (1, ?, ?) on conflict do update set since = excluded.since, reason = excluded.reason',
      hold.at,
      hold.reason,
    )
    database.exec('update open_attempt set possibly_superseded_sequence = message_sequence')
    run('update checkpoint set holds = max(holds, ?) + 1', hold.holdsRemembered)
    database.exec('delete from session; delete from sign_in_ticket')
    if (hold.withoutSecrets) database.exec('delete from key_ring')
    if (hold.media) {
      const { from, to } = hold.media
      run(
        'update media set path = ? || substr(path, ?) where substr(path, 1, ?) = ?',
        to,
        from.length + 1,
        from.length + 1,
        `${from}/`,
      )
    }
    run(
      `insert into audit (at, actor, action, object, detail) values (?, ?, 'hold.place', 'all numbers', ?)`,
      hold.at,
      ACTOR,
      JSON.stringify({ reason: hold.reason }),
    )
    database.exec('commit')
  })
}

/**
 * Puts a copy in the place of a database that no process serves, atomically; the replaced files are kept in a folder
 * aside. After a crash at any point the old one is complete in that folder, and either of the two is in its place.
 */
export function putInPlace({ from, path, aside }: { from: string; path: string; aside: string | null }): void {
  if (aside !== null) keepAside(path, aside)
  // SQLite must not apply the rest of the old log to the new database.
  for (const rest of ['-wal', '-shm']) rmSync(`${path}${rest}`, { force: true })
  renameSync(from, path)
}

function keepAside(path: string, aside: string): void {
  try {
    // Afterwards the file alone is the whole database.
    withDatabase(path, {}, (old) => old.exec('pragma wal_checkpoint(truncate)'))
  } catch {
    // It may be damaged, which is a reason to restore. Then it is kept as it is.
  }
  mkdirSync(aside, { mode: 0o700 })
  for (const rest of ['-wal', '-shm', ''])
    if (existsSync(`${path}${rest}`)) linkSync(`${path}${rest}`, join(aside, `${basename(path)}${rest}`))
}

/** Null when they have nothing to do with each other, or the old one cannot be read or does not know all. */
export function compareWithReplaced(old: string, restored: string, past: KnownPast): HappenedSince | null {
  if (!existsSync(old) || statSync(old).size === 0) return null
  try {
    return withDatabase(old, READ_ONLY, (database) => {
      database.prepare(`attach ? as restored`).run(restored)
      const one = (sql: string) => database.prepare(sql).get()?.['n'] as number
      const same = database
        .prepare(
          `select installation, o.mark, o.holds, ${placedHolds('main', 'restored')} as placed
             from main.checkpoint o join restored.checkpoint r using (installation)`,
        )
        .get()
      if (!same || !knowsAllSince(past, same as unknown as Replaced)) return null
      const accepted = one(
        'select count(*) as n from main.message where sequence > (select coalesce(max(sequence), 0) from restored.message)',
      )
      // What was open when the backup was made is not sent again by itself, and neither is what is still unsent.
      const ended = database
        .prepare(
          `select w.id from restored.waiting w join main.message m on m.sequence = w.sequence
             where m.id = w.id and (m.state <> 'QUEUED' or m.attempts > w.attempts
               or exists (select 1 from main.open_attempt o where o.message_sequence = m.sequence)) order by w.sequence`,
        )
        .all()
      return { accepted, ended: ended.map(({ id }) => id as string) }
    })
  } catch {
    return null
  }
}
