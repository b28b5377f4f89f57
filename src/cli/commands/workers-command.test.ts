import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, type EngineName, NOON } from '../../../test/support/administration-world/open-administration-world.ts'
import { CliWorld } from '../../../test/support/administration-world/run-cli.ts'

let world: CliWorld

async function open(engine: EngineName) {
  world = new CliWorld()
  const close = await world.open(engine)
  await world.stopService()
  return close
}

interface Row {
  readonly id: string
  readonly heartbeatUntil?: number
  readonly roles?: string | null
  readonly startedAt?: number
}

async function addWorker({
  id,
  heartbeatUntil = NOON + 10_000,
  roles = 'api,dispatch',
  startedAt = NOON - 60_000,
}: Row) {
  await world.run(
    `insert into worker (id, heartbeat_until, host, pid, roles, version, started_at) values (?, ?, 'anna', 7, ?, '1.2.3', ?)`,
    id,
    heartbeatUntil,
    roles,
    startedAt,
  )
}

describe.each(ENGINES)('nuncio workers, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('says that there is none', async () => {
    assert.match((await world.cli('workers')).stdout, /^No process serves this database\. Start one/)
    assert.match((await world.cli('workers', '--lanes')).stdout, /^No worker holds a lane/)
    assert.deepEqual(await world.json('workers'), [])
  })

  it('shows the name, work and lanes of each, live workers first', async () => {
    const account = await world.account()
    await addWorker({ id: 'worker-gone', heartbeatUntil: NOON - 20_000, startedAt: NOON - 90_000 })
    await addWorker({ id: 'worker-young', startedAt: NOON - 1_000, roles: 'api' })
    await addWorker({ id: 'worker-old' })
    const [busy, idle, lost] = [
      await world.connection(account, '15550001000'),
      await world.connection(account, '15550001001'),
      await world.connection(account, '15550001002'),
    ]
    for (const id of [busy, idle]) await world.lane(id, { owner: 'worker-old' })
    await world.lane(lost, { owner: 'worker-gone' })
    await world.accept({ connectionId: busy })
    await world.accept({ connectionId: busy })
    await world.accept({ connectionId: lost })
    await world.accept({ connectionId: idle, state: 'PUBLISHED' })

    const workers = await world.json<Record<string, unknown>[]>('workers')
    const lanes = await world.json<Record<string, unknown>[]>('workers', '--lanes')
    const { stdout } = await world.cli('workers')

    assert.deepEqual(workers[0], {
      id: 'worker-old',
      state: 'alive',
      host: 'anna',
      pid: 7,
      roles: ['api', 'dispatch'],
      version: '1.2.3',
      startedAt: '2026-01-15T11:59:00.000Z',
      lastHeartbeatAt: '2026-01-15T11:59:55.000Z',
      lanes: 2,
      busyLanes: 1,
    })
    assert.deepEqual(
      workers.map(({ id, state, lanes: held, busyLanes }) => [id, state, held, busyLanes]),
      [
        ['worker-old', 'alive', 2, 1],
        ['worker-young', 'alive', 0, 0],
        ['worker-gone', 'gone', 1, 1],
      ],
    )
    assert.deepEqual(
      lanes.map((lane) => Object.values(lane)),
      [
        ['15550001000', 'Acme', 'worker-old', 'alive', 2],
        ['15550001001', 'Acme', 'worker-old', 'alive', 0],
        ['15550001002', 'Acme', 'worker-gone', 'gone', 1],
      ],
    )
    assert.match(stdout, /^WORKER +STATE +HOST +PID +ROLES +VERSION +STARTED +HEARTBEAT +LANES +BUSY\n/)
    assert.match(stdout, /worker-gone +gone +anna +7 +api,dispatch +1\.2\.3 +2 minutes ago +35 seconds ago +1 +1\n/)
  })

  it('shows a lane whose worker left no trace, and leaves out lanes without a worker', async () => {
    const account = await world.account()
    await world.lane(await world.connection(account, '15550001000'), { owner: 'worker-forgotten' })
    await world.lane(await world.connection(account, '15550001001'), {})

    const lanes = await world.json<Record<string, unknown>[]>('workers', '--lanes')

    assert.deepEqual(
      lanes.map(({ worker, workerState }) => [worker, workerState]),
      [['worker-forgotten', 'gone']],
    )
  })

  it('shows a worker as gone whose heartbeat was written before the clock was set back', async () => {
    const account = await world.account()
    await addWorker({ id: 'worker-ahead', heartbeatUntil: NOON + 3_600_000 })
    await world.lane(await world.connection(account, '15550001000'), { owner: 'worker-ahead' })

    const workers = await world.json<Record<string, unknown>[]>('workers')
    const lanes = await world.json<Record<string, unknown>[]>('workers', '--lanes')

    assert.deepEqual(
      workers.map(({ id, state }) => [id, state]),
      [['worker-ahead', 'gone']],
    )
    assert.deepEqual(
      lanes.map(({ worker, workerState }) => [worker, workerState]),
      [['worker-ahead', 'gone']],
    )
  })

  it('shows no more than the heartbeat of a worker that has written nothing else', async () => {
    await world.run('insert into worker (id, heartbeat_until) values (?, ?)', 'worker-1', NOON + 1)

    const [worker] = await world.json<Record<string, unknown>[]>('workers')

    assert.deepEqual([worker?.['state'], worker?.['host'], worker?.['roles']], ['alive', null, []])
    assert.match((await world.cli('workers')).stdout, /worker-1 +alive +– +– +– +– +– +14 seconds ago|15 seconds ago/)
  })
})

describe.each(ENGINES)('a lane without a worker, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('G10: says that the service is stopped, however many processes only take messages', async () => {
    const account = await world.account()
    const connectionId = await world.connection(account)
    await world.accept({ connectionId })
    const reason = async () => (await world.administration.listConnections(null))[0]?.reason ?? null

    await addWorker({ id: 'worker-api', roles: 'api,console' })
    const without = await reason()
    await addWorker({ id: 'worker-dispatch', roles: 'dispatch' })
    const withOne = await reason()

    assert.deepEqual([without, withOne], ['service_stopped', null])
  })
})
