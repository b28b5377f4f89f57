import assert from 'node:assert/strict'
import { hash, randomBytes } from 'node:crypto'
import { describe, it } from 'vitest'
import type { Settings } from '../../src/config/read-settings.ts'
import type { AccountId } from '../../src/core/ids.ts'
import { createToken, tokenPrefix } from '../../src/core/token/token-format.ts'
import { openConsoleStore } from '../../src/server/wiring/open-console-store.ts'
import { ENGINES, readRows } from '../support/journey/engines.ts'
import { type Journey, postTo, type Reply, SENDER } from '../support/journey/start-nuncio.ts'

const REQUESTS = 60
// Refused because it has no recipient. One megabyte an hour has room for about sixteen of them.
const REFUSED = { from: SENDER, message: { type: 'message', message: 'x'.repeat(63_000) } }

interface Row {
  readonly account_id: string
  readonly body: string | null
  readonly summed_requests: number | null
}

async function rowsOf(nuncio: Journey, accountId: AccountId): Promise<Row[]> {
  const rows = await readRows(nuncio, 'select account_id, body, summed_requests from request order by sequence')
  return (rows as unknown as Row[]).filter(({ account_id }) => account_id === accountId)
}

async function sendTenAtATime(send: () => Promise<Reply>): Promise<Reply[]> {
  const replies: Reply[] = []
  while (replies.length < REQUESTS) replies.push(...(await Promise.all(Array.from({ length: 10 }, send))))
  return replies
}

/** The requests refused within the last hour, as the console shows them. */
async function refusedInOverview({ dataDir, database }: Journey, accountId: AccountId): Promise<number> {
  const opened = await openConsoleStore({ dataDir, database } as Settings, {
    now: () => Date.now(),
    findError: () => null,
    onError: () => {},
  })
  const wanted = { accountId, connectionId: null, range: '1h', timeZone: null, offsetMinutes: 0 } as const
  const { totals } = await opened.store.overview.readOverview(wanted)
  await opened.close()
  return totals.refused
}

async function firstAccount({ operator }: Journey): Promise<AccountId> {
  const [account] = await operator.administration.listAccounts()
  assert.ok(account)
  return account.id
}

async function addAccount({ operator }: Journey): Promise<{ readonly id: AccountId; readonly token: string }> {
  const { id } = await operator.administration.createAccount('Other', 'test')
  const token = createToken(randomBytes)
  await operator.administration.createToken(
    {
      accountId: id,
      name: 'other',
      events: ['messaging.send_message'],
      expiresAt: Date.now() + 86_400_000,
      connectionIds: null,
      sourceRanges: null,
      sha256: hash('sha256', token, 'buffer'),
      prefix: tokenPrefix(token),
    },
    'test',
  )
  return { id, token }
}

describe.each(ENGINES)('an account that is refused without end, on $name', ({ start }) => {
  it('G8 G10: has its requests logged one by one up to its share of the disk, and the rest as a correct count', async () => {
    const nuncio = await start({ settings: { NUNCIO_REFUSED_LOG_MB_PER_HOUR: '1' } })
    const account = await firstAccount(nuncio)

    const replies = await sendTenAtATime(() => nuncio.post(REFUSED))
    const repeats = [await nuncio.text('15551234567', 'Hello', { 'idempotency-key': 'k' })]
    repeats.push(await nuncio.text('15551234567', 'Hello', { 'idempotency-key': 'k' }))

    assert.ok(replies.every(({ status, body }) => status === 400 && body.code === 'HC-2'))
    assert.ok(replies.every(({ body }) => body.data.errors?.[0]?.field === 'to'))
    assert.equal(new Set(replies.map(({ headers }) => headers.get('x-request-id'))).size, REQUESTS)
    await nuncio.stop()
    // A repeat is not refused, so it has its own row as before.
    assert.deepEqual([...new Set(repeats.map(({ status, messageId }) => `${status} ${messageId}`))].length, 1)
    const rows = await rowsOf(nuncio, account)
    const single = rows.filter(({ body }) => body?.includes('xxx'))
    assert.ok(single.length >= 10 && single.length <= 16, `${single.length} were kept one by one`)
    const sums = rows.flatMap(({ summed_requests: requests }) => requests ?? [])
    // One row, or two if a minute ended meanwhile.
    assert.ok(sums.length === 1 || sums.length === 2, `${sums.length} rows stand for the rest`)
    assert.equal(rows.length, single.length + sums.length + 1)
    assert.equal(single.length + sums.reduce((all, requests) => all + requests, 0), REQUESTS)
    assert.equal(await refusedInOverview(nuncio, account), REQUESTS)
  })

  it('G8: takes no room from the log of another account', async () => {
    const nuncio = await start({ settings: { NUNCIO_REFUSED_LOG_MB_PER_HOUR: '1' } })
    const other = await addAccount(nuncio)
    await sendTenAtATime(() => nuncio.post(REFUSED))

    for (let sent = 0; sent < 5; sent++) {
      const { status } = await postTo(nuncio.url, other.token, { body: REFUSED, headers: {} })
      assert.equal(status, 400)
    }

    await nuncio.stop()
    const rows = await rowsOf(nuncio, other.id)
    assert.deepEqual(
      rows.map(({ body }) => body),
      Array.from({ length: 5 }, () => JSON.stringify(REFUSED)),
    )
    assert.equal(await refusedInOverview(nuncio, other.id), 5)
  })

  it('has all requests logged one by one if the operator sets no limit', async () => {
    const nuncio = await start({ settings: { NUNCIO_REFUSED_LOG_MB_PER_HOUR: '0' } })

    const account = await firstAccount(nuncio)

    await sendTenAtATime(() => nuncio.post(REFUSED))

    await nuncio.stop()
    const rows = await rowsOf(nuncio, account)
    assert.deepEqual([rows.length, rows.filter(({ body }) => body === null).length], [REQUESTS, 0])
  })
})
