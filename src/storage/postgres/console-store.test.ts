import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'vitest'
import { openMigratedDatabase } from '../../../test/support/administration-world/migrated-database.ts'
import { ConsoleConnections } from './console-store.ts'

let url: string
let connections: ConsoleConnections
let troubles: unknown[]

beforeEach(async () => {
  url = (await openMigratedDatabase()).url
  troubles = []
  connections = open(url)
  return () => connections.close()
})

function open(to: string): ConsoleConnections {
  return new ConsoleConnections({ url: to, now: () => Date.now(), onTrouble: (error) => troubles.push(error) })
}

describe('the connections of the console', () => {
  it('answer what they are asked, and notice what was committed', async () => {
    const { administration, changes } = connections.store
    const before = await changes.look()

    const made = await administration.createAccount('Acme', 'test')

    assert.deepEqual(await administration.listAccounts(), [made])
    assert.notEqual(await changes.look(), before)
  })

  it('are not made before somebody asks, and say why they cannot be', async () => {
    const nowhere = open('postgres://nobody@127.0.0.1:9/nuncio')

    await assert.rejects(nowhere.store.administration.listAccounts(), /127\.0\.0\.1:9/)
    await nowhere.close()
  })

  it('do what is done in the background until they are closed, which may be done twice', async () => {
    connections.start()
    await connections.store.administration.listAccounts()

    await connections.close()
    await connections.close()

    assert.deepEqual(troubles, [])
  })
})
