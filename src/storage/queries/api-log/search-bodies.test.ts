import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { logRequest } from '../../../../test/support/administration-world/log-request.ts'
import {
  AdministrationWorld,
  ENGINES,
} from '../../../../test/support/administration-world/open-administration-world.ts'
import type { AccountId, ConnectionId, TokenId } from '../../../core/ids.ts'
import { type LogFilter, NO_FILTER } from '../../../core/ports/console/api-log.ts'
import { createApiLog } from './api-log.ts'

let world: AdministrationWorld
let acme: AccountId
let connectionId: ConnectionId

async function ids(filter: Partial<LogFilter>): Promise<string[]> {
  const wanted = { filter: { ...NO_FILTER, ...filter }, cursor: null, limit: 50 }
  const { entries } = await createApiLog(world.store).readPage(acme, wanted)
  return entries.map(({ id }) => id)
}

function refused(requestId: string, more: Partial<Parameters<typeof logRequest>[1]>) {
  return logRequest(world, { accountId: acme, tokenId: 'tok_1' as TokenId, requestId, ...more })
}

describe.each(ENGINES)('a search in what requests say, on %s', (engine) => {
  beforeEach(async () => {
    world = new AdministrationWorld()
    const close = await world.open(engine)
    acme = await world.account()
    connectionId = await world.connection(acme)
    return close
  })

  it('finds a refused number however its caller wrote it', async () => {
    const errors = [{ field: 'to', code: 'number_malformed', message: 'Write it as 491701234501.' }]
    for (const to of ['+49 170 123-4501', '0049 (0)170 1234501'])
      await refused(to, { status: 400, errors, body: JSON.stringify({ to }) })
    await refused('other', { status: 400, errors, body: JSON.stringify({ to: '+49 171 1234501' }) })

    const found = ['0049 (0)170 1234501', '+49 170 123-4501']
    assert.deepEqual(await ids({ recipient: { digits: '4917012', isWhole: false } }), found)
    assert.deepEqual(await ids({ recipient: { digits: '491701234501', isWhole: true } }), found)
  })

  it('finds a text and the name of a file, however the JSON was written, and nothing in other fields', async () => {
    const say = async (message: string) => {
      const { id, sequence } = await world.accept({ connectionId })
      await world.database.rewriteMessage(sequence, { body: message })
      return id
    }
    const plain = await say(
      '{"from":"1","to":"4917","message":{"type":"message","message":"Grüße: 12.50 \u20ac/Stück"}}',
    )
    const escaped = await say(
      '{"message":{"type":"message","message":"Gr\\u00fc\\u00dfe: 12.50 \\u20ac\\/St\\u00fcck"}}',
    )
    const late = JSON.stringify({ message: { type: 'message', message: `${'a'.repeat(3_000)} the END` } })
    const long = await say(late)
    const media = { name: 'invoice-1042.pdf', url: 'https://files.example/x.pdf', caption: 'Your\ninvoice' }
    const file = await say(JSON.stringify({ message: { type: 'document', media } }))
    await refused('bad', { body: JSON.stringify({ message: { type: 'message', message: 'For 12.50 it is refused' } }) })

    assert.deepEqual(await ids({ text: '12.50' }), ['bad', escaped, plain])
    assert.deepEqual(await ids({ text: 'Grüße: 12.50 €/stück' }), [escaped, plain])
    assert.deepEqual(await ids({ text: 'the end' }), [long])
    assert.deepEqual(await ids({ text: 'INVOICE-1042' }), [file])
    assert.deepEqual(await ids({ text: 'your invoice' }), [file])
    assert.deepEqual(await ids({ text: 'files.example' }), [])
    assert.deepEqual(await ids({ text: '4917' }), [])
    assert.deepEqual(await ids({ text: '12.50', isMasked: true }), [])
  })

  it('finds a text as it is written, with signs that patterns use and letters that grow in lower case', async () => {
    const say = async (message: string) => {
      const { id, sequence } = await world.accept({ connectionId })
      await world.database.rewriteMessage(sequence, { body: JSON.stringify({ message: { message } }) })
      return id
    }
    const [percent, underscore, city] = [await say('Save 50% now'), await say('order_17'), await say('To İstanbul')]
    await say('Save 50 euros now')
    await say('order 17, orders17')

    assert.deepEqual(await ids({ text: '50% now' }), [percent])
    assert.deepEqual(await ids({ text: 'order_17' }), [underscore])
    assert.deepEqual(await ids({ text: 'İstanbul' }), [city])
  })

  it('finds nothing of another account', async () => {
    const other = await world.connection(await world.account('Others'), '15550002000')
    await world.accept({ connectionId: other })
    const { id } = await world.accept({ connectionId })

    assert.deepEqual(await ids({ text: 'hello' }), [id])
  })
})
