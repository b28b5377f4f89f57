import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { ANNA, BEN } from '../../../../test/conformance/storage-world.ts'
import { RememberingWorld, renewLeases } from '../../../../test/support/postgres/remembering-world.ts'

let world: RememberingWorld
beforeEach(async () => {
  world = await RememberingWorld.open()
})
afterEach(() => world.close())

describe('a standby that was promoted', () => {
  it('G12: holds all lanes when it did not confirm every commit', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)

    await anna.saying({ timeline: 2 }).validate()

    assert.match((await world.holdReason()) ?? '', /a standby was promoted/)
  })

  it('G12: lets lanes go on when it confirmed every commit', async () => {
    const anna = world.newProcess(ANNA).saying({ is_synchronous: true })
    await renewLeases(anna)

    await anna.saying({ is_synchronous: false, timeline: 2, is_known_synchronous: true }).validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds all lanes when commits began to wait for a standby only after the last heartbeat', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)
    await anna.saying({ is_synchronous: true }).validate()

    await anna.saying({ is_synchronous: false, timeline: 2 }).validate()

    assert.notEqual(await world.holdReason(), null)
  })

  it('G12: lets lanes go on when it lacks only what no standby had confirmed, which a read had shown', async () => {
    const anna = world.newProcess(ANNA).saying({ is_synchronous: true })
    await renewLeases(anna)
    await world.session.query('update checkpoint set mark = mark + 1')
    await anna.validate()
    await world.goBack(1)

    await anna.saying({ is_synchronous: true, timeline: 2, is_known_synchronous: true }).validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds all lanes when it lacks a heartbeat that was confirmed', async () => {
    const anna = world.newProcess(ANNA).saying({ is_synchronous: true })
    await renewLeases(anna)
    await anna.validate()
    await world.goBack(1)

    await anna.saying({ is_synchronous: true, timeline: 2, is_known_synchronous: true }).validate()

    assert.match((await world.holdReason()) ?? '', /lacks the last commits/)
  })

  it('G12: holds all lanes when the first process on the promoted server has no checkpoint', async () => {
    await renewLeases(world.newProcess(ANNA))

    await world.newProcess(BEN).saying({ timeline: 2 }).validate()

    assert.match((await world.holdReason()) ?? '', /a standby was promoted that did not confirm every commit/)
  })

  it('G12: holds no lanes when the database was moved to another server', async () => {
    await renewLeases(world.newProcess(ANNA))

    await world.newProcess(BEN).saying({ server: '7', timeline: 2 }).validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: holds no lanes again for a process that connects after a person released them', async () => {
    const [anna, ben] = [world.newProcess(ANNA), world.newProcess(BEN)]
    await renewLeases(anna)
    await renewLeases(ben)
    await anna.saying({ timeline: 2 }).validate()
    await world.database.administration.releaseHold('test')

    await ben.saying({ timeline: 2 }).validate()

    assert.equal(await world.holdReason(), null)
  })

  it('G12: refuses the old primary afterwards, and raises one alarm', async () => {
    const anna = world.newProcess(ANNA)
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
    const [anna, ben] = [world.newProcess(ANNA), world.newProcess(BEN, ANNA)]
    await renewLeases(anna)
    await renewLeases(ben)
    await anna.saying({ timeline: 2 }).validate()

    await assert.rejects(ben.saying({ timeline: 1 }).validate(), /old primary/)
  })

  it('refuses a standby, and another installation', async () => {
    const anna = world.newProcess(ANNA)
    await renewLeases(anna)

    await assert.rejects(anna.saying({ is_standby: true }).validate(), /it is a standby and takes no writes/)
    await assert.rejects(anna.saying({ installation: 'theirs' }).validate(), /another installation/)
    assert.equal(await world.holdReason(), null)
  })
})
