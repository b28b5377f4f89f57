import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { newPostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { addSender, RECIPIENT } from '../../../../test/conformance/storage-world.ts'
import type { AccountId } from '../../../core/ids.ts'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import type { PgConnection, Row } from '../connection/pg-connection.ts'
import { PostgresBlockedRecipients } from './blocked-recipients.ts'

const BIG = 'acc_big' as AccountId
const SMALL = 'acc_small' as AccountId

/** A database that answers what it is told to, and in which reading a list lasts until it is let go on. */
class Lists {
  readonly rows = new Map<AccountId, { version: number; removals: number; entries: string[] }>()
  now = 0
  looks = 0
  history = 'one'
  hashKey: string | null = null
  holdsLoads = false
  holdsWholeLooks = false
  #held: { go: () => void; fail: (error: Error) => void }[] = []

  set(account: AccountId, [version, removals]: readonly [number, number], ...entries: string[]): void {
    this.rows.set(account, { version, removals, entries })
  }

  get held(): number {
    return this.#held.length
  }

  release(error?: Error): void {
    for (const { go, fail } of this.#held.splice(0)) error ? fail(error) : go()
  }

  readonly ask = async (sql: string, [first]: readonly unknown[] = []): Promise<readonly Row[]> => {
    const isLook = sql.includes('join block_list')
    if (isLook ? this.holdsWholeLooks && first === 0 : this.holdsLoads && first === BIG)
      await new Promise<void>((go, fail) => {
        this.#held.push({ go, fail })
      })
    if (isLook) this.looks += 1
    if (isLook) return this.#changed(Number(first))
    return (this.rows.get(first as AccountId)?.entries ?? []).map((recipient) => ({ recipient }))
  }

  #changed(since: number): readonly Row[] {
    const { history } = this
    const changed = [...this.rows].filter(([, { version }]) => version >= since)
    if (changed.length === 0) return [{ history, account_id: null }]
    return changed
      .sort(([, a], [, b]) => a.version - b.version)
      .map(([account_id, { version, removals, entries }]) => ({
        history,
        account_id,
        version,
        removals,
        entries: entries.length,
        hash_key: account_id === BIG ? this.hashKey : null,
      }))
  }
}

let lists: Lists
let blocked: PostgresBlockedRecipients

describe('block lists in memory', () => {
  beforeEach(async () => {
    lists = new Lists()
    lists.set(BIG, [1, 0], '1', '2')
    lists.set(SMALL, [2, 0], '3')
    blocked = new PostgresBlockedRecipients({
      clock: { monotonic: () => lists.now } as never,
      link: { ask: lists.ask } as unknown as PgConnection,
      hash: (_account, _key, recipient) => `hash of ${recipient}`,
    })
    assert.deepEqual([await blocked.isBlocked(BIG, '1'), await blocked.isBlocked(SMALL, '3')], [true, true])
    lists.holdsLoads = true
    // A number was taken out, so that all of the list is read anew.
    lists.set(BIG, [3, 1], '2')
    lists.now += 2_000
  })

  it('G8: of other accounts are known while a long one is read anew', async () => {
    const big = Promise.resolve(blocked.isBlocked(BIG, '2'))
    const answers = [await blocked.isBlocked(SMALL, '3'), await blocked.isBlocked(SMALL, '1')]
    // Long enough that it is never fresh again while it is read.
    lists.now += 5_000
    answers.push(await blocked.isBlocked(SMALL, '3'))

    assert.deepEqual(answers, [true, false, true])
    assert.equal(lists.held, 1)
    lists.release()
    assert.equal(await big, true)
    assert.equal(await blocked.isBlocked(BIG, '1'), false)
  })

  it('G13: are not used before they were read, and what comes meanwhile is read too', async () => {
    const first = Promise.resolve(blocked.isBlocked(BIG, '4'))
    await blocked.isBlocked(SMALL, '3')
    lists.set(BIG, [4, 1], '2', '4')
    lists.now += 2_000
    const second = Promise.resolve(blocked.isBlocked(BIG, '4'))
    await blocked.isBlocked(SMALL, '3')
    lists.holdsLoads = false

    lists.release()

    assert.deepEqual([await first, await second], [true, true])
  })

  it('are read again by whoever asks next when that failed', async () => {
    const asked = Promise.resolve(blocked.isBlocked(BIG, '2'))
    const failed = assert.rejects(asked, StorageUnavailable)
    await blocked.isBlocked(SMALL, '3')
    lists.release(new StorageUnavailable('away', false))
    await failed
    lists.holdsLoads = false

    assert.deepEqual([await blocked.isBlocked(BIG, '2'), await blocked.isBlocked(BIG, '1')], [true, false])
  })

  it('G13: know somebody who was erased while the list was read', async () => {
    const asked = Promise.resolve(blocked.isBlocked(BIG, '2'))
    await blocked.isBlocked(SMALL, '3')
    lists.set(BIG, [5, 2], 'h:hash of 2')
    lists.hashKey = 'sealed'
    lists.holdsLoads = false
    lists.release()

    assert.equal(await asked, true)
  })

  it.each([
    ['the same', 3],
    ['a later', 4],
  ])('G12 G13: are read anew from a database that has gone back and is at %s version again', async (_, version) => {
    lists.holdsLoads = false
    await blocked.poll()
    lists.history = 'another'
    lists.set(BIG, [version, 1], '2', '5')
    lists.set(SMALL, [2, 0], '4')
    await blocked.poll()

    const answers: boolean[] = []
    for (const account of [BIG, SMALL])
      for (const one of ['2', '3', '4', '5']) answers.push(await blocked.isBlocked(account, one))
    assert.deepEqual(answers, [true, false, false, true, false, false, true, false])
  })

  it('G13: are not used while they are read anew from a database that has gone back', async () => {
    lists.holdsLoads = false
    await blocked.poll()
    lists.history = 'another'
    lists.holdsWholeLooks = true
    const looking = blocked.poll()
    await new Promise(setImmediate)

    const answer = Promise.resolve(blocked.isBlocked(BIG, '2'))
    lists.release()
    await looking

    assert.equal(await answer, true)
  })

  it('are looked up ahead only while somebody asks for them', async () => {
    lists.holdsLoads = false
    const looked: number[] = []
    const lookAhead = async (seconds: number) => {
      lists.looks = 0
      for (let second = 0; second < seconds; second++) {
        await blocked.pollIfUsed()
        lists.now += 1_000
      }
      looked.push(lists.looks)
    }

    await lookAhead(10)
    await lookAhead(60)
    await blocked.isBlocked(SMALL, '3')
    await lookAhead(60)

    assert.deepEqual(looked, [8, 0, 10])
  })

  it('are read beforehand, so that nobody who asks later waits', async () => {
    lists.holdsLoads = false
    await blocked.poll()
    await new Promise(setImmediate)

    assert.deepEqual([blocked.isBlocked(BIG, '1'), blocked.isBlocked(BIG, '2')], [false, true])
  })
})

describe('block lists of a PostgreSQL that has gone back', () => {
  it('G12 G13: are read anew once it was found to have, although it has given the same versions again', async () => {
    const world = await newPostgresWorld()
    const [{ accountId }, later] = [await addSender(world), '15550100001']
    const known = async () => [
      await world.blocked.isBlocked(accountId, RECIPIENT),
      await world.blocked.isBlocked(accountId, later),
    ]
    await world.blockLists.block(accountId, { numbers: [RECIPIENT], reason: null }, 'test')
    const before = await known()

    // The block was lost with the last commits. The next one is given its version.
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
