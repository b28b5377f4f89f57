import assert from 'node:assert/strict'
import type { AccountId, ConnectionId, MessageId } from '../../../src/core/ids.ts'
import type { Administration, MessageFilter, RequestFilter } from '../../../src/core/ports/administration.ts'

const PAGE = 20
const ACCOUNT = 'acc3' as AccountId
const ALL_MESSAGES: MessageFilter = { accountId: null, connectionId: null, state: null, limit: PAGE }
const ALL_REQUESTS: RequestFilter = { accountId: null, tokenIds: null, connection: null, statuses: null, limit: PAGE }

/** The queries of a person, by their names in a report. Lists are read page by page. */
export const QUESTIONS: Readonly<Record<string, (of: Administration, ids: readonly MessageId[]) => Promise<unknown>>> =
  {
    'all messages': (of) => page(of.listMessages(ALL_MESSAGES)),
    'messages of an account': (of) => page(of.listMessages({ ...ALL_MESSAGES, accountId: ACCOUNT })),
    'messages of a connection': (of) =>
      page(of.listMessages({ ...ALL_MESSAGES, connectionId: 'con3' as ConnectionId })),
    'messages that wait': (of) => page(of.listMessages({ ...ALL_MESSAGES, state: 'QUEUED' })),
    'messages that wait on a connection': (of) =>
      page(of.listMessages({ ...ALL_MESSAGES, state: 'QUEUED', connectionId: 'con3' as ConnectionId })),
    'messages that failed': (of) => page(of.listMessages({ ...ALL_MESSAGES, state: 'FAILED' })),
    'messages that failed, of an account': (of) =>
      page(of.listMessages({ ...ALL_MESSAGES, state: 'FAILED', accountId: 'acc0' as AccountId })),
    'messages that were read': (of) => page(of.listMessages({ ...ALL_MESSAGES, state: 'READ' })),
    'messages that are sent': (of) =>
      of
        .listMessages({ ...ALL_MESSAGES, state: 'SENDING' })
        [Symbol.asyncIterator]()
        .next(),
    'unresolved messages': (of) => of.listUnresolved(null),
    'unresolved messages of an account': (of) => of.listUnresolved('acc0' as AccountId),
    'a message': async (of, ids) => {
      for (const id of ids) await of.explainMessage(id)
    },
    'all requests': (of) => page(of.listRequests(ALL_REQUESTS)),
    'requests of an account': (of) => page(of.listRequests({ ...ALL_REQUESTS, accountId: ACCOUNT })),
    'requests of a connection': (of) =>
      page(of.listRequests({ ...ALL_REQUESTS, accountId: ACCOUNT, connection: '15550000003' })),
    'requests that were refused': (of) => page(of.listRequests({ ...ALL_REQUESTS, statuses: { from: 400, to: 499 } })),
    'all connections': (of) => of.listConnections(null),
    'connections of an account': (of) => of.listConnections(ACCOUNT),
    'a connection': (of) => of.findConnection('15550000003', null),
    tokens: (of) => of.listTokens(null),
    workers: (of) => of.listWorkers(),
    'held lanes': (of) => of.listHeldLanes(),
    'a request': (of) => of.findRequest('req-2-77', null),
  }

/** The changes that a person makes. */
export const CHANGES: typeof QUESTIONS = {
  'cancelling a message': async (of) => {
    const waiting = { ...ALL_MESSAGES, state: 'QUEUED', connectionId: 'con900' as ConnectionId, limit: 1 } as const
    for await (const { id } of of.listMessages(waiting)) await of.cancelMessage(id, 'test')
  },
  'retrying a message': async (of) => {
    for await (const { id } of of.listMessages({ ...ALL_MESSAGES, state: 'FAILED', limit: 1 }))
      await of.retryMessage(id, 'test')
  },
  'resolving a message': async (of) => {
    const [first] = await of.listUnresolved(null)
    await of.resolveMessage(first!.id, 'send-again', 'test')
  },
  'removing a connection': (of) => of.removeConnection('con901' as ConnectionId, true, 'test'),
  'holding all lanes': async (of) => {
    await of.holdLanes('test', 'test')
    await of.releaseHold('test')
  },
}

async function page<Item>(list: AsyncIterable<Item>): Promise<void> {
  let count = 0
  for await (const _ of list) count += 1
  assert.equal(count, PAGE)
}
