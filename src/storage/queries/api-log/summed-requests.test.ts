import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
  NOON,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, TokenId } from '../../../core/ids.ts'
import type { RequestView } from '../../../core/ports/administration.ts'
import { NO_FILTER } from '../../../core/ports/console/api-log.ts'
import { createOverview } from '../overview/overview.ts'
import { TallyCounter } from '../overview/tally-counter.ts'
import { readingOf } from '../store.ts'
import { countTokenUse, describeTokenUse } from '../tokens/token-use.ts'
import { createApiLog } from './api-log.ts'

const FIRST = NOON + 10_000
const SINCE = NOON + 20_000
const UNTIL = NOON + 59_999

let world: AdministrationWorld
let acme: AccountId
let shop: TokenId

/** One refused request, and 5,000 more that stand in one row. */
async function refuseTooMuch(): Promise<void> {
  const of = { accountId: acme, tokenId: shop }
  await logRequest(world, { ...of, requestId: 'single', receivedAt: FIRST, body: '{"from":"15550001000"}' })
  const errors = [{ field: null, code: 'rate_exceeded', message: 'Too many.' }]
  const summed = { requests: 5_000, since: SINCE }
  await logRequest(world, { ...of, requestId: 'sum', receivedAt: UNTIL, status: 429, code: 'HC-5', errors, summed })
}

describe.each(ENGINES)('refused requests that are not listed one by one, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    acme = await world.account('Acme')
    shop = (
      await world.administration.createToken(
        {
          accountId: acme,
          name: 'shop',
          events: [],
          expiresAt: NOON + 1_000,
          connectionIds: null,
          sourceRanges: null,
          sha256: Buffer.from('shop'),
          prefix: 'shop',
        },
        'test',
      )
    ).id
    world.now = NOON + 60_000
    await refuseTooMuch()
    return close
  })

  it('G10: are one entry of the operator’s log, which says how many and says nothing of a single one', async () => {
    const filter = { accountId: null, tokenIds: null, connection: null, statuses: null, limit: null }
    const entries: RequestView[] = []
    for await (const entry of world.administration.listRequests(filter)) entries.push(entry)

    assert.deepEqual(
      entries.map(({ requestId, summed }) => [requestId, summed]),
      [
        ['sum', { requests: 5_000, since: SINCE }],
        ['single', null],
      ],
    )
    const { body, remoteAddress, userAgent, tookMs, connection, to, outcome, receivedAt } =
      await world.administration.findRequest('sum', acme)
    assert.deepEqual(
      [body, remoteAddress, userAgent, tookMs, connection, to, outcome, receivedAt],
      [null, null, null, null, null, null, 'refused', UNTIL],
    )
  })

  it('G10: are one entry of the account’s log in the console, found by status, token and its own id', async () => {
    const log = createApiLog(world.store)
    const read = async (filter: object) =>
      (await log.readPage(acme, { filter: { ...NO_FILTER, ...filter }, cursor: null, limit: 50 })).entries

    for (const filter of [
      { view: 'rejected', statuses: { from: 429, to: 429 } },
      { tokenIds: [shop], text: 'RATE_exceeded', isMasked: true },
      { id: 'sum' },
    ]) {
      const [entry, ...others] = await read(filter)
      assert.deepEqual([entry?.id, entry?.requestId, entry?.summed?.requests, others], ['sum', null, 5_000, []])
    }
    const { entry, body } = await log.readEntry(acme, 'sum')
    assert.deepEqual([entry.summed, entry.tookMs, body], [{ requests: 5_000, since: SINCE }, null, null])
    assert.equal((await log.readEntry(acme, 'single')).entry.summed, null)
  })

  it('G8 G10: count for as many as they are in the overview, of the last hour and by the hour', async () => {
    const overview = createOverview(world.store)
    const refused = async (range: '1h' | '24h') =>
      (await overview.readOverview({ accountId: acme, connectionId: null, range, timeZone: null, offsetMinutes: 0 }))
        .totals.refused
    const counter = new TallyCounter(world.store, { wait: async () => {} })
    while (await counter.countNext()) {}

    assert.deepEqual([await refused('1h'), await refused('24h')], [5_001, 5_001])
  })

  it('count for as many as they are in what a token was used for', async () => {
    const wanted = { accountId: acme, tokenId: shop, since: NOON }
    const { callers } = await countTokenUse(readingOf(world.store), wanted)
    const { activity } = await describeTokenUse(readingOf(world.store), wanted)

    assert.deepEqual(
      callers.map(({ address, requests, refused, lastAt }) => [address, requests, refused, lastAt]),
      [
        [null, 5_000, 5_000, SINCE],
        ['203.0.113.9', 1, 1, FIRST],
      ],
    )
    assert.deepEqual(
      new Map(activity.map(({ status, count }) => [status, count])),
      new Map([
        [400, 1],
        [429, 5_000],
      ]),
    )
  })
})
