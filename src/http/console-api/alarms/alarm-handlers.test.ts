import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES } from '../../../../test/support/administration-world/open-administration-world.ts'
import { ConsoleWorld } from '../../../../test/support/console-world/console-world.ts'
import type { AccountId } from '../../../core/ids.ts'
import type { AlarmKind } from '../../../core/watchdog/alarm-kinds.ts'

const MINUTE_MS = 60_000

let world: ConsoleWorld
let acme: AccountId

describe.each(ENGINES)('alarms in the console, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    acme = await world.account()
    return close
  })

  function raise(accountId: AccountId | null, alarm: Parameters<ConsoleWorld['raiseAlarm']>[0]): Promise<void> {
    return world.raiseAlarm({ accountId, since: world.now - 10 * MINUTE_MS, ...alarm })
  }

  const OFFLINE = {
    kind: 'connection_offline',
    severity: 'critical',
    object: 'con_1',
    facts: { number: '15550001000', reason: 'credentials_refused', waiting: 41, oldestAt: 0 },
  } as const

  it('are shown with cause and next step, the most severe first, and cleared ones only in the list', async () => {
    const viewer = await world.visitor(acme, 'viewer')
    await raise(acme, { kind: 'unconfirmed', severity: 'warning', object: acme, facts: { count: 2, oldestAt: 0 } })
    await raise(acme, { ...OFFLINE, facts: { ...OFFLINE.facts, oldestAt: world.now - 6 * MINUTE_MS } })
    await raise(acme, { kind: 'lane_stalled', severity: 'critical', object: 'con_2', clearedAt: world.now })

    const asked = { as: viewer, params: { account: acme } }
    const open = await world.call('readOpenAlarms', asked)
    const all = await world.call('listAlarms', { ...asked, query: {} })

    assert.deepEqual(
      open.items.map(({ kind, of, name }) => [kind, of, name]),
      [
        ['connection_offline', 'connection', '15550001000'],
        ['unconfirmed', 'account', ''],
      ],
    )
    assert.equal(
      open.items[0]?.cause,
      '15550001000 has sent nothing for 10 min. The network rejects the credentials of 15550001000. 41 messages wait on 15550001000, the oldest for 6 min.',
    )
    assert.equal(
      open.items[0]?.nextStep,
      'Enter valid credentials in the settings of the connection, then resume it. Then check the connection.',
    )
    assert.deepEqual(
      all.items.map(({ kind, clearedAt }) => [kind, clearedAt === null]),
      [
        ['lane_stalled', false],
        ['connection_offline', true],
        ['unconfirmed', true],
      ],
    )
  })

  it('no longer say that the numbers are held once they are released, before the next check of the watchdog', async () => {
    const asked = { as: await world.visitor(acme), params: { account: acme } }
    const open = async () => (await world.call('readOpenAlarms', asked)).items.map(({ kind }) => kind)
    await world.administration.holdLanes('a backup was restored', 'test')
    await raise(null, {
      kind: 'lanes_held',
      severity: 'critical',
      object: '',
      facts: { reason: 'a backup was restored' },
    })

    const held = await open()
    await world.call('releaseHold', asked)

    assert.deepEqual([held, await open()], [['lanes_held'], []])
    const objects = await world.audited('hold.%')
    assert.deepEqual(
      objects.map(({ object }) => object),
      ['all numbers', 'all numbers'],
    )
    assert.equal(await world.refusal('releaseHold', asked), '409 lanes_not_held')
  })

  it('G8: are shown to no other account; those of the installation only to owners of its one account', async () => {
    await raise(acme, OFFLINE)
    await raise(null, { kind: 'disk_filling', severity: 'warning', object: 'here:/data', facts: { folder: '/data' } })
    const [owner, developer] = [await world.visitor(acme), await world.visitor(acme, 'developer')]
    const seen = async (account: AccountId, as: Awaited<ReturnType<ConsoleWorld['visitor']>>) => {
      const params = { as, params: { account } }
      const open = (await world.call('readOpenAlarms', params)).items.map(({ kind }) => kind)
      const all = (await world.call('listAlarms', { ...params, query: {} })).items.map(({ kind }) => kind)
      assert.deepEqual(all.toSorted(), open.toSorted())
      return open
    }

    const alone = [await seen(acme, owner), await seen(acme, developer)]
    const others = await world.account('Others')
    const together = [await seen(acme, owner), await seen(others, await world.visitor(others))]

    assert.deepEqual(alone, [['connection_offline', 'disk_filling'], ['connection_offline']])
    assert.deepEqual(together, [['connection_offline'], []])
  })

  it('are paged', async () => {
    const owner = await world.visitor(acme)
    for (let count = 0; count < 30; count++) await raise(acme, { ...OFFLINE, object: `con_${count}` })

    const asked = { as: owner, params: { account: acme } }
    const first = await world.call('listAlarms', { ...asked, query: {} })
    const second = await world.call('listAlarms', { ...asked, query: { before: first.next ?? '' } })

    assert.deepEqual([first.items.length, second.items.length, second.next], [25, 5, null])
    assert.equal(new Set([...first.items, ...second.items].map(({ id }) => id)).size, 30)
  })

  it('of a kind that this version does not know are left out', async () => {
    await raise(acme, { ...OFFLINE, kind: 'of_tomorrow' as AlarmKind })

    const open = await world.call('readOpenAlarms', { as: await world.visitor(acme), params: { account: acme } })

    assert.deepEqual(open.items, [])
  })
})
