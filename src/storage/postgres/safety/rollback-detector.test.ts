import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { newPostgresWorld, type PostgresWorld } from '../../../../test/conformance/postgres-world.ts'
import { ANNA, accept, addSender, BEN, claim, holdLane } from '../../../../test/conformance/storage-world.ts'
import { RememberingProcess } from '../../../../test/support/postgres/remembering-process.ts'
import type { WorkerId } from '../../../core/ids.ts'
import { type Checkpoint, CheckpointFile } from '../../queries/checkpoint.ts'
import type { Row } from '../connection/pg-connection.ts'
import { runMaintenance } from '../retention/maintenance.ts'

let world: PostgresWorld
let session: Client
let folder = ''
beforeEach(async () => {
  world = await newPostgresWorld()
  session = await world.session()
  folder = await mkdtemp(join(tmpdir(), 'nuncio-memory-'))
})
afterEach(async () => {
  await world.close()
  rmSync(folder, { recursive: true, force: true })
})

function newProcess(worker: WorkerId, dataDir = worker as string): RememberingProcess {
  return new RememberingProcess({ worker, session, folder: join(folder, dataDir) })
}

async function holdReason(): Promise<string | null> {
  return (await world.administration.readHold())?.reason ?? null
}

/** As after a restore: the database loses the latest heartbeats. */
async function goBack(byMarks = 3): Promise<void> {
  await session.query('update checkpoint set mark = mark - $1', [byMarks])
}

async function renewLeases(process: RememberingProcess, count = 5): Promise<void> {
  await process.validate()
  for (let heartbeat = 0; heartbeat < count; heartbeat += 1) await process.renewLease()
}

describe('the rollback detector of PostgreSQL', () => {
  it('G12: raises no alarm while several processes work on a database that goes on', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN)]
    await Promise.all([anna.live(), ben.live()])
    await renewLeases(anna)
    await renewLeases(ben)

    for (let round = 0; round < 20; round += 1) {
      await Promise.all([anna.commit(), ben.commit(), anna.validate(), ben.validate()])
      await ben.renewLease()
    }

    assert.deepEqual([...anna.alarms, ...ben.alarms], [])
    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes once when the checkpoint file is damaged', async () => {
    const path = join(folder, ANNA, 'remembered.json')
    await renewLeases(newProcess(ANNA))
    await writeFile(path, '{"installation":')

    await newProcess(ANNA).validate()
    const reason = await holdReason()
    await world.administration.releaseHold('test')
    await newProcess(ANNA).validate()

    assert.match(reason ?? '', /remembered\.json/)
    assert.equal(await holdReason(), null)
  })

  it('G12: uses the checkpoint in memory when the file is damaged while the process runs', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await writeFile(join(folder, ANNA, 'remembered.json'), '')

    await anna.validate()
    await anna.renewLease()

    assert.deepEqual([anna.alarms, await holdReason()], [[], null])
    assert.equal((new CheckpointFile(join(folder, ANNA, 'remembered.json')).read() as Checkpoint).holds, 0)
  })

  it('G12: raises no alarm when another process on the same folder renews its lease during the check', async () => {
    const [anna, ben] = [newProcess(ANNA, 'shared'), newProcess(BEN, 'shared')]
    await renewLeases(ben)

    await anna.validate(() => ben.renewLease())
    await anna.validate(() => anna.renewLease())

    assert.deepEqual(anna.alarms, [])
    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes and raises one alarm when an older state was restored', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await goBack()

    await anna.validate()
    await anna.validate()

    assert.match((await holdReason()) ?? '', /older state/)
    assert.equal(anna.alarms.length, 1)
    assert.match(anna.alarms[0] ?? '', /All lanes are held\. Check what was sent, then: nuncio hold --release$/)
  })

  it('G12: stores the checkpoint in its folder for the next process', async () => {
    await renewLeases(newProcess(ANNA))
    await goBack()

    await newProcess(BEN, ANNA).validate()

    assert.notEqual(await holdReason(), null)
  })

  it('G12: holds no lanes when its folder has no checkpoint', async () => {
    await renewLeases(newProcess(ANNA))
    await goBack()

    await newProcess(BEN).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds no lanes again after a person released them, even for a process with a later checkpoint', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN)]
    await renewLeases(anna)
    await renewLeases(ben)
    await goBack(8)
    await anna.validate()
    await world.administration.releaseHold('test')

    await ben.validate()
    await ben.renewLease()
    await anna.validate()

    assert.equal(await holdReason(), null)
    assert.deepEqual(ben.alarms, [])
  })

  it('G12: holds no lanes when a person had already held and released them', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await goBack()
    await world.administration.holdLanes('restored', 'test')
    await world.administration.releaseHold('test')

    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes at a heartbeat, because behind a pooler no connection breaks', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await goBack()

    await anna.renewLease()

    assert.match((await holdReason()) ?? '', /older state/)
  })

  it('G12: holds all lanes again when the database goes back a second time', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await goBack()
    await anna.validate()
    await world.administration.releaseHold('test')
    await anna.renewLease()
    await anna.renewLease()
    await goBack(1)

    await anna.validate()

    assert.notEqual(await holdReason(), null)
  })

  it('G12: counts one hold when several connections are validated at once', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await goBack()

    await Promise.all([anna.validate(), anna.validate(), anna.validate()])

    const { rows } = await session.query('select holds from checkpoint')
    assert.deepEqual(rows, [{ holds: 1 }])
  })
})

describe('the count of commits of each connection', () => {
  it('G12: holds all lanes when a confirmed commit is missing, even the latest', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    await anna.commit()
    await anna.commit(false)

    await anna.validate()
    const reason = await holdReason()
    await world.administration.releaseHold('test')
    await anna.validate()

    assert.equal(reason, 'commits that it had confirmed are missing')
    assert.equal(await holdReason(), null)
  })

  it('G12: holds no lanes for a commit that was never confirmed', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    const lost = anna.connection.run(1, async (count) => {
      await session.query('select record_fence($1, $2, $3)', [ANNA, anna.connection.number, count])
      throw new Error('the line broke')
    })
    await assert.rejects(lost)

    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds no lanes when a statement of a lost connection arrives after those of the next one', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    for (let commits = 0; commits < 3; commits += 1) await anna.commit()
    await session.query('select record_fence($1, $2, 1)', [ANNA, anna.connection.number])

    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds no lanes when its rows were deleted while it was away for hours', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    await anna.commit()
    await session.query('delete from worker; delete from fence')

    await anna.validate()
    await anna.live()
    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds no lanes when a suspended worker returns after hours under the same name', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    await anna.commit()
    await session.query(
      'update worker set heartbeat_until = now_ms() - 7200000; update fence set at = now_ms() - 7200000',
    )
    for (let minute = 0; minute < 2; minute += 1)
      await runMaintenance(async (sql, values = []) => (await session.query<Row>(sql, [...values])).rows)
    const { rowCount } = await session.query('select from worker')

    await anna.live()
    await anna.validate()

    assert.equal(rowCount, 0)
    assert.equal(await holdReason(), null)
  })
})

describe('a standby that was promoted', () => {
  it('G12: holds all lanes when it did not confirm every commit', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)

    await anna.saying({ timeline: 2 }).validate()

    assert.match((await holdReason()) ?? '', /a standby was promoted/)
  })

  it('G12: lets lanes go on when it confirmed every commit', async () => {
    const anna = newProcess(ANNA).saying({ is_synchronous: true })
    await renewLeases(anna)

    await anna.saying({ is_synchronous: false, timeline: 2, is_known_synchronous: true }).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes when commits began to wait for a standby only after the last heartbeat', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await anna.saying({ is_synchronous: true }).validate()

    await anna.saying({ is_synchronous: false, timeline: 2 }).validate()

    assert.notEqual(await holdReason(), null)
  })

  it('G12: lets lanes go on when it lacks only what no standby had confirmed, which a read had shown', async () => {
    const anna = newProcess(ANNA).saying({ is_synchronous: true })
    await renewLeases(anna)
    await session.query('update checkpoint set mark = mark + 1')
    await anna.validate()
    await goBack(1)

    await anna.saying({ is_synchronous: true, timeline: 2, is_known_synchronous: true }).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes when it lacks a heartbeat that was confirmed', async () => {
    const anna = newProcess(ANNA).saying({ is_synchronous: true })
    await renewLeases(anna)
    await anna.validate()
    await goBack(1)

    await anna.saying({ is_synchronous: true, timeline: 2, is_known_synchronous: true }).validate()

    assert.match((await holdReason()) ?? '', /lacks the last commits/)
  })

  it('G12: holds all lanes when the first process on the promoted server has no checkpoint', async () => {
    await renewLeases(newProcess(ANNA))

    await newProcess(BEN).saying({ timeline: 2 }).validate()

    assert.match((await holdReason()) ?? '', /a standby was promoted that did not confirm every commit/)
  })

  it('G12: holds no lanes when the database was moved to another server', async () => {
    await renewLeases(newProcess(ANNA))

    await newProcess(BEN).saying({ server: '7', timeline: 2 }).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds no lanes again for a process that connects after a person released them', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN)]
    await renewLeases(anna)
    await renewLeases(ben)
    await anna.saying({ timeline: 2 }).validate()
    await world.administration.releaseHold('test')

    await ben.saying({ timeline: 2 }).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: refuses the old primary afterwards, and raises one alarm', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await anna.saying({ timeline: 2 }).validate()
    anna.alarms.length = 0

    anna.saying({ timeline: 1 })
    await assert.rejects(anna.validate(), { message: /it is an old primary \(timeline 1\)/, unknown: false })
    await assert.rejects(anna.validate())

    assert.equal(anna.alarms.length, 1)
    assert.match(
      anna.alarms[0] ?? '',
      /^The database is refused: it is an old primary .*remembered\.json, and start again/,
    )
  })

  it('G12: refuses the old primary for another process on the same data folder', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN, ANNA)]
    await renewLeases(anna)
    await renewLeases(ben)
    await anna.saying({ timeline: 2 }).validate()

    await assert.rejects(ben.saying({ timeline: 1 }).validate(), /old primary/)
  })

  it('refuses a standby, and another installation', async () => {
    const anna = newProcess(ANNA)
    await renewLeases(anna)

    await assert.rejects(anna.saying({ is_standby: true }).validate(), /it is a standby and takes no writes/)
    await assert.rejects(anna.saying({ installation: 'theirs' }).validate(), /another installation/)
    assert.equal(await holdReason(), null)
  })
})

describe('sequence numbers and epochs from before a rollback', () => {
  it('G12: are not assigned again after a hold', async () => {
    const sender = await addSender(world)
    const lane = await holdLane(world, ANNA, (await acceptedBy(sender)).connectionId)
    const before = await lastSequence()
    const anna = newProcess(ANNA)
    await renewLeases(anna)
    await goBack()

    await anna.validate()
    await world.administration.releaseHold('test')
    await world.lanes.release([lane])
    const [again] = await claim(world, BEN)
    await accept(world, sender)

    assert.ok((again?.epoch ?? 0) > lane.epoch + 1_000_000, `epoch ${lane.epoch}, then ${again?.epoch}`)
    assert.ok((await lastSequence()) > before + 1_000_000 * 1_024)
  })
})

async function acceptedBy(sender: Awaited<ReturnType<typeof addSender>>) {
  await accept(world, sender)
  return sender
}

async function lastSequence(): Promise<number> {
  const { rows } = await session.query<{ last: string }>('select max(sequence) as last from queued')
  return Number(rows[0]?.last)
}
