import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import {
  AdministrationWorld,
  ENGINES,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import { sandboxRoutes } from '../../../contract/console/sandbox.ts'
import type { AccountId, ConnectionId } from '../../../core/ids.ts'
import { Refusal } from '../../../core/refusals.ts'
import { createInboxViews } from '../../../storage/queries/inbox/inbox.ts'
import type { ConsoleDeps } from '../console-deps.ts'
import type { AccountRequest } from '../request-context.ts'
import { sandboxHandlers } from './sandbox-handlers.ts'

const ANNA = '15550100101'
const COMMAND = { recipient: '15550100001', happens: 'refused for ever', ends: 'FAILED' }

let world: AdministrationWorld
let account: AccountId
let connection: ConnectionId
let read: object[]
let removed: string[]
/** Of this message no copy can be removed. */
let broken: string | null
let handlers: ReturnType<typeof sandboxHandlers>
let context: AccountRequest

describe.each(ENGINES)('the routes of the sandbox inbox, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    read = []
    removed = []
    broken = null
    const close = await world.open(engine)
    account = await world.account()
    connection = await world.connection(account)
    const sandbox = {
      commands: [COMMAND],
      openCopy: async () => null,
      markRead: async (one: object) => void read.push(one),
      removeCopy: async (id: string) => {
        removed.push(id)
        if (id === broken) throw new Error('no access to its file')
      },
    }
    handlers = sandboxHandlers({ store: { inbox: createInboxViews(world.store) }, sandbox } as unknown as ConsoleDeps)
    context = { accountId: account, actor: 'anna' } as unknown as AccountRequest
    return close
  })

  it('answer in the shapes of their contract', async () => {
    const { id } = await world.accept({ connectionId: connection, state: 'PUBLISHED' })
    await deliver(`${id}#1`, { type: 'message', text: 'Hello' })
    await deliver('kept-no-more#1', { type: 'image', text: null, name: 'a.png' })
    const [of, ask] = [
      { account, connection },
      { query: {}, body: {} },
    ]

    const sandboxes = await handlers.listSandboxes({ params: { account }, ...ask }, context)
    const chats = await handlers.listChats({ params: of, ...ask }, context)
    const thread = await handlers.readConversation({ params: { ...of, to: ANNA }, ...ask }, context)
    const timeline = await handlers.explainDelivery({ params: { ...of, key: `${id}#1` }, ...ask }, context)

    assert.deepEqual(sandboxRoutes.listSandboxes.reply.parse(sandboxes), sandboxes)
    assert.deepEqual(sandboxRoutes.listChats.reply.parse(chats), chats)
    assert.deepEqual(sandboxRoutes.readConversation.reply.parse(thread), thread)
    assert.deepEqual(sandboxRoutes.explainDelivery.reply.parse(timeline), timeline)
    assert.deepEqual(sandboxes.commands, [COMMAND])
  })

  it('page by the cursor that they give', async () => {
    for (let i = 1; i <= 51; i++) await deliver(`message-${i}#1`, { type: 'message', text: `${i}` })
    const params = { account, connection, to: ANNA }

    const newest = await handlers.readConversation({ params, query: {}, body: {} }, context)
    const query = sandboxRoutes.readConversation.query.parse({ before: newest.next })
    const oldest = await handlers.readConversation({ params, query, body: {} }, context)

    assert.deepEqual([newest.items.at(0)?.text, newest.items.at(-1)?.text], ['2', '51'])
    assert.deepEqual([oldest.items.map(({ text }) => text), oldest.next], [['1'], null])
  })

  it('read what was not read yet, noted in the audit log, and nothing of another recipient', async () => {
    for (let at = 0; at < 60; at++) {
      const { id } = await world.accept({ connectionId: connection, state: at === 3 ? 'READ' : 'PUBLISHED' })
      await deliver(`${id}#1`, { type: 'message', text: 'Hello', ...(at === 5 && { to: '15550100102' }) })
    }

    const marked = await handlers.markChatRead(
      { params: { account, connection, to: ANNA }, query: {}, body: {} },
      context,
    )

    assert.deepEqual([marked, read.length], [{ count: 58 }, 58])
    assert.deepEqual((await world.audit()).slice(-1), ['message.mark-read'])
    assert.ok(read.every((one) => (one as { attemptNumber: number }).attemptNumber === 1))
  })

  it('clear what was delivered, noted in the audit log, but not where nobody knows yet whether it was', async () => {
    for (const state of ['PUBLISHED', 'FAILED', 'UNCONFIRMED', 'QUEUED'] as const) {
      const { id } = await world.accept({ connectionId: connection, state })
      await deliver(`${id}#1`, { type: 'image', text: state, name: 'a.png', path: '/copy' })
    }
    await deliver('kept-no-more#1', { type: 'message', text: 'Hello' })
    await world.deliver(connection, 'never#1', null)
    const ask = { params: { account, connection }, query: {}, body: {} }

    const cleared = await handlers.clearInbox(ask, context)
    const again = await handlers.clearInbox(ask, context)

    const thread = await handlers.readConversation({ ...ask, params: { ...ask.params, to: ANNA } }, context)
    const kept = await world.all(`select key from channel_memory where key = 'never#1'`)
    assert.deepEqual([cleared, again, removed.length, kept.length], [{ count: 3 }, { count: 0 }, 2, 1])
    assert.deepEqual(
      thread.items.map(({ text }) => text),
      ['UNCONFIRMED', 'QUEUED'],
    )
    assert.deepEqual((await world.audit()).slice(-1), ['sandbox.clear'])
  })

  it('clear a second page, too, and remove all copies but the one that cannot be, which they report', async () => {
    for (let count = 0; count < 1_001; count += 1)
      await deliver(`m${count}#1`, { type: 'image', text: null, name: 'a.png', path: '/copy' })
    broken = 'm1000'

    const clearing = handlers.clearInbox({ params: { account, connection }, query: {}, body: {} }, context)

    await assert.rejects(clearing, /A copy of a file could not be removed/)
    assert.equal(removed.length, 1_001)
    assert.deepEqual(await world.all(`select key from channel_memory where kind = 'sandbox.inbox'`), [])
  })

  it('refuse objects of another account like unknown ones', async () => {
    await deliver('m1#1', { type: 'message', text: 'secret' })
    const stranger = { accountId: await world.account('Other'), actor: 'eve' } as unknown as AccountRequest
    const ask = { query: {}, body: {} }
    const refusals = (id: string) => [
      handlers.listChats({ params: { account, connection: id }, ...ask }, stranger),
      handlers.readConversation({ params: { account, connection: id, to: ANNA }, ...ask }, stranger),
      handlers.markChatRead({ params: { account, connection: id, to: ANNA }, ...ask }, stranger),
      handlers.clearInbox({ params: { account, connection: id }, ...ask }, stranger),
      handlers.explainDelivery({ params: { account, connection: id, key: 'm1#1' }, ...ask }, stranger),
      handlers.readSandboxMedia({ params: { account, connection: id, message: 'm1' }, ...ask }, stranger),
    ]

    const foreign = await Promise.all(refusals(connection).map(codeOf))
    const unknown = await Promise.all(refusals('con_unknown').map(codeOf))

    assert.deepEqual(foreign, [
      'connection_unknown',
      'connection_unknown',
      'connection_unknown',
      'connection_unknown',
      'delivery_unknown',
      'delivery_unknown',
    ])
    assert.deepEqual(unknown, foreign)
  })
})

function codeOf(refused: Promise<unknown>): Promise<unknown> {
  return refused.then(
    () => 'answered',
    (error: unknown) => (error instanceof Refusal ? error.code : error),
  )
}

async function deliver(key: string, record: Readonly<Record<string, unknown>>): Promise<void> {
  const plain = { to: ANNA, caption: null, name: null, sizeBytes: null, sha256: null, mime: null, path: null }
  await world.deliver(connection, key, { ...plain, ...record })
}
