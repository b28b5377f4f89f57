import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { createApiLog } from '../api-log/api-log.ts'
import { checkAccount } from '../console-store.ts'

let world: AdministrationWorld
let account: AccountId
let connection: ConnectionId

describe.each(ENGINES)('the mark of an account, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    account = await world.account('Acme')
    connection = await world.connection(account)
    return close
  })

  const check = () => checkAccount(world.store, createApiLog(world.store), account)

  it('stays while nothing happens in it, whatever others do', async () => {
    await world.accept({ connectionId: connection })
    const before = await check()

    const others = await world.account('Others')
    await world.accept({ connectionId: await world.connection(others, '15550002000') })

    assert.equal(await check(), before)
  })

  it('changes with a message that is accepted, with one that ends, and with a lane that waits', async () => {
    const marks = [await check()]

    const { id } = await world.accept({ connectionId: connection })
    marks.push(await check())
    await world.lane(connection, { reason: 'connection_away', until: world.now + 1 })
    marks.push(await check())
    await world.administration.cancelMessage(id, 'test')
    marks.push(await check())

    assert.equal(new Set(marks).size, 4)
  })
})
