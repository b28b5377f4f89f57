import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../../test/support/administration-world/open-administration-world.ts'
import { ConsoleWorld, type Visitor } from '../../../../test/support/console-world/console-world.ts'
import type { AccountId } from '../../../core/ids.ts'

let world: ConsoleWorld
let acme: AccountId
let anna: Visitor

describe.each(ENGINES)('a hold of all numbers in the console, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    acme = await world.account()
    anna = await world.visitor(acme)
    await world.accept({ connectionId: await world.connection(acme) })
    return close
  })

  const mayRelease = async (as: Visitor) =>
    (await world.call('readOverview', { as, params: { account: acme }, query: { range: '24h' } })).hold?.mayRelease
  const of = (as: Visitor) => ({ as, params: { account: acme } })

  it('G12: is released by an owner, with an entry in the audit log, and only once', async () => {
    await world.administration.holdLanes('restored the backup of Monday', 'test')

    const may = await mayRelease(anna)
    await world.call('releaseHold', of(anna))
    const again = await world.refusal('releaseHold', of(anna))

    assert.deepEqual([may, await mayRelease(anna), again], [true, undefined, '409 lanes_not_held'])
    const waiting = await world.administration.listConnections(null)
    assert.deepEqual(
      waiting.map(({ reason }) => reason),
      [null],
    )
    const { items } = await world.call('listAudit', of(anna))
    assert.deepEqual([items[0]?.action, items[0]?.actor], ['hold.release', anna.email])
    // It is an act of this account, also when others come later.
    const [written] = await world.audited('hold.release')
    assert.equal(written?.account_id, acme)
  })

  it('is not released by a developer', async () => {
    const dora = await world.visitor(acme, 'developer')
    await world.administration.holdLanes('why', 'test')

    assert.deepEqual(
      [await mayRelease(dora), await world.refusal('releaseHold', of(dora))],
      [false, '403 role_too_low'],
    )
    assert.equal((await world.administration.readHold())?.reason, 'why')
  })

  it('G8: is not released by an owner where it concerns other accounts, too', async () => {
    await world.account('Other')
    await world.administration.holdLanes('why', 'test')

    assert.deepEqual(
      [await mayRelease(anna), await world.refusal('releaseHold', of(anna))],
      [false, '409 hold_of_installation'],
    )
    assert.equal((await world.administration.readHold())?.reason, 'why')
  })
})
