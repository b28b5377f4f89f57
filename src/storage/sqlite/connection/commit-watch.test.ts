import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { FSWatcher } from 'node:fs'
import { createRequire, syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { settle } from '../../../../test/conformance/hand-clock.ts'
import { newSqliteWorld } from '../../../../test/conformance/sqlite-world.ts'
import { addSender, type Sender } from '../../../../test/conformance/storage-world.ts'
import { waitUntil } from '../../../../test/support/black-box/wait-until.ts'

const fs = createRequire(import.meta.url)('node:fs') as typeof import('node:fs')

type World = Awaited<ReturnType<typeof newSqliteWorld>>
type Listener = (event: 'change' | 'rename') => void

let world: World
let anna: Sender
let noticed: number

beforeEach(async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  world = await newSqliteWorld()
  anna = await addSender(world)
  noticed = 0
})

afterEach(async () => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  syncBuiltinESMExports()
  await world.close()
})

/** The system watches nothing in this test: events are what the test makes of them. */
class MadeWatcher extends EventEmitter {
  isClosed = false
  readonly listener: Listener

  constructor(listener: Listener) {
    super()
    this.listener = listener
  }

  close(): void {
    this.isClosed = true
  }
}

function watchBy(make: (listener: Listener) => MadeWatcher): void {
  const watch = (_path: string, _options: object, listener: Listener) => make(listener) as unknown as FSWatcher
  vi.spyOn(fs, 'watch').mockImplementation(watch as typeof fs.watch)
  syncBuiltinESMExports()
}

function makeWatchers(): MadeWatcher[] {
  const made: MadeWatcher[] = []
  watchBy((listener) => {
    const watcher = new MadeWatcher(listener)
    made.push(watcher)
    return watcher
  })
  return made
}

async function start(): Promise<void> {
  await world.storage.start({
    lanesChanged: () => {
      noticed += 1
    },
  })
  await pass(50)
}

async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms)
  await settle()
}

/** As the command line does: through a connection of its own. */
async function change(state: 'paused' | 'active' = 'paused'): Promise<void> {
  await world.administration.setConnectionState(anna.connectionId, state, 'test')
}

describe('commits of other connections are noticed', () => {
  it('by the watch alone, while nothing is polled', async () => {
    vi.useRealTimers()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    await start()
    await pass(1_000)

    await change()

    await waitUntil('the change of another connection', async () => noticed > 0, { deadlineMs: 20_000 })
  })

  it('while another connection is still committing when the watch reports its write: once it has committed', async () => {
    const made = makeWatchers()
    await start()
    await pass(1_000)
    await pass(10)
    const other = new DatabaseSync(world.storage.database.location() as string)
    other.exec(`begin immediate; insert into lane_change (connection_id) values ('${anna.connectionId}')`)
    made[0]?.listener('change')
    await pass(10)
    await pass(25)
    const before = noticed

    other.exec('commit')
    await pass(25)

    assert.deepEqual([before, noticed], [0, 1])
    other.close()
  })

  it('within a tenth of a second where the system cannot watch', async () => {
    watchBy(() => {
      throw Object.assign(new Error('no watches are left'), { code: 'ENOSPC' })
    })
    await start()
    await pass(2_000)

    await change()
    await pass(100)

    assert.equal(noticed, 1)
  })

  it('within a second where the watch reports nothing, and within a tenth once it has missed one of our commits', async () => {
    const made = makeWatchers()
    await start()
    await pass(1_000)
    await change('paused')
    await pass(1_000)
    const whileTrusted = noticed
    for (let second = 0; second < 7; second++) await pass(1_000)

    await change('active')
    await pass(100)

    assert.deepEqual([whileTrusted, noticed, made.length, made[0]?.isClosed], [1, 2, 1, true])
  })

  it.each(['renamed', 'in error'])('within a tenth of a second when the file is %s', async (what) => {
    const made = makeWatchers()
    await start()
    await pass(1_000)
    if (what === 'renamed') made[0]?.listener('rename')
    else made[0]?.emit('error', new Error('the watch ended'))
    await pass(2_000)

    await change()
    await pass(100)

    assert.deepEqual([noticed, made.length], [1, 1])
  })

  it('without a watch while this process commits often, and with one again afterwards', async () => {
    const made = makeWatchers()
    await start()
    await pass(1_000)
    for (let event = 0; event < 11; event++) made[0]?.listener('change')
    const isClosed = made[0]?.isClosed
    for (let commit = 0; commit < 11; commit++) await world.storage.isWritable()
    await pass(1_000)
    const whileBusy = made.length

    await change()
    await pass(100)
    await pass(1_000)

    assert.deepEqual([isClosed, whileBusy, noticed, made.length], [true, 1, 1, 2])
  })
})
