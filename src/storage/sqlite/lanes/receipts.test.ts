import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { openDatabase } from '../connection/open-database.ts'
import { FIND_BY_NETWORK_ID } from './receipts.ts'

let database: ReturnType<typeof openDatabase>

beforeEach(() => {
  database = openDatabase(':memory:', { create: true })
})

afterEach(() => database.close())

describe('reports on SQLite', () => {
  it('finds a network’s own id by the index on such ids', () => {
    const withIndex = planOf(FIND_BY_NETWORK_ID)
    database.exec('drop index message_network_id')
    const without = planOf(FIND_BY_NETWORK_ID)

    assert.match(withIndex, /^SEARCH message USING INDEX message_network_id \(network_id=\?\)$/)
    assert.match(without, /^SCAN message$/)
  })

  it('keeps no entry in it for ids of other networks', () => {
    const ids = ['sandbox-1', 'wamid.one', null, 'wamid', 'wamidX', 'WAMID.two', '']
    const insert = database.prepare(
      `insert into message (id, account_id, connection_id, body, body_crc, recipient, type, state, accepted_at, network_id)
         values (?, 'a', 'c', '', 0, '', 'message', 'PUBLISHED', 1, ?)`,
    )
    for (const [i, networkId] of ids.entries()) insert.run(`m${i}`, networkId)

    const { entries } = database
      .prepare(
        `select count(*) as entries from message indexed by message_network_id
           where network_id >= 'wamid.' and network_id < 'wamid/'`,
      )
      .get() as { entries: number }

    assert.equal(entries, 1)
  })
})

function planOf(sql: string): string {
  const rows = database.prepare(`explain query plan ${sql}`).all('wamid.one', 'connection') as { detail: string }[]
  return rows.map(({ detail }) => detail).join('; ')
}
