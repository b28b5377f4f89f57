import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  type EngineName,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import { type ApiLog, type LogFilter, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import type { Tallies } from '../../../core/ports/console/overview.ts'
import { createApiLog } from './api-log.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const SINCE = NOON - HOUR_MS

let world: AdministrationWorld
let log: ApiLog
let acme: AccountId
let connectionId: ConnectionId

async function open(engine: EngineName) {
  world = new AdministrationWorld()
  const close = await world.open(engine)
  log = createApiLog(world.store)
  acme = await world.account()
  connectionId = await world.connection(acme)
  return close
}

function refused(requestId: string, more: Partial<Parameters<typeof logRequest>[1]> = {}) {
  return logRequest(world, { accountId: acme, tokenId: 'tok_1' as TokenId, requestId, ...more })
}

/** The bars that count anything, with minutes since noon. */
async function count(filter: Partial<LogFilter> = {}, offsetMinutes = 0) {
  const wanted = { filter: { ...NO_FILTER, since: SINCE, until: NOON, ...filter }, offsetMinutes }
  const counts = await log.countByTime(acme, wanted)
  return counts?.bars.flatMap(({ at, ...bar }) => {
    const some = Object.entries(bar).filter(([, number]) => number > 0)
    return some.length === 0 ? [] : [[(at - NOON) / MINUTE_MS, Object.fromEntries(some)] as [number, Partial<Tallies>]]
  })
}

describe.each(ENGINES)('the counts of the API log over time, on %s', (engine) => {
  beforeEach(() => open(engine))

  it('have messages by result and refused requests, without repeats, in steps that fit on a screen', async () => {
    const failed = await world.accept({ connectionId, state: 'FAILED', reason: 'x', acceptedAt: NOON - 30 * MINUTE_MS })
    await world.accept({ connectionId, state: 'READ', acceptedAt: NOON - 30 * MINUTE_MS + 5 })
    await world.accept({ connectionId, acceptedAt: NOON - MINUTE_MS })
    await refused('again', { receivedAt: NOON - MINUTE_MS, messageId: failed.id })
    await refused('bad', { receivedAt: NOON - MINUTE_MS, summed: { requests: 12, since: NOON - 2 * MINUTE_MS } })
    await world.accept({ connectionId, acceptedAt: NOON + 1 })

    assert.deepEqual(await count(), [
      [-30, { failed: 1, published: 1 }],
      [-1, { waiting: 1, refused: 12 }],
    ])
    const counts = await log.countByTime(acme, {
      filter: { ...NO_FILTER, since: SINCE, until: NOON },
      offsetMinutes: 0,
    })
    assert.deepEqual([counts?.barMs, counts?.bars.length, counts?.bars[0]?.at], [MINUTE_MS, 61, SINCE])
    const { accepted, failed: unsent, published, refused: rejected } = counts?.totals ?? {}
    assert.deepEqual([accepted, unsent, published, rejected], [3, 1, 1, 12])
  })

  it('follow the filters, also those that are checked on the bodies of messages', async () => {
    const other = await world.connection(acme, '15550001001')
    await world.accept({ connectionId, state: 'READ', acceptedAt: NOON - MINUTE_MS })
    await world.accept({ connectionId: other, state: 'FAILED', reason: 'x', acceptedAt: NOON - MINUTE_MS })
    const body = JSON.stringify({ from: '15550001000', to: '4917', message: { type: 'image' } })
    await refused('bad', { receivedAt: NOON - MINUTE_MS, status: 403, body })

    assert.deepEqual(await count({ statuses: { from: 400, to: 499 } }), [[-1, { refused: 1 }]])
    assert.deepEqual(await count({ result: 'published' }), [[-1, { published: 1 }]])
    assert.deepEqual(await count({ view: 'failed' }), [[-1, { failed: 1 }]])
    assert.deepEqual(await count({ reason: 'x' }), [[-1, { failed: 1 }]])
    assert.deepEqual(await count({ type: 'image' }), [[-1, { refused: 1 }]])
    assert.deepEqual(await count({ type: 'audio' }), [])
    assert.deepEqual(await count({ since: NOON - 30_000 }), [])
  })

  it('count a text only where it is in what a message says', async () => {
    const said = await world.accept({ connectionId, state: 'READ', acceptedAt: NOON - MINUTE_MS })
    await world.accept({ connectionId, state: 'FAILED', reason: 'x', acceptedAt: NOON - MINUTE_MS })
    const body = JSON.stringify({ to: '15550100000', message: { type: 'message', message: 'For 5550100 and more' } })
    await world.database.rewriteMessage(said.sequence, { body })
    await refused('bad', { receivedAt: NOON - MINUTE_MS, body })

    assert.deepEqual(await count({ text: '5550100' }), [[-1, { published: 1, refused: 1 }]])
  })

  it('have nothing of another account', async () => {
    const stranger = await world.account('Other')
    await world.accept({ connectionId: await world.connection(stranger, '15550001009'), acceptedAt: NOON - MINUTE_MS })

    assert.deepEqual(await count(), [])
  })

  it('begin their days at the midnight of the reader', async () => {
    const days = { since: NOON - 60 * 24 * HOUR_MS, until: NOON }
    const counts = await log.countByTime(acme, { filter: { ...NO_FILTER, ...days }, offsetMinutes: 120 })

    assert.equal(counts?.barMs, 24 * HOUR_MS)
    assert.equal(((counts?.bars[1]?.at ?? 0) + 2 * HOUR_MS) % (24 * HOUR_MS), 0)
  })

  it('are null without a begin', async () => {
    assert.equal(await count({ since: null }), undefined)
  })
})
