import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, it } from 'vitest'
import { openMigratedDatabase } from '../../../../test/support/administration-world/migrated-database.ts'
import { withClient } from '../../../../test/support/postgres/postgres-server.ts'
import { CheckpointFile } from '../../queries/checkpoint.ts'
import { ConsoleConnections } from './console-store.ts'

let url: string
let connections: ConsoleConnections
let problems: unknown[]
let folder: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nuncio-console-'))
  url = (await openMigratedDatabase()).url
  problems = []
  connections = open(url)
  return async () => {
    await connections.close()
    rmSync(folder, { recursive: true })
  }
})

function open(to: string): ConsoleConnections {
  const file = CheckpointFile.in(folder)
  return new ConsoleConnections({
    url: to,
    file,
    now: () => Date.now(),
    findError: () => null,
    onError: (error) => problems.push(error),
  })
}

describe('the connections of the console', () => {
  it('answer queries, and report that something was committed', async () => {
    const { administration, changes } = connections.store
    const before = await changes.poll()

    const made = await administration.createAccount('Acme', 'test')

    assert.deepEqual(await administration.listAccounts(), [made])
    assert.notEqual(await changes.poll(), before)
  })

  it('are opened on demand, and report why they cannot be', async () => {
    const nowhere = open('postgres://stranger@127.0.0.1:9/nuncio')

    await assert.rejects(nowhere.store.administration.listAccounts(), /127\.0\.0\.1:9/)
    await nowhere.close()
  })

  it('G7: are refused on an old primary, whose changes would be lost', async () => {
    const [found] = await withClient(url, async (client) => {
      const { rows } = await client.query<{ installation: string; id: string }>(
        'select installation, system_identifier::text as id from checkpoint cross join pg_control_system()',
      )
      return rows
    })
    const server = { id: found?.id ?? '', timeline: 2, isSynchronous: true }
    await CheckpointFile.in(folder).write({ installation: found?.installation ?? '', mark: 1, holds: 0, server })

    await assert.rejects(connections.store.administration.createAccount('Acme', 'test'), /it is an old primary/)
  })

  it('do background work until they are closed, which may be done twice', async () => {
    connections.start()
    await connections.store.administration.listAccounts()

    await connections.close()
    await connections.close()

    assert.deepEqual(problems, [])
  })
})
