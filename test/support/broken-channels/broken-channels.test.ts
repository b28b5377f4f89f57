import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { channelKeepsItsPromises } from '../../conformance/channel/channel.ts'
import type { Altering, ChannelWorld, NewChannelWorld, Suite } from '../../conformance/channel/channel-world.ts'
import { evidenceIsTrue } from '../../conformance/channel/evidence.ts'
import { messagesAreHandedOver } from '../../conformance/channel/handing-over.ts'
import { errorsAreReportedHonestly } from '../../conformance/channel/network-errors.ts'
import { reportsAreApplied } from '../../conformance/channel/reporting.ts'
import { newSandboxWorld } from '../../conformance/channel/sandbox-world.ts'
import { settingsAreKept } from '../../conformance/channel/settings.ts'
import { newWhatsAppCloudWorld } from '../../conformance/channel/whatsapp-cloud-world.ts'
import { BROKEN_CHANNELS, type BrokenChannel, type Part } from './broken-channels.ts'

type SuitePart = (suite: Suite, newWorld: NewChannelWorld) => void

const PARTS: Readonly<Record<Part, SuitePart>> = {
  settings: settingsAreKept,
  'handing over': messagesAreHandedOver,
  trouble: errorsAreReportedHonestly,
  evidence: evidenceIsTrue,
  reporting: reportsAreApplied,
}
const AT_ONCE = 6

describe('the suite for channels', () => {
  it.each(Object.entries(BROKEN_CHANNELS))('fails on a channel that %s', async (_, broken) => {
    const newWorld: NewChannelWorld = () => openWorld(broken)

    const proofs = [PARTS[broken.noticedBy], channelKeepsItsPromises].flatMap((part) => collect(part, newWorld))

    assert.ok(await isNoticed(proofs), `all ${proofs.length} proofs passed`)
  })
})

async function openWorld({ on, channel: broken, world: changed }: BrokenChannel): Promise<ChannelWorld> {
  const alter: Altering = (channel, world) => ({ ...channel, ...broken?.(channel, world) })
  const world = await (on === 'sandbox' ? newSandboxWorld(alter) : newWhatsAppCloudWorld(alter))
  // The same object, because proofs set what its reports come to.
  return Object.assign(world, changed?.(world))
}

interface Proof {
  readonly name: string
  readonly prove: () => Promise<void>
}

function collect(part: SuitePart, newWorld: NewChannelWorld): readonly Proof[] {
  const proofs: Proof[] = []
  part({ it: (name, prove) => proofs.push({ name, prove }) }, newWorld)
  return proofs
}

/** Some at a time, because most of them only wait. */
async function isNoticed(proofs: readonly Proof[]): Promise<boolean> {
  for (let from = 0; from < proofs.length; from += AT_ONCE) {
    const ends = await Promise.allSettled(proofs.slice(from, from + AT_ONCE).map(({ prove }) => prove()))
    if (ends.some(({ status }) => status === 'rejected')) return true
  }
  return false
}
