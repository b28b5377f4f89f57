import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { messageStorageKeepsItsPromises } from '../../conformance/message-storage.ts'
import { newSqliteWorld } from '../../conformance/sqlite-world.ts'
import type { NewWorld, StorageWorld } from '../../conformance/storage-world.ts'
import { BROKEN_STORAGES } from './broken-storages.ts'

interface Proof {
  readonly name: string
  readonly prove: () => Promise<void>
}

describe('the suite for message storage', () => {
  it.each(Object.entries(BROKEN_STORAGES))('fails on a storage that %s', async (_, broken) => {
    const worlds: StorageWorld[] = []
    const proofs = collect(async (options) => {
      const world = await newSqliteWorld(options)
      worlds.push(world)
      return { ...world, ...broken(world) }
    })

    const failed = await findFailing(proofs)
    for (const world of worlds) await world.close()

    assert.ok(failed, `all ${proofs.length} proofs passed`)
  })
})

function collect(newWorld: NewWorld): readonly Proof[] {
  const proofs: Proof[] = []
  messageStorageKeepsItsPromises({ it: (name, prove) => proofs.push({ name, prove }) }, newWorld)
  return proofs
}

async function findFailing(proofs: readonly Proof[]): Promise<Proof | null> {
  for (const proof of proofs) {
    try {
      await proof.prove()
    } catch {
      return proof
    }
  }
  return null
}
