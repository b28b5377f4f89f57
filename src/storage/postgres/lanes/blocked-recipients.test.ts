import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { newPostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { addSender, RECIPIENT } from '../../../../test/conformance/storage-world.ts'
import type { AccountId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import type { PgConnection, Row } from '../connection/pg-connection.ts'
import { PostgresBlockedRecipients } from './blocked-recipients.ts'

const ONE = 'acc_one' as AccountId
const NONE = 'acc_none' as AccountId

/** A database with one list, which counts what it is asked. */
class Database {
  readonly entries = new Set(['1', '2'])
  hashKey: string | null = null
  now = 0
  polls = 0
  lookUps = 0
  error: Error | null = null
  /** Called between a look-up and its answer. */
  delay: (() => void) | null = null

  readonly query = async (_: string, values: readonly unknown[] = []): Promise<readonly Row[]> => {
    const isPoll = values.length === 0
    if (isPoll) this.polls += 1
    else this.lookUps += 1
    if (this.error) throw this.error
    if (isPoll) return this.entries.size === 0 ? [] : [{ account_id: ONE, hash_key: this.hashKey }]
    const [recipients, hashes] = values.slice(1).map((array) => textsOf(array as Buffer))
    const found = recipients!.map((recipient, at) => ({
      is_blocked: this.entries.has(recipient ?? '') || this.entries.has(hashes?.[at] ?? ''),
      hash_key: this.hashKey,
    }))
    this.delay?.()
    return found
  }
}

/** As PostgreSQL reads an array. */
function textsOf(array: Buffer): (string | null)[] {
  const texts: (string | null)[] = []
  for (let at = 20; at < array.length; ) {
    const length = array.readInt32BE(at)
    texts.push(length < 0 ? null : array.toString('utf8', at + 4, at + 4 + length))
    at += 4 + Math.max(0, length)
  }
  return texts
}

let database: Database
let blocked: PostgresBlockedRecipients

describe('blocked recipients', () => {
  beforeEach(() => {
    database = new Database()
    blocked = new PostgresBlockedRecipients({
      clock: { monotonic: () => database.now } as never,
      pgConnection: { query: database.query } as unknown as PgConnection,
      hash: (_account, key, recipient) => `${key} of ${recipient}`,
    })
  })

  it('cost no query in an account that blocks no recipient', async () => {
    await blocked.poll()

    assert.deepEqual([blocked.isBlocked(NONE, '1'), database.lookUps], [false, 0])
  })

  it('are looked up in one statement when several lanes query in one turn', async () => {
    await blocked.poll()

    const answers = await Promise.all(['1', '2', '3'].map(async (recipient) => blocked.isBlocked(ONE, recipient)))

    assert.deepEqual([answers, database.lookUps], [[true, true, false], 1])
  })

  it('G13: are those of now in an account that blocks any, and a poll finds the first of another', async () => {
    database.entries.clear()
    await blocked.poll()
    const before = await blocked.isBlocked(ONE, '4')
    database.entries.add('4')
    database.now += 1_000

    assert.deepEqual([before, await blocked.isBlocked(ONE, '4')], [false, true])
    database.entries.add('5')
    assert.equal(await blocked.isBlocked(ONE, '5'), true)
  })

  it('G13: are looked up again when the answer took a second, for its recipient may have been blocked meanwhile', async () => {
    await blocked.poll()
    database.delay = () => {
      database.now += 1_000
      database.entries.add('3')
      database.delay = null
    }

    assert.deepEqual([await blocked.isBlocked(ONE, '3'), database.lookUps], [true, 2])
  })

  it('G13: include a recipient who was erased since the last poll', async () => {
    await blocked.poll()
    database.entries.delete('2')
    database.entries.add('h:key of 2')
    database.hashKey = 'key'

    assert.deepEqual([await blocked.isBlocked(ONE, '2'), await blocked.isBlocked(ONE, '3')], [true, false])
  })

  it('G13: are not guessed while the database is away', async () => {
    database.error = new StorageUnavailable('away', false)
    await assert.rejects(async () => blocked.isBlocked(NONE, '1'), StorageUnavailable)

    database.error = null
    assert.equal(await blocked.isBlocked(NONE, '1'), false)
  })

  it('are polled ahead only while they are asked for', async () => {
    const polled: number[] = []
    const pollAhead = async (seconds: number) => {
      database.polls = 0
      for (let second = 0; second < seconds; second++) {
        await blocked.pollIfUsed()
        database.now += 1_000
      }
      polled.push(database.polls)
    }

    await pollAhead(10)
    await pollAhead(60)
    await blocked.isBlocked(NONE, '3')
    await pollAhead(60)

    assert.deepEqual(polled, [10, 0, 10])
  })
})

describe('block lists of a PostgreSQL that has gone back', () => {
  it('G12 G13: are as that database has them', async () => {
    const world = await newPostgresWorld()
    const [{ accountId }, later] = [await addSender(world), '15550100001']
    const known = async () => [
      await world.blocked.isBlocked(accountId, RECIPIENT),
      await world.blocked.isBlocked(accountId, later),
    ]
    await world.blockLists.block(accountId, { numbers: [RECIPIENT], reason: null }, 'test')
    const before = await known()

    // The block was lost with the last commits.
    await world.sql('delete from blocked_recipient')
    await world.sql('delete from block_list')
    await world.blockLists.block(accountId, { numbers: [later], reason: null }, 'test')
    await world.sql(`select hold_lanes('it has gone back', 0, 0)`)
    await world.clock.pass(world.hintsAgeMs)
    const after = await known()
    await world.close()

    assert.deepEqual(
      [before, after],
      [
        [true, false],
        [false, true],
      ],
    )
  })
})
