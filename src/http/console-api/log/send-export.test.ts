import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { beforeEach, describe, it } from 'vitest'
import { ConsoleWorld, type Visitor } from '../../../../test/support/console-world/console-world.ts'
import { HandMovedClock } from '../../../../test/support/console-world/hand-moved-clock.ts'
import type { AccountId } from '../../../core/ids.ts'
import type { LogEntryView, LogPageView } from '../../../core/ports/console/api-log.ts'
import type { AccountRequest } from '../request-context.ts'
import { logHandlers } from './log-handlers.ts'

const ENTRY = {
  receivedAt: 1,
  status: 400,
  requestId: 'x'.repeat(400),
  errors: [],
  outcome: 'refused',
  userAgent: 'x'.repeat(200),
} as unknown as LogEntryView

let clock: HandMovedClock
let pagesRead: number
let isAllowed: boolean
let handlers: ReturnType<typeof logHandlers>

/** Pages of the export's size, and more of them than fit into any buffer. */
async function readPage(_accountId: AccountId, { limit }: { readonly limit: number }): Promise<LogPageView> {
  pagesRead += 1
  const next = pagesRead < 200 ? 'more' : null
  return { entries: Array.from({ length: limit }, () => ENTRY), next, scannedBackTo: null }
}

beforeEach(() => {
  clock = new HandMovedClock()
  pagesRead = 0
  isAllowed = true
  const apiLog = { readPage, noteExport: async () => {} }
  handlers = logHandlers({ store: { apiLog } as never, publicUrl: 'https://nuncio.example' })
})

/** The body stream of an export. */
async function begin(personId = 'per_anna', accountId = 'acc_acme'): Promise<Readable> {
  let body: Readable | null = null
  const reply = {
    header: () => reply,
    send: (given: Readable) => {
      body = given
      return reply
    },
  }
  const context = { personId, accountId, role: 'developer', now: 0, reply, isStillAuthorized: async () => isAllowed }
  const input = { params: {}, query: { format: 'ndjson', view: 'all' }, body: {} }
  await handlers.exportLog(input as never, context as unknown as AccountRequest)
  assert.ok(body)
  return body
}

async function takeOne(body: Readable): Promise<void> {
  await body[Symbol.asyncIterator]().next()
}

describe('an export of the API log', () => {
  it('G8: holds no more than a buffer and a page of bytes while the client reads nothing', async () => {
    const body = await begin()

    body.read(0)
    await clock.move(1)

    assert.ok(body.readableLength < 2 * 65_536, `${body.readableLength} bytes are held`)
    assert.ok(pagesRead > 0)
    body.destroy()
  })

  it('G8: is refused beyond two of one person and four of one account, until one has ended', async () => {
    const [first] = [await begin('per_anna'), await begin('per_anna')]
    await assert.rejects(begin('per_anna'), { code: 'exports_exceeded' })
    const others = [await begin('per_ben'), await begin('per_ben')]
    await assert.rejects(begin('per_carl'), { code: 'exports_exceeded' })
    await begin('per_carl', 'acc_others')

    first?.destroy()
    await clock.move(1)

    await begin('per_carl')
    await assert.rejects(begin('per_carl'), { code: 'exports_exceeded' })
    for (const body of others) body.destroy()
  })

  it('G8: breaks off when the person may no longer read it', async () => {
    const body = await begin()
    await takeOne(body)
    isAllowed = false

    await assert.rejects(body.toArray(), { code: 'role_too_low' })
  })
})

describe('an export that is under way', () => {
  let world: ConsoleWorld
  let account: AccountId
  let person: Visitor
  let mayReadOn: PromiseWithResolvers<void>

  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole('SQLite')
    account = await world.account('Acme')
    person = await world.visitor(account, 'developer')
    mayReadOn = Promise.withResolvers()
    const read = async (_: AccountId, { cursor }: { readonly cursor: string | null }): Promise<LogPageView> => {
      if (cursor !== null) await mayReadOn.promise
      return { entries: [ENTRY], next: cursor === null ? '1' : cursor === '1' ? '2' : null, scannedBackTo: null }
    }
    Object.assign(world.console.apiLog, { readPage: read })
    return async () => {
      mayReadOn.resolve()
      await close()
    }
  })

  const ask = () => world.fetch('exportLog', { as: person, params: { account }, query: { format: 'ndjson' } })

  it('G8: answers one too many with 429 and one sentence, and gives the place back when a reader leaves', async () => {
    const running = [await ask(), await ask()]
    const asked = { as: person, params: { account }, query: { format: 'ndjson' } }
    const { status, body } = await world.ask('exportLog', asked)
    const checked = await world.ask('checkExport', { as: person, params: { account } })
    assert.deepEqual([status, checked.status], [429, 429])
    for (const view of [body, checked.body])
      assert.match(JSON.stringify(view), /"message":"At most 2 exports of one person and 4 of one account run at once/)

    await running[0]?.body?.cancel()
    mayReadOn.resolve()

    await clock.until(async () => {
      const { status: mayBegin } = await world.ask('checkExport', { as: person, params: { account } })
      if (mayBegin !== 200) return false
      const next = await ask()
      await next.body?.cancel()
      return next.status === 200
    })
    await running[1]?.body?.cancel()
  })

  it.each([
    [
      'role',
      () => world.console.people.changeRole({ accountId: account, personId: person.personId, role: 'viewer' }, 'cli'),
    ],
    ['session', () => world.console.sessions.end(person.personId, person.sessionId)],
    ['membership', () => world.console.people.removeMember(account, person.personId, 'cli')],
  ])('G8: fails when the %s ends during the export, so that a part is not mistaken for the whole', async (_, end) => {
    const response = await ask()
    const reader = response.body?.getReader()
    await reader?.read()

    await end()
    mayReadOn.resolve()

    await assert.rejects(async () => {
      while (!(await reader?.read())?.done);
    }, /terminated/)
    assert.deepEqual(world.faults, [])
  })
})
