import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ENGINES, NOON } from '../../../../test/support/administration-world/open-administration-world.ts'
import { ConsoleWorld, type Visitor } from '../../../../test/support/console-world/console-world.ts'
import { LANE_LIMITS } from '../../../contract/console/form-rules.ts'
import { DEFAULT_LANE_POLICY } from '../../../core/connection/lane-policy.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'

const STEP_UP_LASTS_MS = 5 * 60_000

let world: ConsoleWorld
let account: AccountId
let anna: Visitor
let id: ConnectionId

const of = (connection: string = id) => ({ account, id: connection })

describe.each(ENGINES)('connections in the console, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    account = await world.account()
    anna = await world.visitor(account, 'developer')
    id = await world.connection(account)
    return close
  })

  it('are added with the settings of a channel that the server offers', async () => {
    const { channels } = await world.call('listChannels', { params: { account }, as: anna })
    const body = { number: '15550001001', channel: 'sandbox', settings: { latency: '200ms', read_after: '' } }

    const added = await world.call('addConnection', { params: { account }, body, as: anna })
    const again = await world.refusal('addConnection', { params: { account }, body, as: anna })
    const listed = await world.call('listConnections', { params: { account }, as: anna })

    assert.deepEqual(
      channels.find(({ name }) => name === 'sandbox')?.settings.map((setting) => setting.name),
      ['latency', 'delivered_after', 'read_after'],
    )
    const bridge = channels.find(({ name }) => name === 'bridge')
    assert.match(bridge?.startFirst?.command ?? '', / adapter kannel --listen LISTEN --secret-file /)
    assert.deepEqual(
      bridge?.settings.flatMap(({ name, random }) => (random ? [[name, random]] : [])),
      [['secret', { prefix: 'whsec_', bytes: 32 }]],
    )
    assert.deepEqual(
      added.channelSettings.map(({ name, value, isSet }) => [name, value, isSet]),
      [
        ['latency', '200ms', true],
        ['delivered_after', null, false],
        ['read_after', null, false],
      ],
    )
    assert.equal(again, '409 connection_exists')
    assert.deepEqual(
      listed.items.map(({ number }) => number),
      ['15550001000', '15550001001'],
    )
  })

  it('report what is wrong with each field of a form', async () => {
    const fieldsOf = async (body: unknown) => {
      const reply = await world.ask('addConnection', { params: { account }, body, as: anna })
      const { error } = reply.body as { error: { fields: { field: string; message: string }[] } }
      return [reply.status, error.fields]
    }

    const number = await fieldsOf({ number: '12', channel: 'sandbox' })
    const settings = { latency: 'slow', delivered_after: '2d', read_after: '1s' }
    const setting = await fieldsOf({ number: '15550001001', channel: 'sandbox', settings })
    const channel = await fieldsOf({ number: '15550001001', channel: 'pigeon' })
    const all = await fieldsOf({ number: '12', channel: 'sandbox', settings: { latency: 'slow' } })
    const taken = await fieldsOf({ number: '15550001000', channel: 'sandbox', settings: { latency: 'slow' } })

    assert.deepEqual(number, [
      400,
      [
        {
          field: 'number',
          message:
            'A number is its country code and digits only: 7 to 15 digits, no leading zero, no +, spaces or dashes. Example: 14155550100.',
        },
      ],
    ])
    assert.deepEqual(setting, [
      400,
      [
        {
          field: 'settings.latency',
          message: 'Latency must be a time such as 200ms or 3s, at most 20s; "slow" is not.',
        },
        {
          field: 'settings.delivered_after',
          message: 'Delivered after must be a time such as 200ms or 3s, at most 1d; "2d" is not.',
        },
      ],
    ])
    assert.deepEqual(
      [all[0], (all[1] as { field: string }[]).map(({ field }) => field)],
      [400, ['number', 'settings.latency']],
    )
    assert.deepEqual(
      [taken[0], (taken[1] as { field: string; message: string }[]).map(({ message }) => message.slice(0, 32))],
      [400, ['This number is a connection of t', 'Latency must be a time such as 2']],
    )
    assert.deepEqual(channel, [404, [{ field: 'channel', message: 'There is no channel of this name.' }]])
  })

  it('take a number as people write it', async () => {
    const body = { number: '+1 555 000 1001', channel: 'sandbox' }
    const { number } = await world.call('addConnection', { params: { account }, body, as: anna })

    assert.equal(number, '15550001001')
  })

  it('G10: show their lane with positions, times and the reason for waiting', async () => {
    await world.call('changeLane', {
      params: of(),
      body: { ...DEFAULT_LANE_POLICY, leastGapMs: 2_000, gapJitterMs: 1_000 },
      as: anna,
    })
    await world.acceptMany(22, id)
    await world.lane(id, { reason: 'rate_limited', until: NOON + 10_000, words: 'ask 15550100001 later' })

    const { wait, waiting, pace, doneAt } = await world.call('readConnection', { params: of(), as: anna })
    const first = await world.call('readLane', { params: of(), as: anna })
    const second = await world.call('readLane', { params: of(), query: { after: first.next ?? '' }, as: anna })

    assert.deepEqual([wait?.code, wait?.until, wait?.canBeEnded], ['rate_limited', NOON + 10_000, true])
    assert.deepEqual([waiting.count, pace.perMessageMs, doneAt], [22, 2_500, NOON + 10_000 + 21 * 2_500])
    const all = [...first.items, ...second.items]
    assert.deepEqual([all.length, second.next], [22, null])
    assert.deepEqual([all[0]?.position, all[0]?.estimatedAt], [1, NOON + 10_000])
    assert.deepEqual([all[21]?.position, all[21]?.estimatedAt], [22, NOON + 10_000 + 21 * 2_500])
    assert.equal(all[0]?.expiresAt, NOON + DEFAULT_LANE_POLICY.timeToLiveMs)

    await world.call('endWait', { params: of(), as: anna })
    assert.equal(await world.refusal('endWait', { params: of(), as: anna }), '409 lane_not_waiting')
    await world.call('pauseConnection', { params: of(), as: anna })
    const paused = await world.call('readLane', { params: of(), as: anna })
    const { doneAt: unknown } = await world.call('readConnection', { params: of(), as: anna })
    assert.deepEqual([paused.items[0]?.estimatedAt, unknown], [null, null])
  })

  it('say when their lane is done only up to the next quiet hours', async () => {
    const quietFrom = async (from: string, to: string) => {
      const quietHours = { from, to, timeZone: 'UTC' }
      const body = { ...DEFAULT_LANE_POLICY, leastGapMs: 60_000, quietHours }
      const { doneAt } = await world.call('changeLane', { params: of(), body, as: anna })
      const { items } = await world.call('readLane', { params: of(), as: anna })
      return [doneAt, items[10]?.estimatedAt, items[9]?.estimatedAt]
    }
    await world.acceptMany(11, id)
    const minutes = (count: number) => NOON + count * 60_000

    assert.deepEqual(await quietFrom('12:11', '13:00'), [minutes(10), minutes(10), minutes(9)])
    assert.deepEqual(await quietFrom('12:10', '13:00'), [null, null, minutes(9)])
    assert.deepEqual(await quietFrom('11:00', '12:30'), [minutes(40), minutes(40), minutes(39)])
  })

  it('hide recipients from viewers, who cannot change anything', async () => {
    const viewer = await world.visitor(account, 'viewer')
    const { id: message } = await world.accept({ connectionId: id })
    await world.accept({ connectionId: id, state: 'UNCONFIRMED', reason: 'result_unknown' })
    await world.lane(id, { reason: 'rate_limited', until: NOON + 10_000, words: 'ask 15550100001 later' })

    const { items } = await world.call('readLane', { params: of(), as: viewer })
    const unresolved = await world.call('listUnresolved', { params: { account }, as: viewer })
    const { wait } = await world.call('readConnection', { params: of(), as: viewer })
    const texts = JSON.stringify([items, unresolved, wait])
    const acts = await Promise.all([
      world.refusal('pauseConnection', { params: of(), as: viewer }),
      world.refusal('cancelWaiting', { params: of(), body: { upTo: null }, as: viewer }),
      world.refusal('removeConnection', { params: of(), body: { cancelWaiting: true }, as: viewer }),
      world.refusal('cancelMessage', { params: of(message), as: viewer }),
      world.refusal('resolveMessage', { params: of(message), body: { as: 'arrived' }, as: viewer }),
    ])

    assert.equal(/1555010000/.test(texts), false, texts)
    assert.deepEqual([items.length, unresolved.items.length], [1, 1])
    assert.deepEqual(new Set(acts), new Set(['403 role_too_low']))
  })

  it('say of unresolved messages what their own network did', async () => {
    const { sequence } = await world.accept({ connectionId: id, state: 'UNCONFIRMED', reason: 'result_unknown' })
    await world.run('update connection set channel = ? where id = ?', 'whatsapp-cloud', id)
    await world.database.rewriteMessage(sequence, { words: 'Meta did not answer in time' })

    const [unresolved] = (await world.call('listUnresolved', { params: { account }, as: anna })).items

    assert.equal(unresolved?.sentence, 'Meta gave no answer, and no report shows whether it arrived.')
    assert.deepEqual(unresolved?.quote, { speaker: 'Nuncio noted', words: 'Meta did not answer in time' })
  })

  it('say of unresolved messages why one cannot be sent again, and what can be done instead', async () => {
    const noResend = async () =>
      (await world.call('listUnresolved', { params: { account }, as: anna })).items.map((item) => item.noResend)
    const removed = await world.connection(account, '15550001001')
    await world.accept({ connectionId: removed, state: 'UNCONFIRMED', reason: 'result_unknown' })
    await world.accept({ connectionId: id, state: 'UNCONFIRMED', reason: 'result_unknown', to: '15550100009' })
    const before = await noResend()

    await world.administration.removeConnection(removed, false, 'anna')
    await world.call('blockRecipient', { params: { account }, body: { number: '15550100009' }, as: anna })
    const after = await noResend()
    await world.connection(account, '15550001001')

    assert.deepEqual(before, [null, null])
    assert.deepEqual(after, [
      '15550100009 is on the block list now. If you know that it arrived, choose “It arrived”. Else unblock it before you send it again.',
      'It cannot be sent again: 15550001001 was removed. If you know that it arrived, choose “It arrived”. Else send a new message from another number, or add 15550001001 again.',
    ])
    assert.equal((await noResend())[1], null)
  })

  it('G10: say of a lane whose messages each wait for something what the oldest waits for, as the overview does', async () => {
    await world.call('changeLane', { params: of(), body: { ...DEFAULT_LANE_POLICY, leastGapMs: 2_000 }, as: anna })
    const words = '30 of 30 new recipients were written to within 24 hours, so none is left.'
    const { id: message } = await world.accept({ connectionId: id })
    const wait = { kind: 'rate-limit', reason: 'new_recipients', words, until: NOON + 3 * 3_600_000 }
    const retry = JSON.stringify({ tries: 0, resent: false, crashes: 0, wait })
    await world.run('update message set retry = ? where id = ?', retry, message)
    await world.lane(id, { reason: 'all_deferred', until: NOON + 60_000 })

    const { wait: shown, doneAt } = await world.call('readConnection', { params: of(), as: anna })
    const overview = await world.call('readOverview', { params: { account }, as: anna })

    const { code, sentence, until, canBeEnded } = shown ?? {}
    const said = `${words} More is allowed from 15:00 UTC on.`
    assert.deepEqual([code, sentence, until, canBeEnded], ['new_recipients', said, NOON + 3 * 3_600_000, false])
    assert.deepEqual([overview.lanes[0]?.meaning, overview.lanes[0]?.until], [said, NOON + 3 * 3_600_000])
    assert.equal(doneAt, null)
    await world.lane(id, { reason: 'pace', until: NOON + 60_000 })
    const { lanes } = await world.call('readOverview', { params: { account }, as: anna })
    assert.equal(lanes[0]?.meaning, '15550001000 sends one message each 2 s.')
  })

  it('do not say when a lane is done that waits for a person, though it is tried again', async () => {
    await world.call('changeLane', { params: of(), body: { ...DEFAULT_LANE_POLICY, leastGapMs: 2_000 }, as: anna })
    await world.acceptMany(2, id)
    await world.lane(id, { reason: 'rate_limited', until: NOON + 60_000 })
    const { doneAt: byItself } = await world.call('readConnection', { params: of(), as: anna })
    await world.lane(id, { reason: 'credentials_refused', until: NOON + 60_000 })
    const { doneAt: byPerson } = await world.call('readConnection', { params: of(), as: anna })

    assert.deepEqual([byItself !== null, byPerson], [true, null])
  })

  it('G10: say of a waiting message the same in the log as in its lane', async () => {
    const first = await world.accept({ connectionId: id, to: '15550100001' })
    await world.accept({ connectionId: id, to: '15550100002' })
    await world.accept({ connectionId: id, to: '15550100001' })
    const wait = { kind: 'retry', reason: 'retrying', words: null, until: NOON + 60_000 }
    const retry = JSON.stringify({ tries: 1, resent: false, crashes: 0, wait })
    await world.run('update message set retry = ? where id = ?', retry, first.id)

    await world.lane(id, { reason: 'all_deferred', until: NOON + 60_000 })

    const { wait: ofLane } = await world.call('readConnection', { params: of(), as: anna })
    assert.deepEqual([ofLane?.code, ofLane?.canBeEnded], ['retrying', true])
    const lane = await world.call('readLane', { params: of(), query: {}, as: anna })
    const inLane = [...lane.deferred.items, ...lane.items]
    const ids = inLane.map((message) => message.id).join(',')
    const inLog = await world.call('listPlaces', { params: { account }, query: { ids }, as: anna })

    const placed = new Map(inLog.items.map((place) => [place.id, place]))
    const said = (of: (typeof inLane)[number] | (typeof inLog.items)[number] | undefined) =>
      of && [of.position, of.wait?.list, of.wait?.until, of.behind, of.estimatedAt]
    assert.deepEqual(
      inLane.map((message) => said(placed.get(message.id))),
      inLane.map(said),
    )
    assert.deepEqual(
      inLane.map(({ behind, wait: own }) => [behind, own?.list ?? null]),
      [
        [null, 'Retry'],
        [{ text: 'an earlier text to the same recipient: it is tried again', at: NOON + 60_000 }, null],
        [null, null],
      ],
    )
  })

  it('are renamed by developers, found by a part of the name, and named wherever they are chosen', async () => {
    const rename = (name: string, as = anna) => ({ params: of(), body: { name }, as })
    const find = async (words: string) =>
      (await world.call('listConnections', { params: { account }, query: { find: words }, as: anna })).items.map(
        ({ number, name }) => [number, name],
      )
    await world.connection(account, '15550001001')
    const { id: message } = await world.accept({ connectionId: id })

    const named = await world.call('renameConnection', rename(' Front Desk '))
    const refused = [
      await world.refusal('renameConnection', rename('x'.repeat(61))),
      await world.refusal('renameConnection', rename('Mine', await world.visitor(account, 'viewer'))),
    ]
    const found = [await find('desk'), await find('15550001001'), await find('kitchen')]
    const places = [
      (await world.call('showLogEntry', { params: of(message), as: anna })).message?.connection.name,
      (await world.call('listLog', { params: { account }, query: {}, as: anna })).items[0]?.connectionName,
      (await world.call('listSandboxes', { params: { account }, as: anna })).connections[0]?.name,
      (await world.call('describeTokenForm', { params: { account }, as: anna })).connections[0]?.name,
      (await world.call('readOverview', { params: { account }, as: anna })).lanes[0]?.name,
    ]
    const unnamed = await world.call('renameConnection', rename(''))

    assert.deepEqual([named.name, unnamed.name], ['Front Desk', null])
    assert.deepEqual(refused, ['400 input_invalid', '403 role_too_low'])
    assert.deepEqual(found, [[['15550001000', 'Front Desk']], [['15550001001', null]], []])
    assert.deepEqual(places, Array(5).fill('Front Desk'))
    assert.equal((await world.audit()).filter((action) => action === 'connection.change').length, 2)
  })

  it('accept settings only within their limits', async () => {
    const quietHours = { from: '22:00', to: '07:00', timeZone: 'Europe/Berlin' }
    const set = (body: object) => ({ params: of(), body: { ...DEFAULT_LANE_POLICY, ...body }, as: anna })

    const { lane } = await world.call('changeLane', set({ quietHours, onUnconfirmed: 'resend' }))
    const wrong = await Promise.all(
      [
        { timeToLiveMs: LANE_LIMITS.timeToLiveMs.most + 1 },
        { leastGapMs: -1 },
        { quietHours: { ...quietHours, to: '22:00' } },
        { quietHours: { ...quietHours, timeZone: 'Mars' } },
        { quietHours: { ...quietHours, from: '25:00' } },
      ].map((body) => world.refusal('changeLane', set(body))),
    )

    assert.deepEqual(lane, { ...DEFAULT_LANE_POLICY, quietHours, onUnconfirmed: 'resend' })
    assert.deepEqual(new Set(wrong), new Set(['400 input_invalid']))
  })

  it('have channel settings changed one by one, after step-up', async () => {
    const set = (settings: Record<string, string>) => ({ params: of(), body: { settings }, as: anna })
    const values = ({ channelSettings }: { channelSettings: { value: string | null }[] }) =>
      channelSettings.map(({ value }) => value)

    const first = await world.call('changeChannelSettings', set({ latency: '1s', read_after: '3s' }))
    const second = await world.call('changeChannelSettings', set({ latency: '', delivered_after: 'never' }))
    world.now += STEP_UP_LASTS_MS + 1
    const late = await world.refusal('changeChannelSettings', set({ latency: '1s' }))
    const remove = await world.refusal('removeConnection', { params: of(), body: { cancelWaiting: true }, as: anna })

    assert.deepEqual(values(first), ['1s', null, '3s'])
    assert.deepEqual(values(second), [null, 'never', '3s'])
    assert.deepEqual([late, remove], ['403 step_up_required', '403 step_up_required'])
  })

  it('cancel only old messages, by the clock of the server', async () => {
    const old = [await world.accept({ connectionId: id }), await world.accept({ connectionId: id })]
    world.now += 600_000
    const young = await world.accept({ connectionId: id })
    const olderThan = (olderThanMs: number) => ({ params: of(), body: { upTo: null, olderThanMs }, as: anna })

    const none = await world.call('cancelWaiting', olderThan(600_001))
    const some = await world.call('cancelWaiting', olderThan(300_000))
    const { items } = await world.call('readLane', { params: of(), as: anna })

    assert.deepEqual(
      [none, some],
      [
        { cancelled: 0, unconfirmed: 0, upTo: null },
        { cancelled: old.length, unconfirmed: 0, upTo: null },
      ],
    )
    assert.deepEqual(
      items.map(({ id }) => id),
      [young.id],
    )
    assert.equal(await world.refusal('cancelWaiting', olderThan(0)), '400 input_invalid')
  })

  it('are emptied and removed on request, and single messages are cancelled or resolved', async () => {
    const waiting = await world.accept({ connectionId: id })
    await world.acceptMany(3, id)
    const doubtful = await world.accept({ connectionId: id, state: 'UNCONFIRMED', reason: 'result_unknown' })
    const failed = await world.accept({ connectionId: id, state: 'FAILED', reason: 'recipient_refused' })
    const remove = (cancelWaiting: boolean) => ({ params: of(), body: { cancelWaiting }, as: anna })

    const arrived = await world.call('resolveMessage', {
      params: of(doubtful.id),
      body: { as: 'arrived' },
      as: anna,
    })
    const retried = await world.call('retryMessage', { params: of(failed.id), as: anna })
    const cancelled = await world.call('cancelMessage', { params: of(waiting.id), as: anna })
    const refused = await world.refusal('removeConnection', remove(false))
    const emptied = await world.call('cancelWaiting', { params: of(), body: { upTo: null }, as: anna })
    const removed = await world.call('removeConnection', remove(false))

    assert.deepEqual([arrived.state, retried.state, cancelled.state], ['PUBLISHED', 'QUEUED', 'CANCELLED'])
    assert.notEqual(retried.id, failed.id)
    assert.equal(refused, '409 connection_has_waiting')
    assert.deepEqual(emptied, { cancelled: 4, unconfirmed: 0, upTo: null })
    assert.deepEqual(removed, { isRemoved: true, cancelled: 0, unconfirmed: 0 })
    assert.equal(await world.refusal('readConnection', { params: of(), as: anna }), '404 connection_unknown')
    const actors = new Set((await world.audited('%')).map(({ actor }) => actor))
    assert.deepEqual([...actors], ['test', anna.email])
  })
})
