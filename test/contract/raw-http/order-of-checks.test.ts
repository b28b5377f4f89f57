import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import type { Token } from '../../../src/core/token/token.ts'
import { createToken } from '../../../src/core/token/token-format.ts'
import { codesOf } from './raw-connection.ts'
import { GOOD_BODY, type HeaderLines, withServer } from './server-under-test.ts'
import { ACCOUNT, FROM } from './stub-intake.ts'

const STRANGER = '14155550999'

/** Faults of a request and their refusals, in the order of the contract. */
interface Flaw {
  readonly code: string
  readonly token?: Partial<Token>
  readonly headers?: HeaderLines
  readonly fields?: object
  readonly full?: string
  readonly isShuttingDown?: true
  readonly isOverRate?: true
}

const FLAWS: readonly Flaw[] = [
  { code: 'header_repeated', headers: { Host: ['a', 'b'] } },
  { code: 'unauthorized', token: { expiresAt: 0 } },
  { code: 'event_missing', token: { events: [] } },
  { code: 'source_not_allowed', token: { sourceRanges: ['10.0.0.0/8'] } },
  { code: 'shutting_down', isShuttingDown: true },
  { code: 'rate_exceeded', isOverRate: true },
  { code: 'account_backlog_full', full: ACCOUNT },
  { code: 'connection_backlog_full', full: FROM },
  { code: 'field_wrong_type', fields: { to: 5 } },
  { code: 'connection_not_allowed', token: { connectionIds: [] } },
  { code: 'connection_not_found', fields: { from: STRANGER } },
]

const PAIRS = FLAWS.flatMap((first, place) => FLAWS.slice(place + 1).map((second) => ({ first, second })))

describe.each(['at once', 'later'])('of two faults, with storage that answers %s', (when) => {
  it.each(PAIRS)('$first.code is reported before $second.code', async ({ first, second }) => {
    // Only a known number can be full, so an unknown number cannot have both faults.
    const from = second.fields && 'from' in second.fields ? STRANGER : FROM
    await withServer({ acceptRatePerAccount: 1 }, async (server) => {
      const both = [first, second]
      const token = server.intake.addToken({ ...first.token, ...second.token })
      if (both.some(({ isOverRate }) => isOverRate)) await server.ask()
      for (const { full } of both) if (full) server.intake.full.add(full === FROM ? from : full)
      server.isAccepting = !both.some(({ isShuttingDown }) => isShuttingDown)
      if (when === 'later') server.intake.answerLookUpsLater()

      const reply = await server.ask({
        // An unknown key changes nothing, but it must be looked up before a limit refuses.
        headers: { 'x-api-key': token, 'Idempotency-Key': 'new', ...first.headers, ...second.headers },
        body: JSON.stringify({ ...JSON.parse(GOOD_BODY), ...first.fields, ...second.fields }),
      })

      assert.deepEqual(codesOf(reply), [first.code])
    })
  })

  it.each<[string, HeaderLines, number]>([
    ['the lack of a token', { 'x-api-key': null }, 401],
    ['an unknown token', { 'x-api-key': createToken(randomBytes) }, 401],
    ['the limit of the account', {}, 429],
    ['the limit of the account, under a new key', { 'Idempotency-Key': 'new' }, 429],
  ])('%s is reported before the body has come', async (_, headers, status) => {
    await withServer({}, async (server) => {
      server.intake.full.add(ACCOUNT)
      if (when === 'later') server.intake.answerLookUpsLater()
      const connection = await server.connect()
      connection.send(server.write({ headers: { ...headers, 'Content-Length': '60000' }, body: '' }))

      assert.equal((await connection.nextReply())?.status, status)
    })
  })
})
