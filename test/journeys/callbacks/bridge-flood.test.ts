import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, onTestFinished } from 'vitest'
import { findFreePort } from '../../support/black-box/free-port.ts'
import { newSecret, ScriptedAdapter } from '../../support/bridge/scripted-adapter.ts'
import { CliOn } from '../../support/journey/cli-on.ts'
import { type Journey, postTo, startNuncio, temporaryFolder } from '../../support/journey/start-nuncio.ts'

const RECEIPTS = 100_000
const AT_ONCE = 100
const SENDERS = 16
const OWN = 100
const KINDS = ['read', 'delivered', 'sent']
// How many receipts of the other account must be reported during the flood. In one queue behind the flood there would be none, or
// only the first. A higher number would measure the machine: a fast one ends the flood before a fifth receipt.
const LEAST_OF_ANOTHER = 2
// A batch has 25 kB, and 16 batches are under way. The rest is garbage that Node has not collected yet.
const MOST_GROWTH_BYTES = 250e6

describe('a hundred thousand receipts that one account signs at once', () => {
  it('G8: delay neither the receipts nor the messages of another account, and do not fill the memory', async () => {
    const { nuncio, loud, quiet } = await openWorld()
    const own = await Promise.all(Array.from({ length: OWN }, () => send(nuncio, loud)))
    for (const id of own) await nuncio.reaches(id, 'PUBLISHED')
    global.gc?.()
    const memoryBefore = process.memoryUsage().rss

    const flood = startFlood(loud, own)
    let ofAnother = 0
    let memory = memoryBefore
    while (!flood.isOver()) {
      const id = await send(nuncio, quiet)
      await nuncio.reaches(id, 'PUBLISHED')
      assert.equal(await quiet.adapter.postReceipts(quiet.url, [receipt(quiet, id, 'delivered')]), 200)
      await nuncio.reaches(id, 'DELIVERED')
      if (!flood.isOver()) ofAnother += 1
      memory = Math.max(memory, process.memoryUsage().rss)
    }
    const statuses = await flood.ended

    assert.deepEqual([statuses.get(200), statuses.size], [RECEIPTS / AT_ONCE, 1])
    assert.ok(ofAnother >= LEAST_OF_ANOTHER, `only ${ofAnother} messages of another account were delivered meanwhile`)
    assert.ok(memory - memoryBefore <= MOST_GROWTH_BYTES, `the memory grew by ${(memory - memoryBefore) / 1e6} MB`)
    // The order does not matter.
    for (const id of own) await nuncio.reaches(id, 'READ')
  })
})

interface Account {
  readonly number: string
  readonly token: string
  readonly adapter: ScriptedAdapter
  readonly connectionId: string
  /** The URL for its adapter's receipts. */
  readonly url: string
}

async function openWorld() {
  const adapters = [await startAdapter(), await startAdapter()]
  const port = String(await findFreePort())
  const settings = {
    NUNCIO_PORT: port,
    NUNCIO_PUBLIC_URL: `http://127.0.0.1:${port}`,
    NUNCIO_BRIDGE_ORIGINS: adapters.map(({ origin }) => origin).join(','),
  }
  const nuncio = await startNuncio({ settings })
  const cli = new CliOn(nuncio.dataDir, settings)
  const accounts: Account[] = []
  for (const [place, adapter] of adapters.entries())
    accounts.push(await addAccount(cli, nuncio, { adapter, name: `Account ${place}`, number: `1555000910${place}` }))
  const [loud, quiet] = accounts
  if (!loud || !quiet) throw new Error('Two accounts are needed')
  return { nuncio, loud, quiet }
}

async function startAdapter(): Promise<ScriptedAdapter> {
  const adapter = await ScriptedAdapter.start({ secret: newSecret() })
  onTestFinished(() => adapter.close())
  // Only this test reports.
  adapter.reports = false
  return adapter
}

async function addAccount(
  cli: CliOn,
  nuncio: Journey,
  { adapter, name, number }: { readonly adapter: ScriptedAdapter; readonly name: string; readonly number: string },
): Promise<Account> {
  const secretFile = join(temporaryFolder(), 'secret')
  writeFileSync(secretFile, adapter.secret)
  await cli.json('account', 'create', name)
  const set = ['--set', `url=${adapter.origin}`, '--set', `secret=@${secretFile}`]
  await cli.json('connection', 'add', number, '--account', name, '--channel', 'bridge', ...set)
  const { token } = await cli.json<{ token: string }>(
    'token',
    'create',
    '--account',
    name,
    '--name',
    'flood',
    '--expires',
    '7d',
  )
  const connection = (await nuncio.operator.administration.listConnections(null)).find((one) => one.number === number)
  const url = `${nuncio.url}/channels/bridge/${connection?.link?.callbackApp}`
  return { number, token, adapter, connectionId: String(connection?.id), url }
}

async function send(nuncio: Journey, { number, token }: Account): Promise<string> {
  const to = `1555123${String(Math.floor(Math.random() * 10_000)).padStart(4, '0')}`
  const body = { from: number, to, message: { type: 'message', message: 'hello' } }
  const { status, messageId } = await postTo(nuncio.url, token, { body, headers: {} })
  assert.equal(status, 200)
  return messageId
}

function receipt({ connectionId }: Account, messageId: string, kind: string) {
  return { attemptId: `${messageId}_1`, connectionId, kind, at: Date.now(), networkId: null, code: null, words: null }
}

/** Reports about its own messages, each from the last kind of report to the first, and about unknown messages. */
function startFlood(account: Account, own: readonly string[]) {
  const named = KINDS.flatMap((kind) => own.map((id) => receipt(account, id, kind)))
  const batches = Array.from({ length: RECEIPTS / AT_ONCE }, (_, place) => place)
  const statuses = new Map<number, number>()
  let isOver = false
  const sender = async () => {
    for (let place = batches.shift(); place !== undefined; place = batches.shift()) {
      const ours = named.slice(place * AT_ONCE, (place + 1) * AT_ONCE)
      const more = Array.from({ length: AT_ONCE - ours.length }, () => receipt(account, randomUUID(), 'delivered'))
      const status = await account.adapter.postReceipts(account.url, [...ours, ...more])
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  const ended = Promise.all(Array.from({ length: SENDERS }, sender)).then(() => {
    isOver = true
    return statuses
  })
  return { ended, isOver: () => isOver }
}
