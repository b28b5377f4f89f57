import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it, vi } from 'vitest'
import { HandClock, settle } from '../../../../test/conformance/hand-clock.ts'
import { SENDABLE } from '../../../../test/support/sendable.ts'
import type { WorkerId } from '../../../core/ids.ts'
import { SqliteStorage } from '../index.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const US = { id: 'worker-us' as WorkerId, host: 'anna', pid: 7, roles: ['api', 'dispatch'], version: '1.2.3' }

let storage: SqliteStorage
let clock: HandClock
let problems: unknown[]

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  clock = new HandClock()
  problems = []
  storage = new SqliteStorage({
    path: ':memory:',
    clock,
    limits: { maxWaitingPerConnection: 0, maxWaitingPerAccount: 0 },
    sendable: () => SENDABLE,
    onBroken: () => {},
    onError: (error) => void problems.push(error),
    worker: US,
  })
})

afterEach(async () => {
  await storage.close()
  vi.useRealTimers()
})

function workers(): Record<string, unknown>[] {
  return storage.database
    .prepare('select * from worker order by id')
    .all()
    .map((row) => ({ ...row }))
}

function addWorker(id: string, heartbeatUntil: number): void {
  storage.database.prepare('insert into worker (id, heartbeat_until) values (?, ?)').run(id, heartbeatUntil)
}

async function pass(ms: number): Promise<void> {
  await clock.pass(ms)
  vi.advanceTimersByTime(ms)
  await settle()
}

describe('maintenance on SQLite', () => {
  it('forgets the workers of before, and says who serves now; its heartbeats leave that as it is', async () => {
    addWorker('worker-before', clock.now() + MINUTE_MS)
    const startedAt = clock.now()

    await storage.start({ lanesChanged: () => {} })
    await clock.pass(1_000)
    await storage.lanes.heartbeat(US.id, 15_000)

    assert.deepEqual(workers(), [
      {
        id: 'worker-us',
        heartbeat_until: clock.now() + 15_000,
        host: 'anna',
        pid: 7,
        roles: 'api,dispatch',
        version: '1.2.3',
        started_at: startedAt,
      },
    ])
  })

  it('counts no worker as alive that has not begun to dispatch', async () => {
    await storage.start({ lanesChanged: () => {} })

    assert.deepEqual(await storage.lanes.heartbeat('worker-other' as WorkerId, 15_000), ['worker-other'])
  })

  it('deletes dead workers after an hour, but neither its own row nor workers that still own a lane', async () => {
    await storage.start({ lanesChanged: () => {} })
    addWorker('worker-lately', clock.now())
    addWorker('worker-long-ago', clock.now() - MINUTE_MS)
    addWorker('worker-owner', clock.now() - MINUTE_MS)
    storage.database.exec(`insert into lane (connection_id, owner) values ('connection-1', 'worker-owner')`)

    await pass(HOUR_MS - MINUTE_MS)
    const early = workers().map(({ id }) => id)
    await pass(MINUTE_MS)

    assert.deepEqual(early, ['worker-lately', 'worker-long-ago', 'worker-owner', 'worker-us'])
    assert.deepEqual(
      workers().map(({ id }) => id),
      ['worker-lately', 'worker-owner', 'worker-us'],
    )
    assert.deepEqual(problems, [])
  })

  it('reports its errors and continues', async () => {
    await storage.start({ lanesChanged: () => {} })
    storage.database.exec('alter table idempotency rename to elsewhere')
    await pass(MINUTE_MS)
    const met = problems.length

    storage.database.exec('alter table elsewhere rename to idempotency')
    addWorker('worker-long-ago', 0)
    await pass(MINUTE_MS)

    assert.deepEqual([met, problems.length], [1, 1])
    assert.equal(workers().length, 1)
  })

  it('ends with the storage', async () => {
    await storage.start({ lanesChanged: () => {} })

    await storage.close()
    await storage.close()

    assert.equal(vi.getTimerCount(), 0)
  })
})
