import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { InboxRecord } from '../../../channels/sandbox/inbox.ts'
import type { AccountId, ConnectionId, MessageId } from '../../../core/ids.ts'
import type { InboxViews } from '../../../core/ports/console/inbox.ts'
import { CHATS_READ, createInboxViews } from './inbox.ts'

const ANNA = '15550100101'
const BEN = '15550100102'
const NEWEST = { before: null, find: null, limit: 10 }

let world: AdministrationWorld
let inbox: InboxViews
let accountId: AccountId
let connectionId: ConnectionId
let delivered: number

describe.each(ENGINES)('the inbox of a sandbox connection, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    inbox = createInboxViews(world.store)
    accountId = await world.account()
    connectionId = await world.connection(accountId, '15550001000')
    delivered = 0
    return close
  })

  it('lists who got something last, with the newest words and how many', async () => {
    await deliver({ to: ANNA, text: 'one' })
    await deliver({ to: BEN, text: 'two' })
    await deliver({ to: ANNA, type: 'image', name: 'a.png', caption: 'Photo' })
    await remember('never#1', null)

    const page = await inbox.listChats(own(), NEWEST)

    assert.deepEqual(page, {
      items: [
        { to: ANNA, lastType: 'image', lastText: 'Photo', lastAt: NOON + 3, count: 2 },
        { to: BEN, lastType: 'message', lastText: 'two', lastAt: NOON + 2, count: 1 },
      ],
      next: null,
      scanned: 4,
      isAll: true,
    })
  })

  it('pages through chats, and goes on where it ended although something came in between', async () => {
    for (const to of ['15550100201', '15550100202', '15550100203', '15550100204']) await deliver({ to })

    const first = await inbox.listChats(own(), { ...NEWEST, limit: 2 })
    await deliver({ to: '15550100205' })
    const second = await inbox.listChats(own(), { ...NEWEST, before: first?.next ?? null, limit: 2 })

    assert.deepEqual(
      first?.items.map(({ to }) => to),
      ['15550100204', '15550100203'],
    )
    assert.deepEqual(
      second?.items.map(({ to }) => to),
      ['15550100202', '15550100201'],
    )
    assert.equal(second?.next, null)
  })

  it('finds chats by digits of the number, and by texts, captions and names of files', async () => {
    await deliver({ to: ANNA, text: 'Your Order 1042 is 100% ready' })
    await deliver({ to: ANNA, text: 'Danke' })
    await deliver({ to: BEN, type: 'image', name: 'cake.png', caption: 'Für Dich' })
    await remember('never#1', null)
    const find = async (words: string) =>
      (await inbox.listChats(own(), { ...NEWEST, find: words }))?.items.map(({ to, lastText, count }) => [
        to,
        lastText,
        count,
      ])
    const order = [[ANNA, 'Your Order 1042 is 100% ready', 1]]
    const cake = [[BEN, 'Für Dich', 1]]

    assert.deepEqual([await find('order 10'), await find('0% r'), await find('1042')], [order, order, order])
    assert.deepEqual(
      [await find('CAKE'), await find('für'), await find('Für'), await find(BEN.slice(2))],
      Array(4).fill(cake),
    )
    assert.deepEqual([await find('0_ r'), await find('message'), await find('\\')], [[], [], []])
  })

  it('shows a thread in order of delivery, the newest page first', async () => {
    for (let i = 1; i <= 5; i++) {
      await deliver({ to: ANNA, text: `to Anna ${i}` })
      await deliver({ to: BEN, text: `to Ben ${i}` })
    }

    const first = await inbox.readConversation(own(), ANNA, { before: null, limit: 2 })
    const second = await inbox.readConversation(own(), ANNA, { before: first?.next ?? null, limit: 2 })
    const third = await inbox.readConversation(own(), ANNA, { before: second?.next ?? null, limit: 2 })

    assert.deepEqual(
      [first, second, third].map((page) => page?.items.map(({ text }) => text)),
      [['to Anna 4', 'to Anna 5'], ['to Anna 2', 'to Anna 3'], ['to Anna 1']],
    )
    assert.equal(third?.next, null)
  })

  it('shows a message that was delivered twice as two, in order of delivery', async () => {
    await deliver({ to: ANNA, text: 'first', key: 'b#1' })
    await deliver({ to: ANNA, text: 'other', key: 'a#1' })
    await deliver({ to: ANNA, text: 'first', key: 'b#2' })

    const page = await inbox.readConversation(own(), ANNA, NEWEST)

    assert.deepEqual(
      page?.items.map(({ messageId, attempt }) => [messageId, attempt]),
      [
        ['b', 1],
        ['a', 1],
        ['b', 2],
      ],
    )
  })

  it('shows the current state of each message, and its request', async () => {
    for (const state of ['QUEUED', 'PUBLISHED', 'DELIVERED', 'READ', 'UNCONFIRMED']) {
      const { id } = await world.accept({ connectionId, state })
      await deliver({ to: ANNA, key: `${id}#1` })
    }
    const open = await world.accept({ connectionId })
    await world.openAttempt(connectionId, open.sequence)
    await deliver({ to: ANNA, key: `${open.id}#1` })
    await deliver({ to: ANNA, key: 'kept-no-more#1' })

    const page = await inbox.readConversation(own(), ANNA, NEWEST)

    assert.deepEqual(
      page?.items.map(({ state, requestId }) => [state, requestId]),
      [
        ['QUEUED', 'request-1'],
        ['PUBLISHED', 'request-2'],
        ['DELIVERED', 'request-3'],
        ['READ', 'request-4'],
        ['UNCONFIRMED', 'request-5'],
        ['SENDING', 'request-6'],
        [null, null],
      ],
    )
  })

  it('explains a delivery with its body and its receipts', async () => {
    const { id, sequence } = await world.accept({ connectionId, state: 'READ' })
    await deliver({ to: ANNA, text: 'Hello', key: `${id}#1` })
    for (const [position, kind] of ['receipt-delivered', 'receipt-read'].entries()) {
      await world.run(
        'insert into timeline (message_sequence, position, at, kind) values (?, ?, ?, ?)',
        sequence,
        position + 1,
        NOON + 5_000 + position,
        kind,
      )
    }

    const timeline = await inbox.explainDelivery(own(), `${id}#1`)

    assert.equal(timeline?.connection, '15550001000')
    assert.equal(timeline?.to, ANNA)
    assert.equal(JSON.parse(timeline?.body ?? '').message.message, 'Hello')
    assert.deepEqual(
      [timeline?.acceptedAt, timeline?.deliveredAt, timeline?.readAt],
      [NOON, NOON + 5_000, NOON + 5_001],
    )
    assert.equal(await inbox.explainDelivery(own(), 'unknown#1'), null)
  })

  it('finds the file of a message, whichever attempt delivered it, and none where none was', async () => {
    await remember('m1#1', null)
    await deliver({ to: ANNA, type: 'image', name: 'a.png', key: 'm1#2' })
    await deliver({ to: ANNA, text: 'no file', key: 'm2#1' })
    await deliver({ to: ANNA, type: 'image', name: 'other.png', key: 'm10#1' })

    const names = await Promise.all(
      ['m1', 'm2', 'm3', 'm', '%', ''].map(async (id) => (await inbox.findMedia(own(), id as MessageId))?.name ?? null),
    )

    assert.deepEqual(names, ['a.png', null, null, null, null, null])
  })

  it('shows nothing of another account, of another connection or of another channel', async () => {
    const other = await world.account('Other')
    await deliver({ to: ANNA, text: 'secret', type: 'image', name: 'a.png', key: 'm1#1' })
    const second = await world.connection(accountId, '15550001001')
    const foreign = { accountId: other, connectionId }
    const unknown = { accountId, connectionId: 'unknown' as ConnectionId }

    for (const of of [foreign, unknown]) {
      assert.equal(await inbox.listChats(of, NEWEST), null)
      assert.equal(await inbox.readConversation(of, ANNA, NEWEST), null)
      assert.equal(await inbox.explainDelivery(of, 'm1#1'), null)
      assert.equal(await inbox.findMedia(of, 'm1' as MessageId), null)
    }
    assert.deepEqual((await inbox.listChats({ accountId, connectionId: second }, NEWEST))?.items, [])
    assert.deepEqual(await inbox.listSandboxes(other), [])
    await world.run(`update connection set channel = 'another' where id = ?`, connectionId)
    assert.equal(await inbox.listChats(own(), NEWEST), null)
  })

  it('lists the sandbox connections of the account with the time of their newest delivery, removed ones last', async () => {
    await deliver({ to: ANNA, text: 'first' })
    await deliver({ to: BEN, text: 'last' })
    const newest = await inbox.listChats(own(), NEWEST)
    const later = await world.connection(accountId, '15550000999')
    await world.run(`update connection set state = 'removed' where id = ?`, later)

    assert.deepEqual(await inbox.listSandboxes(accountId), [
      { id: connectionId, number: '15550001000', name: null, state: 'active', lastAt: newest?.items[0]?.lastAt },
      { id: later, number: '15550000999', name: null, state: 'removed', lastAt: null },
    ])
  })

  it('scans a bounded part, says so, and finds older rows step by step', async () => {
    await deliver({ to: BEN, text: 'long ago' })
    await deliverMany(ANNA, 20_000)

    const chats = await inbox.listChats(own(), NEWEST)
    const steps: (number | null)[] = []
    const found: (string | null)[] = []
    let before: number | null = null
    do {
      const page = await inbox.readConversation(own(), BEN, { before, limit: 10 })
      found.push(...(page?.items.map(({ text }) => text) ?? []))
      before = page?.next ?? null
      steps.push(before)
    } while (before !== null)

    assert.deepEqual(
      chats?.items.map(({ to, count }) => [to, count]),
      [[ANNA, CHATS_READ]],
    )
    assert.deepEqual([chats?.scanned, chats?.isAll], [CHATS_READ, false])
    assert.deepEqual(found, ['long ago'])
    assert.ok(steps.length === 3, `${steps.length} steps`)
  })
})

function own() {
  return { accountId, connectionId }
}

type Delivered = Partial<InboxRecord> & { readonly to: string; readonly key?: string }

async function deliver({ key = `message-${delivered + 1}#1`, ...given }: Delivered): Promise<void> {
  const plain = { type: 'message', text: null, caption: null, name: null, sizeBytes: null, sha256: null, mime: null }
  await remember(key, { ...plain, path: null, ...given })
}

async function remember(key: string, record: InboxRecord | null): Promise<void> {
  delivered += 1
  await world.run(
    `insert into channel_memory (kind, connection_id, key, value, at) values ('sandbox.inbox', ?, ?, ?, ?)`,
    connectionId,
    key,
    JSON.stringify(record),
    NOON + delivered,
  )
}

async function deliverMany(to: string, count: number): Promise<void> {
  await world.run(
    `with recursive counted (i) as (select 1 union all select i + 1 from counted where i < ${count})
     insert into channel_memory (kind, connection_id, key, value, at)
     select 'sandbox.inbox', c.id, 'many-' || i || '#1', ?, ? from connection c cross join counted where c.id = ?`,
    JSON.stringify({ to, type: 'message', text: 'Hello', caption: null, name: null, path: null }),
    NOON,
    connectionId,
  )
}
