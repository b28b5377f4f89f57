import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { testSecrets } from '../../../../test/support/secrets.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import type { ConnectionChange, ConnectionView, NetworkLink } from '../../../core/ports/administration.ts'
import type { LaneViews } from '../../../core/ports/console/lanes.ts'
import { createLaneViews } from '../lanes/lane-views.ts'

const LINK: NetworkLink = { networkKey: '106540352242922', callbackApp: 'app1' }
const TAKEN = { code: 'network_key_taken' }

let world: AdministrationWorld
let lanes: LaneViews
let acme: AccountId
let other: AccountId
let added = 0

async function open(engine: EngineName): Promise<() => Promise<void>> {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  lanes = createLaneViews(world.store)
  acme = await world.account()
  other = await world.account('Other')
  return close
}

function add(
  link: NetworkLink | null,
  given: { accountId?: AccountId; channel?: string; id?: ConnectionId; channelSettings?: Record<string, unknown> } = {},
): Promise<ConnectionView> {
  const { accountId = acme, channel = 'whatsapp-cloud', channelSettings = {}, ...more } = given
  const number = String(15550001000 + ++added)
  const wanted = { accountId, number, channel, policy: DEFAULT_LANE_POLICY, channelSettings, link, ...more }
  return world.administration.addConnection(wanted, 'test')
}

describe.each(ENGINES)('what a connection hangs on, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('is kept and shown, and none where there is none', async () => {
    const id = 'con_made_by_caller' as ConnectionId
    const linked = await add(LINK, { id })
    const loose = await add(null, { channel: 'sandbox' })

    assert.equal(linked.id, id)
    assert.deepEqual([linked.link, loose.link], [LINK, null])
    const listed = await world.administration.listConnections(acme)
    assert.deepEqual(
      listed.map(({ link }) => link),
      [LINK, null],
    )
    const { items } = await lanes.listLanes({ accountId: acme, find: null, group: null, after: null })
    assert.deepEqual(
      items.map(({ link }) => link),
      [LINK, null],
    )
    assert.deepEqual((await lanes.readLane({ accountId: acme, id })).link, LINK)
  })

  it('G8: belongs to one connection of the installation, until that is removed', async () => {
    const first = await add(LINK)

    await assert.rejects(add(LINK), TAKEN)
    await assert.rejects(add({ ...LINK, callbackApp: 'app2' }, { accountId: other }), TAKEN)
    const elsewhere = await add(LINK, { channel: 'whatsapp-web', accountId: other })
    await world.administration.removeConnection(first.id, false, 'test')
    const second = await add(LINK, { accountId: other })

    assert.deepEqual([elsewhere.link, second.link], [LINK, LINK])
    assert.equal((await world.administration.listConnections(null)).length, 2)
  })

  it('belongs to one of two that are added at the same time', async () => {
    const ends = await Promise.allSettled([add(LINK), add(LINK, { accountId: other }), add(LINK)])

    const codes = ends.map((end) => (end.status === 'fulfilled' ? 'added' : (end.reason as { code: string }).code))
    assert.deepEqual(codes.toSorted(), ['added', 'network_key_taken', 'network_key_taken'])
  })

  it('cannot belong to two even past every check', async () => {
    await add(LINK)
    const loose = await add(null)

    await assert.rejects(
      world.run('update connection set network_key = ? where id = ?', LINK.networkKey, loose.id),
      /unique/i,
    )
  })

  it('changes with the settings, but not to that of another', async () => {
    const { id } = await add(LINK)
    const taken = await add({ networkKey: 'taken', callbackApp: null })
    const changed = { networkKey: LINK.networkKey, callbackApp: 'app2' }
    const of = { accountId: acme, id }
    const policy = DEFAULT_LANE_POLICY

    const view = await world.administration.changeConnection(id, { policy, channelSettings: {}, link: changed }, 'test')
    const kept = await world.administration.changeConnection(id, { policy, channelSettings: { a: 1 } }, 'test')
    await lanes.changeSettings(of, { link: LINK }, 'test')

    assert.deepEqual([view.link, kept.link], [changed, changed])
    assert.deepEqual((await lanes.readLane(of)).link, LINK)
    const { networkKey } = taken.link!
    await assert.rejects(lanes.changeSettings(of, { link: { networkKey, callbackApp: null } }, 'test'), TAKEN)
    await assert.rejects(
      world.administration.changeConnection(id, { policy, channelSettings: {}, link: taken.link! }, 'test'),
      TAKEN,
    )
    assert.deepEqual((await lanes.readLane(of)).link, LINK)
  })

  it('is stored only if the settings did not change since they were read', async () => {
    const read = { token: 'leaked', verify: 'old' }
    const { id } = await add(LINK, { channelSettings: read })
    const of = { accountId: acme, id }
    const policy = { ...DEFAULT_LANE_POLICY, leastGapMs: 2_000 }
    const moved = { networkKey: LINK.networkKey, callbackApp: 'app2' }
    const changed = { code: 'connection_changed' }
    const ways = [
      (change: ConnectionChange) => world.administration.changeConnection(id, change, 'test'),
      (change: ConnectionChange) => lanes.changeSettings(of, change, 'test'),
    ]

    for (const way of ways) {
      // As nothing of ours writes it: what is compared is what they say.
      await world.run('update connection set channel_settings = ? where id = ?', JSON.stringify(read, null, 1), id)
      await way({ channelSettings: { ...read, token: 'new' }, expected: read })
      await assert.rejects(
        way({ channelSettings: { ...read, verify: 'new' }, expected: read, policy, link: moved }),
        changed,
      )
      const kept = await lanes.readLane(of)
      assert.deepEqual(kept.channelSettings, { token: 'new', verify: 'old' })
      assert.deepEqual([kept.policy, kept.link], [DEFAULT_LANE_POLICY, LINK])
    }
    const [ofAnother, ofThat] = await Promise.allSettled([
      ways[0]?.({ channelSettings: { a: 1 }, expected: { token: 'new', verify: 'old' } }),
      ways[1]?.({ channelSettings: { a: 2 }, expected: { token: 'new', verify: 'old' } }),
    ])
    assert.deepEqual([ofAnother?.status, ofThat?.status].toSorted(), ['fulfilled', 'rejected'])
  })

  it('leaves the settings of the channel alone where only those of the lane change', async () => {
    const { id } = await add(LINK, { channelSettings: { token: 'sealed' } })
    const policy = { ...DEFAULT_LANE_POLICY, leastGapMs: 2_000 }

    const view = await world.administration.changeConnection(id, { policy }, 'test')

    assert.deepEqual([view.policy, view.channelSettings, view.link], [policy, { token: 'sealed' }, LINK])
  })

  it('leaves no secret behind when the connection is removed, and keeps what else is known of it', async () => {
    const removals = [
      (id: ConnectionId) => world.administration.removeConnection(id, true, 'test'),
      (id: ConnectionId) => lanes.removeSome({ accountId: acme, id }, true, 'test'),
    ]

    for (const remove of removals) {
      const { id } = await add(LINK, { channelSettings: settingsWith(sealed()) })
      await remove(id)
      const [row] = await world.all('select * from connection where id = ?', id)
      assert.deepEqual(JSON.parse(String(row?.['channel_settings'])), {
        phoneNumberId: '106540352242922',
        graphVersion: 'v26.0',
        linkPreview: true,
        templates: { text: { name: 'notice', language: 'en_US', bodyVariables: 1 } },
        list: ['plain'],
      })
      assert.deepEqual([row?.['network_key'], row?.['callback_app']], [LINK.networkKey, LINK.callbackApp])
    }
  })

  it('writes no value of a setting into the audit log', async () => {
    const settings = settingsWith(sealed())
    const { id } = await add(LINK, { channelSettings: settings })
    await world.administration.changeConnection(
      id,
      { policy: DEFAULT_LANE_POLICY, channelSettings: settings, link: LINK },
      'test',
    )
    await lanes.changeSettings({ accountId: acme, id }, { channelSettings: settings, link: LINK }, 'test')
    await world.administration.removeConnection(id, true, 'test')

    const log = JSON.stringify(await world.all('select * from audit'))

    const values = Object.values(settings).filter((value) => typeof value === 'string')
    assert.deepEqual(
      [...values, ...Object.values(LINK)].filter((value) => log.includes(String(value))),
      [],
    )
    assert.match(log, /accessToken/)
  })
})

function settingsWith(secret: string): Record<string, unknown> {
  return {
    phoneNumberId: '106540352242922',
    accessToken: secret,
    graphVersion: 'v26.0',
    linkPreview: true,
    templates: { text: { name: 'notice', language: 'en_US', bodyVariables: 1 }, hidden: secret },
    list: ['plain', secret],
  }
}

function sealed(): string {
  const place = { purpose: 'connection', accountId: 'acc', owner: 'con', name: 'accessToken' } as const
  return testSecrets().seal('EAAG secret', place)
}
