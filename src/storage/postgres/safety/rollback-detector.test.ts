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

/** As after a restore: what was counted since is gone. */
async function goBack(byMarks = 3): Promise<void> {
  await session.query('update checkpoint set mark = mark - $1', [byMarks])
}

async function beats(process: RememberingProcess, count = 5): Promise<void> {
  await process.validate()
  for (let renewLease = 0; renewLease < count; renewLease += 1) await process.beat()
}

describe('the memory of a PostgreSQL database', () => {
  it('G12: raises no alarm as long as the database goes on, whoever else works on it', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN)]
    await Promise.all([anna.live(), ben.live()])
    await beats(anna)
    await beats(ben)

    for (let round = 0; round < 20; round += 1) {
      await Promise.all([anna.commit(), ben.commit(), anna.validate(), ben.validate()])
      await ben.beat()
    }

    assert.deepEqual([...anna.alarms, ...ben.alarms], [])
    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes when what a process remembers is damaged, and once only', async () => {
    const path = join(folder, ANNA, 'remembered.json')
    await beats(newProcess(ANNA))
    await writeFile(path, '{"installation":')

    await newProcess(ANNA).validate()
    const reason = await holdReason()
    await world.administration.releaseHold('test')
    await newProcess(ANNA).validate()

    assert.match(reason ?? '', /remembered\.json/)
    assert.equal(await holdReason(), null)
  })

  it('G12: goes by what it has in mind when the file is damaged while it runs', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
    await writeFile(join(folder, ANNA, 'remembered.json'), '')

    await anna.validate()
    await anna.beat()

    assert.deepEqual([anna.alarms, await holdReason()], [[], null])
    assert.equal((new CheckpointFile(join(folder, ANNA, 'remembered.json')).read() as Checkpoint).holds, 0)
  })

  it('G12: raises no alarm when another process on the folder beats while it looks', async () => {
    const [anna, ben] = [newProcess(ANNA, 'shared'), newProcess(BEN, 'shared')]
    await beats(ben)

    await anna.validate(() => ben.beat())
    await anna.validate(() => anna.beat())

    assert.deepEqual(anna.alarms, [])
    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes when an older state was restored, and says so once', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
    await goBack()

    await anna.validate()
    await anna.validate()

    assert.match((await holdReason()) ?? '', /older state/)
    assert.equal(anna.alarms.length, 1)
    assert.match(anna.alarms[0] ?? '', /All lanes are held\. Look at what was sent, then: nuncio hold --release$/)
  })

  it('G12: remembers in its folder, for the process after it', async () => {
    await beats(newProcess(ANNA))
    await goBack()

    await newProcess(BEN, ANNA).validate()

    assert.notEqual(await holdReason(), null)
  })

  it('G12: knows nothing in a fresh folder, and holds nothing for that', async () => {
    await beats(newProcess(ANNA))
    await goBack()

    await newProcess(BEN).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds nothing again after a person has released the lanes, whoever remembers what', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN)]
    await beats(anna)
    await beats(ben)
    await goBack(8)
    await anna.validate()
    await world.administration.releaseHold('test')

    await ben.validate()
    await ben.beat()
    await anna.validate()

    assert.equal(await holdReason(), null)
    assert.deepEqual(ben.alarms, [])
  })

  it('G12: holds nothing again when a person held the lanes before we came, and released them', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
    await goBack()
    await world.administration.holdLanes('restored', 'test')
    await world.administration.releaseHold('test')

    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds all lanes at a heartbeat, too: behind a pooler no connection breaks', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
    await goBack()

    await anna.beat()

    assert.match((await holdReason()) ?? '', /older state/)
  })

  it('G12: notices it again the next time', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
    await goBack()
    await anna.validate()
    await world.administration.releaseHold('test')
    await anna.beat()
    await anna.beat()
    await goBack(1)

    await anna.validate()

    assert.notEqual(await holdReason(), null)
  })

  it('G12: is not turned by several connections that look at once', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
    await goBack()

    await Promise.all([anna.validate(), anna.validate(), anna.validate()])

    const { rows } = await session.query('select holds from checkpoint')
    assert.deepEqual(rows, [{ holds: 1 }])
  })
})

describe('the count of commits of each connection', () => {
  it('G12: holds all lanes when a commit is missing that was confirmed, however young', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await beats(anna)
    await anna.commit()
    await anna.commit(false)

    await anna.validate()
    const reason = await holdReason()
    await world.administration.releaseHold('test')
    await anna.validate()

    assert.equal(reason, 'commits that it had confirmed are missing')
    assert.equal(await holdReason(), null)
  })

  it('G12: does not wonder at what was committed, but never confirmed', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await beats(anna)
    const lost = anna.connection.run(1, async (count) => {
      await session.query('select record_fence($1, $2, $3)', [ANNA, anna.connection.number, count])
      throw new Error('the line broke')
    })
    await assert.rejects(lost)

    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: does not wonder at a statement of a lost connection that comes after those of the next one', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await beats(anna)
    for (let commits = 0; commits < 3; commits += 1) await anna.commit()
    await session.query('select record_fence($1, $2, 1)', [ANNA, anna.connection.number])

    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: does not wonder that it is forgotten after it was away for hours', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await beats(anna)
    await anna.commit()
    await session.query('delete from worker; delete from fence')

    await anna.validate()
    await anna.live()
    await anna.validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: does not wonder when it was suspended for hours, and comes back by the name it had', async () => {
    const anna = newProcess(ANNA)
    await anna.live()
    await beats(anna)
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
    await beats(anna)

    await anna.saying({ timeline: 2 }).validate()

    assert.match((await holdReason()) ?? '', /a standby was promoted/)
  })

  it('G12: lets lanes go on when it confirmed every commit', async () => {
    const anna = newProcess(ANNA).saying({ is_synchronous: true })
    await beats(anna)

    await anna.saying({ is_synchronous: false, timeline: 2, is_known_synchronous: true }).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds them when commits wait for a standby only since a moment ago', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
    await anna.saying({ is_synchronous: true }).validate()

    await anna.saying({ is_synchronous: false, timeline: 2 }).validate()

    assert.notEqual(await holdReason(), null)
  })

  it('G12: holds them when whoever looks at it first remembers nothing, as in a fresh folder', async () => {
    await beats(newProcess(ANNA))

    await newProcess(BEN).saying({ timeline: 2 }).validate()

    assert.match((await holdReason()) ?? '', /a standby was promoted that did not confirm every commit/)
  })

  it('G12: holds nothing of a database that was moved to another server', async () => {
    await beats(newProcess(ANNA))

    await newProcess(BEN).saying({ server: '7', timeline: 2 }).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: holds nothing again for whoever comes after a person has released the lanes', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN)]
    await beats(anna)
    await beats(ben)
    await anna.saying({ timeline: 2 }).validate()
    await world.administration.releaseHold('test')

    await ben.saying({ timeline: 2 }).validate()

    assert.equal(await holdReason(), null)
  })

  it('G12: refuses the old primary from then on, and says so once', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)
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

  it('G12: refuses the old primary for another process that shares the data folder, too', async () => {
    const [anna, ben] = [newProcess(ANNA), newProcess(BEN, ANNA)]
    await beats(anna)
    await beats(ben)
    await anna.saying({ timeline: 2 }).validate()

    await assert.rejects(ben.saying({ timeline: 1 }).validate(), /old primary/)
  })

  it('refuses a standby, and another installation', async () => {
    const anna = newProcess(ANNA)
    await beats(anna)

    await assert.rejects(anna.saying({ is_standby: true }).validate(), /it is a standby and takes no writes/)
    await assert.rejects(anna.saying({ installation: 'theirs' }).validate(), /another installation/)
    assert.equal(await holdReason(), null)
  })
})

describe('what processes still know from before', () => {
  it('G12: means nothing after a hold: lost numbers and lost epochs are given to nothing else', async () => {
    const sender = await addSender(world)
    const lane = await holdLane(world, ANNA, (await acceptedBy(sender)).connectionId)
    const before = await lastSequence()
    const anna = newProcess(ANNA)
    await beats(anna)
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
