import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, it } from 'vitest'
import { StorageUnavailable } from '../../../core/ports/lanes.ts'
import { StorageHealth } from '../../queries/storage-health.ts'
import { GroupCommit, type Participant } from './group-commit.ts'

const NOW = Date.UTC(2026, 0, 1)
const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

describe('the group commit', () => {
  it('lets all who write in one turn share one commit', async () => {
    const { commits, insert, calls } = createCommits()

    const results = await Promise.all([1, 2, 3].map((id) => commits.submit(() => insert(id))))

    assert.deepEqual(results, [1, 2, 3])
    assert.deepEqual(calls, ['begin', 'committed'])
  })

  it('G1: resolves only once another connection sees what was written', async () => {
    const { commits, insert, count } = createCommits()

    const written = commits.submit(() => insert(1))
    const before = count()
    await written

    assert.deepEqual([before, count()], [0, 1])
  })

  it('commits a long queue in parts', async () => {
    const { commits, insert, count, calls } = createCommits()

    await Promise.all(Array.from({ length: 2_100 }, (_, id) => commits.submit(() => insert(id))))

    assert.equal(count(), 2_100)
    assert.equal(calls.filter((each) => each === 'committed').length, 3)
  })

  it('commits what is queued when it is flushed', () => {
    const { commits, insert, count } = createCommits()
    void commits.submit(() => insert(1))

    commits.flush()

    assert.equal(count(), 1)
  })

  it('G11: lets a bad job fail alone', async () => {
    const { commits, insert, count, calls } = createCommits()
    const bad = new TypeError('cannot be stored')

    const results = await Promise.allSettled([
      commits.submit(() => insert(1)),
      commits.submit(() => {
        insert(2)
        throw bad
      }),
      commits.submit(() => insert(1)),
      commits.submit(() => insert(3)),
    ])

    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    )
    assert.equal(results[1]?.status === 'rejected' && results[1].reason, bad)
    assert.equal(count(), 2)
    assert.deepEqual(calls, ['begin', 'rolled back', 'begin', 'rolled back', 'begin', 'committed'])
  })

  it('waits, without stopping the event loop, while another process writes', async () => {
    const { commits, insert, count, other } = createCommits()
    other.exec('begin immediate')
    let ticks = 0
    const ticking = setInterval(() => {
      ticks += 1
      if (ticks === 5) other.exec('commit')
    }, 2)

    await commits.submit(() => insert(1))
    clearInterval(ticking)

    assert.ok(ticks >= 5)
    assert.equal(count(), 1)
  })

  it('keeps the order of jobs over a wait for another process', async () => {
    const { commits, other } = createCommits()
    const order: number[] = []
    other.exec('begin immediate')
    const first = commits.submit(() => order.push(1))
    await new Promise<void>((resolve) => setTimeout(resolve, 10))
    const second = commits.submit(() => order.push(2))

    other.exec('commit')
    await Promise.all([first, second])

    assert.deepEqual(order, [1, 2])
  })
})

describe('the group commit after an error', () => {
  it('G11: refuses on a full disk as certainly not written, says why, and goes on once there is room', async () => {
    const { commits, database, count, broken, health } = createCommits()
    const { page_count: pages } = database.prepare('pragma page_count').get() as { page_count: number }
    database.exec(`pragma max_page_count = ${pages}`)
    const insertLong = database.prepare('insert into entry (id, text) values (?, ?)')
    const long = () => insertLong.run(1, 'x'.repeat(100_000))

    const refusal = await commits.submit(long).catch((error: unknown) => error)
    const problem = health.error
    database.exec('pragma max_page_count = 100000')
    await commits.submit(long)

    assert.ok(refusal instanceof StorageUnavailable && !refusal.unknown)
    assert.deepEqual(problem, { since: NOW, cause: 'The disk is full.' })
    assert.deepEqual([broken, count()], [[], 1])
  })

  it('G1: says unknown when the commit itself fails, and never writes again', async () => {
    const { commits, database, insert, broken } = createCommits()
    database.exec(`
      pragma foreign_keys = on;
      create table parent (id integer primary key);
      create table child (parent_id integer references parent (id) deferrable initially deferred)`)

    const first = await commits
      .submit(() => database.exec('insert into child values (1)'))
      .catch((error: unknown) => error)
    const second = await commits.submit(() => insert(1)).catch((error: unknown) => error)

    assert.ok(first instanceof StorageUnavailable && first.unknown)
    assert.ok(second instanceof StorageUnavailable && !second.unknown)
    assert.equal(broken.length, 1)
  })

  it('refuses what comes after the database was closed', async () => {
    const { commits, database, insert } = createCommits()
    database.close()

    const refusal = await commits.submit(() => insert(1)).catch((error: unknown) => error)

    assert.ok(refusal instanceof StorageUnavailable && !refusal.unknown)
  })
})

function createCommits() {
  const folder = mkdtempSync(join(tmpdir(), 'nuncio-group-commit-'))
  folders.push(folder)
  const path = join(folder, 'test.db')
  const database = new DatabaseSync(path, { timeout: 0 })
  database.exec('pragma journal_mode = wal; create table entry (id integer primary key, text text) strict')
  const other = new DatabaseSync(path, { timeout: 0 })
  const broken: unknown[] = []
  const health = new StorageHealth({ now: () => NOW, monotonic: () => 0 })
  const commits = new GroupCommit(database, health, (error) => broken.push(error))
  const calls: string[] = []
  const participant: Participant = {
    begin: () => calls.push('begin'),
    committed: () => calls.push('committed'),
    rolledBack: () => calls.push('rolled back'),
  }
  commits.join(participant)
  const adding = database.prepare('insert into entry (id) values (?)')
  const insert = (id: number) => {
    adding.run(id)
    return id
  }
  const counting = other.prepare('select count(*) as entries from entry')
  const count = () => (counting.get() as { entries: number }).entries
  return { commits, health, database, other, broken, calls, insert, count }
}
