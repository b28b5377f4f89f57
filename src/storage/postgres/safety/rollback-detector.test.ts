import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { ANNA, accept, addSender, BEN, claim, holdLane } from '../../../../test/conformance/storage-world.ts'
import { RememberingWorld, renewLeases } from '../../../../test/support/postgres/remembering-world.ts'
import { type Checkpoint, CheckpointFile } from '../../queries/checkpoint.ts'
import type { Row } from '../connection/pg-connection.ts'
import { runMaintenance } from '../retention/maintenance.ts'

let world: RememberingWorld
beforeEach(async () => {
  world = await RememberingWorld.open()
})
afterEach(() => world.close())

describe('the rollback detector of PostgreSQL', () => {
  it('G12: raises no alarm while several processes work on a database that goes on', async () => {
    const [anna, ben] = [world.newProcess(ANNA), world.newProcess(BEN)]
    await Promise.all([anna.live(), ben.live()])
    await renewLeases(anna)
    await renewLeases(ben)

    for (let round = 0; round < 20; round += 1) {
      await Promise.all([anna.commit(), ben.commit(), anna.validate(), ben.validate()])
      await ben.renewLease()
    }

    assert.deepEqual([...anna.alarms, ...ben.alarms], [])
    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds all lanes once when the checkpoint file is damaged', async () => {
    const path = world.fileOf(ANNA)
    await renewLeases(world.newProcess(ANNA))
    await writeFile(path, '{"installation":')

    await world.newProcess(ANNA).validate()
    const reason = await world.holdReason()
    await world.database.administration.releaseHold('test')
    await world.newProcess(ANNA).validate()

    assert.match(reason ?? '', /remembered\.json/)
    assert.equal(await world.holdReason(), null)
  })

  it('G12: uses the checkpoint in memory when the file is damaged while the process runs', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await writeFile(world.fileOf(ANNA), '')

    await anna.validate()
    await anna.renewLease()

    assert.deepEqual([anna.alarms, await world.holdReason()], [[], null])
    assert.equal((new CheckpointFile(world.fileOf(ANNA)).read() as Checkpoint).holds, 0)
  })

  it('G12: raises no alarm when another process on the same folder renews its lease during the check', async () => {
    const [anna, ben] = [world.newProcess(ANNA, 'shared'), world.newProcess(BEN, 'shared')]
    await renewLeases(ben)

    await anna.validate(() => ben.renewLease())
    await anna.validate(() => anna.renewLease())

    assert.deepEqual(anna.alarms, [])
    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds all lanes and raises one alarm when an older state was restored', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await world.goBack()

    await anna.validate()
    await anna.validate()

    assert.match((await world.holdReason()) ?? '', /older state/)
    assert.equal(anna.alarms.length, 1)
    assert.match(anna.alarms[0] ?? '', /All lanes are held\. Check what was sent, then: nuncio hold --release$/)
  })

  it('G12: stores the checkpoint in its folder for the next process', async () => {
    await renewLeases(world.newProcess(ANNA))
    await world.goBack()

    await world.newProcess(BEN, ANNA).validate()

    assert.notEqual(await world.holdReason(), null)
  })

  it('G12: holds no lanes when its folder has no checkpoint', async () => {
    await renewLeases(world.newProcess(ANNA))
    await world.goBack()

    await world.newProcess(BEN).validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds no lanes again after a person released them, even for a process with a later checkpoint', async () => {
    const [anna, ben] = [world.newProcess(ANNA), world.newProcess(BEN)]
    await renewLeases(anna)
    await renewLeases(ben)
    await world.goBack(8)
    await anna.validate()
    await world.database.administration.releaseHold('test')

    await ben.validate()
    await ben.renewLease()
    await anna.validate()

    assert.equal(await world.holdReason(), null)
    assert.deepEqual(ben.alarms, [])
  })

  it('G12: holds no lanes when a person had already held and released them', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await world.goBack()
    await world.database.administration.holdLanes('restored', 'test')
    await world.database.administration.releaseHold('test')

    await anna.validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds all lanes at a heartbeat, because behind a pooler no connection breaks', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await world.goBack()

    await anna.renewLease()

    assert.match((await world.holdReason()) ?? '', /older state/)
  })

  it('G12: holds all lanes again when the database goes back a second time', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await world.goBack()
    await anna.validate()
    await world.database.administration.releaseHold('test')
    await anna.renewLease()
    await anna.renewLease()
    await world.goBack(1)

    await anna.validate()

    assert.notEqual(await world.holdReason(), null)
  })

  it('G12: counts one hold when several connections are validated at once', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await world.goBack()

    await Promise.all([anna.validate(), anna.validate(), anna.validate()])

    const { rows } = await world.session.query('select holds from checkpoint')
    assert.deepEqual(rows, [{ holds: 1 }])
  })
})

describe('the count of commits of each connection', () => {
  it('G12: holds all lanes when a confirmed commit is missing, even the latest', async () => {
    const anna = world.newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    await anna.commit()
    await anna.commit(false)

    await anna.validate()
    const reason = await world.holdReason()
    await world.database.administration.releaseHold('test')
    await anna.validate()

    assert.equal(reason, 'commits that it had confirmed are missing')
    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds no lanes for a commit that was never confirmed', async () => {
    const anna = world.newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    const lost = anna.connection.run(1, async (count) => {
      await world.session.query('select record_fence($1, $2, $3)', [ANNA, anna.connection.number, count])
      throw new Error('the line broke')
    })
    await assert.rejects(lost)

    await anna.validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds no lanes when a statement of a lost connection arrives after those of the next one', async () => {
    const anna = world.newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    for (let commits = 0; commits < 3; commits += 1) await anna.commit()
    await world.session.query('select record_fence($1, $2, 1)', [ANNA, anna.connection.number])

    await anna.validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds no lanes when its rows were deleted while it was away for hours', async () => {
    const anna = world.newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    await anna.commit()
    await world.session.query('delete from worker; delete from fence')

    await anna.validate()
    await anna.live()
    await anna.validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds no lanes when a suspended worker returns after hours under the same name', async () => {
    const anna = world.newProcess(ANNA)
    await anna.live()
    await renewLeases(anna)
    await anna.commit()
    await world.session.query(
      'update worker set heartbeat_until = now_ms() - 7200000; update fence set at = now_ms() - 7200000',
    )
    for (let minute = 0; minute < 2; minute += 1)
      await runMaintenance(async (sql, values = []) => (await world.session.query<Row>(sql, [...values])).rows)
    const { rowCount } = await world.session.query('select from worker')

    await anna.live()
    await anna.validate()

    assert.equal(rowCount, 0)
    assert.equal(await world.holdReason(), null)
  })
})

describe('sequence numbers and epochs from before a rollback', () => {
  it('G12: are not assigned again after a hold', async () => {
    const sender = await addSender(world.database)
    const lane = await holdLane(world.database, ANNA, (await acceptedBy(sender)).connectionId)
    const before = await lastSequence()
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await world.goBack()

    await anna.validate()
    await world.database.administration.releaseHold('test')
    await world.database.lanes.release([lane])
    const [again] = await claim(world.database, BEN)
    await accept(world.database, sender)

    assert.ok((again?.epoch ?? 0) > lane.epoch + 1_000_000, `epoch ${lane.epoch}, then ${again?.epoch}`)
    assert.ok((await lastSequence()) > before + 1_000_000 * 1_024)
  })
})

async function acceptedBy(sender: Awaited<ReturnType<typeof addSender>>) {
  await accept(world.database, sender)
  return sender
}

async function lastSequence(): Promise<number> {
  const { rows } = await world.session.query<{ last: string }>('select max(sequence) as last from queued')
  return Number(rows[0]?.last)
}
