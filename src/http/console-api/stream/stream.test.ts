import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { ConsoleWorld, type Visitor } from '../../../../test/support/console-world/console-world.ts'
import { HandMovedClock } from '../../../../test/support/console-world/hand-moved-clock.ts'
import { ALIVE_EVERY_MS } from '../../../contract/console/stream-events.ts'
import type { AccountId } from '../../../core/ids.ts'

const SECOND_MS = 1000
const CHANGED = 'event: changed\ndata:\n\n'

let world: ConsoleWorld
let clock: HandMovedClock
let account: AccountId
let owner: Visitor
let polls: number
let mark: string
let own: string

beforeEach(async () => {
  world = new ConsoleWorld()
  clock = new HandMovedClock()
  polls = 0
  mark = 'a'
  own = 'a'
  const poll = async () => {
    polls += 1
    if (mark === 'away') throw new Error('the database is away')
    return mark
  }
  const changes = { poll, pollAccount: async () => own }
  const close = await world.openConsole('SQLite', { changes, http: { clock } })
  account = await world.account('Acme')
  owner = await world.visitor(account)
  return close
})

/** An open stream, read event by event. */
async function open(as = owner) {
  const response = await world.fetch('watchAccount', { as, params: { account } })
  assert.equal(response.status, 200, await (response.ok ? '' : response.text()))
  const reader = response.body!.getReader()
  const next = async () => {
    const { value } = await reader.read()
    return value ? Buffer.from(value).toString() : 'END'
  }
  const first = await next()
  return {
    first,
    headers: response.headers,
    next,
    nextBut: async (ignored: string) => {
      let event = await next()
      while (event.startsWith(ignored)) event = event.slice(ignored.length) || (await next())
      return event
    },
    close: () => reader.cancel(),
  }
}

describe('the stream of an account', () => {
  it('reports that something has changed, and not what', async () => {
    const stream = await open()

    await clock.move(SECOND_MS)
    mark = own = 'b'
    await clock.move(SECOND_MS)

    assert.equal(await stream.next(), 'event: changed\ndata:\n\n')
    assert.equal(stream.headers.get('content-type'), 'text/event-stream; charset=utf-8')
    assert.equal(stream.headers.get('cache-control'), 'no-store')
    assert.match(stream.headers.get('x-request-id') ?? '', /./)
    await stream.close()
  })

  it('polls once a second for all streams together, and not without streams', async () => {
    await clock.move(5 * SECOND_MS)
    assert.equal(polls, 0)

    const streams = [await open(), await open()]
    await clock.move(SECOND_MS)
    await clock.move(SECOND_MS)
    assert.equal(polls, 3)

    for (const stream of streams) await stream.close()
    // The next poll is still to come, and finds no stream.
    await clock.until(() => clock.waiting === 1)
    await clock.move(SECOND_MS)
    const before = polls
    await clock.move(5 * SECOND_MS)
    assert.deepEqual([polls, clock.waiting], [before, 0])
  })

  it('continues after the database was unavailable', async () => {
    const stream = await open()
    mark = 'away'
    await clock.move(SECOND_MS)
    await clock.move(SECOND_MS)
    mark = own = 'b'
    await clock.move(SECOND_MS)

    assert.equal(await stream.next(), 'event: changed\ndata:\n\n')
    assert.equal(world.faults.length, 1)
    await stream.close()
  })

  it('shows signs of life, and ends when the session has ended', async () => {
    const stream = await open()

    assert.match(stream.first, /^event: alive$/m)
    await clock.move(ALIVE_EVERY_MS)
    assert.equal(await stream.nextBut(CHANGED), 'event: alive\ndata:\n\n')
    await world.console.sessions.end(owner.personId, owner.sessionId)
    await clock.move(ALIVE_EVERY_MS)

    assert.equal(await stream.nextBut(CHANGED), 'event: signed-out\ndata:\n\n')
    assert.equal(await stream.next(), 'END')
  })

  it('ends when the person no longer belongs to the account', async () => {
    const member = await world.visitor(account, 'viewer')
    const stream = await open(member)

    await world.console.people.removeMember(account, member.personId, 'test')
    await clock.move(ALIVE_EVERY_MS)

    assert.equal(await stream.nextBut(CHANGED), 'event: signed-out\ndata:\n\n')
    assert.equal(await stream.next(), 'END')
  })

  it('ends when the service stops, without keeping it from stopping', async () => {
    const stream = await open()

    await world.stopServer()

    assert.equal(await stream.next(), 'END')
  })

  it('is refused to a person with too many of them, until one is closed', async () => {
    const streams = []
    for (let count = 0; count < 12; count++) streams.push(await open())

    const asked = { as: owner, params: { account } }
    assert.equal(await world.refusal('watchAccount', asked), '429 streams_exceeded')
    const other = await open(await world.visitor(account))
    await streams.pop()?.close()
    await clock.until(async () => {
      const { status, body } = await world.fetch('watchAccount', asked)
      await body?.cancel()
      return status === 200
    })
    for (const stream of [...streams, other]) await stream.close()
  })
})
