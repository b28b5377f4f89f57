import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { newPostgresWorld } from '../../../test/conformance/postgres-world.ts'
import {
  ANNA,
  accept,
  addSender,
  candidate,
  head,
  holdLane,
  open,
  settled,
  step,
} from '../../../test/conformance/storage-world.ts'
import { addUses, findBreaks, parseUses, printUses, readUses } from '../../../test/support/postgres/read-uses.ts'
import { openTestDatabase } from '../../../test/support/postgres/test-database.ts'
import { StorageUnavailable } from '../../core/ports/lanes.ts'
import { readMigrations } from './migrate.ts'
import { migrateDatabase, withConnection } from './open-database.ts'

const FILE = new URL('./used-by-older-code.txt', import.meta.url)
const NEWEST = readMigrations().length
const BREAKING = readMigrations().findLast(({ breaking }) => breaking)?.number ?? 0

const HEADING = `What statements of processes may name that still run with an older version while a newer one has migrated, each with the
migration since which they may. A migration that says "breaking: no" takes none of it away and changes none of it: not even a function
that only other functions call, because one that waits for a lock meanwhile calls it afterwards.

Written by: npx vitest run --project=tests src/storage/postgres/rolling-upgrade.test.ts -u
It adds what is new, and takes out what is gone since a migration that says "breaking: yes". Take a line out by hand once no version
that may still run names it.

`

describe('a process that meets tables of another version', () => {
  it('G1 G6: says that it has accepted and written nothing, and goes on when they fit again', async () => {
    const world = await newPostgresWorld()
    const sender = await addSender(world)
    await accept(world, sender)
    const lane = await holdLane(world, ANNA, sender.connectionId)
    const message = await head(world, lane.connectionId)
    await open(world, lane, message)
    const session = await world.session()
    const ended = step(world, lane, { close: settled(world, message) })
    await session.query('alter function this_timeline rename to renamed')

    const answer = await world.intake.accept(candidate(world, sender))
    await assert.rejects(
      world.lanes.record(ended),
      (error: unknown) => error instanceof StorageUnavailable && !error.unknown,
    )

    assert.deepEqual(answer, { kind: 'unavailable', code: 'not_accepted' })
    await session.query('alter function renamed rename to this_timeline')
    await accept(world, sender)
    assert.deepEqual(await world.lanes.record(ended), { fenced: false, opened: false })
    await world.close()
  })
})

describe('a migration after which older code may still run', () => {
  it('takes nothing away that statements of that code name, and wants no more than they give', async () => {
    const known = parseUses(readFileSync(FILE, 'utf8'))
    const present = await usesAfter()

    assert.deepEqual(findBreaks(known, present, BREAKING), [])
    const uses = addUses(known, present, { newest: NEWEST, breaking: BREAKING })
    await expect(`${HEADING}${printUses(uses)}`).toMatchFileSnapshot(FILE.pathname)
  })

  it('gives what a function wants more another name, so that no call fits two of them', async () => {
    const names = (await usesAfter()).flatMap((what) => /^function (\w+)\(/.exec(what)?.[1] ?? [])

    assert.deepEqual(
      names.filter((name, at) => names.indexOf(name) !== at),
      [],
    )
  })

  it.each([
    ['a function', 'drop function lives;', 'Gone or changed: function lives(text) returns boolean'],
    [
      'the parameters of a function',
      `drop function lives; create function lives(text, text) returns boolean language sql as 'select true';`,
      'Gone or changed: function lives(text) returns boolean',
    ],
    ['a name', 'alter table worker rename host to machine;', 'Gone or changed: column worker.host text'],
    ['a type', 'alter table worker alter host type varchar;', 'Gone or changed: column worker.host text'],
    ['a table', 'drop table watch;', 'Gone or changed: table watch'],
    ['a key', 'alter table worker drop constraint worker_pkey;', 'Gone or changed: unique worker (id)'],
    [
      'what must be given',
      'alter table worker add more text not null;',
      'Code before it inserts none: column worker.more text needs a value',
    ],
  ])('negative control: is found out when it changes %s', async (_, sql, sentence) => {
    const known = parseUses(readFileSync(FILE, 'utf8'))
    const present = await usesAfter(sql)
    const numbers = { newest: NEWEST + 1, breaking: BREAKING }

    const breaks = findBreaks(addUses(known, present, numbers), present, BREAKING)

    assert.ok(breaks.includes(sentence), breaks.join('\n'))
    const mayBreak = { newest: NEWEST + 1, breaking: NEWEST + 1 }
    assert.deepEqual(findBreaks(addUses(known, present, mayBreak), present, NEWEST + 1), [])
  })
})

async function usesAfter(sql?: string): Promise<string[]> {
  const database = await openTestDatabase({
    name: 'migrated_once',
    prepare: async (url) => void (await migrateDatabase({ url, migrateUrl: url })),
  })
  try {
    if (sql !== undefined) await withConnection(database.url, (ask) => ask(sql))
    return await readUses(database.url)
  } finally {
    await database.drop()
  }
}
