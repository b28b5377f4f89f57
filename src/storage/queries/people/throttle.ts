import type { Instant } from '../../../core/ids.ts'
import { checkTries, type ThrottledTry, TRIES_FORGOTTEN_AFTER_MS, type Tries } from '../../../core/people/throttle.ts'
import type { Reader, Store } from '../store.ts'

/** In one transaction that lets no other one count meanwhile. */
export function countTry(store: Store, tries: readonly ThrottledTry[]): Promise<Instant | null> {
  const { database, engine } = store
  return database.transaction().execute(async (tables) => {
    await engine.beginChange(tables)
    const now = store.now()
    const counters: (ThrottledTry & { tries: Tries | null })[] = []
    for (const { key, rule } of tries) counters.push({ key, rule, tries: await readTries(tables, key) })
    const result = checkTries(counters, now)
    if ('until' in result) return result.until
    for (const { key, count, countedFrom, lastAt } of result.counted) {
      const values = { tries: count, counted_from: countedFrom, last_at: lastAt }
      await tables
        .insertInto('sign_in_throttle')
        .values({ key, ...values })
        .onConflict((conflict) => conflict.column('key').doUpdateSet(values))
        .execute()
    }
    return null
  })
}

async function readTries(tables: Reader, key: string): Promise<Tries | null> {
  const row = await tables.selectFrom('sign_in_throttle').selectAll().where('key', '=', key).executeTakeFirst()
  return row ? { count: row.tries, countedFrom: row.counted_from, lastAt: row.last_at } : null
}

export async function forgiveTry(
  tables: Reader,
  { reset, returned }: { readonly reset: readonly string[]; readonly returned: readonly string[] },
): Promise<void> {
  if (reset.length > 0) await tables.deleteFrom('sign_in_throttle').where('key', 'in', reset).execute()
  if (returned.length > 0)
    await tables
      .updateTable('sign_in_throttle')
      .set((its) => ({ tries: its('tries', '-', 1) }))
      .where('key', 'in', returned)
      .where('tries', '>', 0)
      .execute()
}

export async function sweepThrottle(tables: Reader, now: Instant): Promise<void> {
  await tables
    .deleteFrom('sign_in_throttle')
    .where('last_at', '<=', now - TRIES_FORGOTTEN_AFTER_MS)
    .execute()
}
