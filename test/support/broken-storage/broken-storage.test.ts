import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { blockedRecipientsKeepTheirPromises } from '../../conformance/blocked-recipients.ts'
import { channelConnectionsAreFound } from '../../conformance/channel-connections.ts'
import { channelMemoryKeepsItsPromises } from '../../conformance/channel-memory.ts'
import { intakeKeepsItsPromises } from '../../conformance/intake.ts'
import { lanesKeepTheirPromises } from '../../conformance/lanes.ts'
import { mediaQueueKeepsItsPromises } from '../../conformance/media-queue.ts'
import { messageStorageKeepsItsPromises } from '../../conformance/message-storage.ts'
import { receiptsKeepTheirPromises } from '../../conformance/receipts.ts'
import { sendingAgainKeepsItsPromises } from '../../conformance/send-again.ts'
import { sessionsAreStored } from '../../conformance/sessions.ts'
import { newSqliteWorld } from '../../conformance/sqlite-world.ts'
import type { NewWorld, StorageWorld, Suite } from '../../conformance/storage-world.ts'
import { BROKEN_STORAGES } from './broken-storages.ts'

type SuitePart = (suite: Suite, newWorld: NewWorld) => void

/** For each broken port, the parts of the suite that are most likely to notice it. They are tried first, to save time. */
const PARTS: Readonly<Record<string, readonly SuitePart[]>> = {
  intake: [intakeKeepsItsPromises],
  lanes: [receiptsKeepTheirPromises, lanesKeepTheirPromises],
  mediaQueue: [mediaQueueKeepsItsPromises],
  channelState: [channelMemoryKeepsItsPromises],
  channelConnections: [channelConnectionsAreFound],
  sessions: [sessionsAreStored],
  sendAgain: [sendingAgainKeepsItsPromises],
  blocked: [blockedRecipientsKeepTheirPromises],
}

interface Proof {
  readonly name: string
  readonly prove: () => Promise<void>
}

describe('the suite for message storage', () => {
  it.each(Object.entries(BROKEN_STORAGES))('fails on a storage that %s', async (_, broken) => {
    const worlds: StorageWorld[] = []
    const newBrokenWorld: NewWorld = async (options) => {
      const world = await newSqliteWorld(options)
      worlds.push(world)
      return { ...world, ...broken(world) }
    }
    const ports = Object.keys(broken(await newBrokenWorld()))
    const parts = ports.flatMap((port) => PARTS[port] ?? [])
    const proofs = [...parts, messageStorageKeepsItsPromises].flatMap((part) => collect(part, newBrokenWorld))

    const failed = await findFailing(proofs)
    for (const world of worlds) await world.close()

    assert.ok(failed, `all ${proofs.length} proofs passed`)
  })
})

function collect(part: SuitePart, newWorld: NewWorld): readonly Proof[] {
  const proofs: Proof[] = []
  part({ it: (name, prove) => proofs.push({ name, prove }) }, newWorld)
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
