import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import type { AccountId, TokenId } from '../../src/core/ids.ts'
import { createRecipientData } from '../../src/server/wiring/recipient-data.ts'
import { createRecipientEntries } from '../../src/server/wiring/recipient-hash.ts'
import { createBlockLists } from '../../src/storage/queries/recipients/block-lists.ts'
import { logRequest } from '../support/administration-world/log-request.ts'
import { ENGINES } from '../support/administration-world/open-administration-world.ts'
import { ConsoleWorld } from '../support/console-world/console-world.ts'
import { columns, numberIn, plantMarks } from '../support/console-world/plant-marks.ts'
import { textColumns } from '../support/console-world/text-columns.ts'
import { testSecrets } from '../support/secrets.ts'

const PERSON = '491761234567'

let world: ConsoleWorld
let account: AccountId

describe.each(ENGINES)('an erased recipient, on %s', (engine) => {
  beforeEach(async () => {
    world = new ConsoleWorld()
    const close = await world.openConsole(engine)
    account = await world.account()
    return close
  })

  it('is in no column any more, wherever a caller, a network or a webhook receiver had named it', async () => {
    await plantMarks(world, account, await world.connection(account))
    const all = await textColumns(world)
    for (const planted of columns) {
      const [table = '', column = ''] = planted.split('.')
      for (const [of] of all.filter(([, name, meant]) => name === column && meant === table))
        await world.run(`update ${of} set ${column} = replace(${column}, ?, ?)`, numberIn(planted), PERSON)
    }
    await world.run('update notice set message_sequence = (select min(sequence) from message)')
    // The service writes both itself: facts contain its own ids and names, and its worker ends an open attempt.
    await world.run('update timeline set facts = null')
    await world.run(`delete from ${engine === 'SQLite' ? 'open_attempt' : 'lane_attempt'}`)
    assert.ok((await findEverywhere(PERSON)).length > 10)

    await erase()

    assert.deepEqual(await findEverywhere(PERSON), [])
    assert.deepEqual(await findEverywhere('Dear Anna'), [])
  })

  it('is in no session any more, even if the network spells the number differently', async () => {
    const connection = await world.connection(account)
    for (const recipient of ['551187654321', '551187654322'])
      await world.writeSessionKey(connection, `${recipient}.0`, recipient)

    await erase('5511987654321')

    assert.deepEqual(await world.all('select recipient from channel_session_key'), [{ recipient: '551187654322' }])
  })

  it.each([
    ['with invisible characters', `"\\u202a${PERSON}\\u202c"`],
    ['behind an escaped blank', `"\\u00a0${PERSON}"`],
    ['in full-width digits', `"${[...PERSON].map((digit) => String.fromCharCode(0xff10 + Number(digit))).join('')}"`],
    ['with zero-width blanks', `"${PERSON.slice(0, 5)}\u200b${PERSON.slice(5)}"`],
  ])('is found in a refused request that wrote it %s', async (_, written) => {
    await logRequest(world, {
      accountId: account,
      tokenId: 'tok' as TokenId,
      requestId: 'bad',
      body: `{"to":${written},"message":"Dear Anna"}`,
    })

    await erase()

    assert.deepEqual(await findEverywhere('Dear Anna'), [])
  })
})

async function erase(number = PERSON): Promise<void> {
  const entries = createRecipientEntries({
    lists: createBlockLists(world.store),
    openSecrets: async () => testSecrets(),
  })
  const data = createRecipientData({ store: world.store, entries, mediaFolder: '/nowhere' })
  await data.erase({ accountId: account, number, cancelWaiting: true }, 'test')
}

/** The columns that hold this text. */
async function findEverywhere(text: string): Promise<string[]> {
  const found: string[] = []
  for (const [table, column] of await textColumns(world)) {
    const rows = await world.all(`select 1 from ${table} where ${column} like ? limit 1`, `%${text}%`)
    if (rows.length > 0) found.push(`${table}.${column}`)
  }
  return found
}
