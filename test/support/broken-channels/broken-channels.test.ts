import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { channelKeepsItsPromises } from '../../conformance/channel/channel.ts'
import type { Altering, ChannelWorld, NewChannelWorld } from '../../conformance/channel/channel-world.ts'
import { evidenceIsTrue } from '../../conformance/channel/evidence.ts'
import { messagesAreHandedOver } from '../../conformance/channel/handing-over.ts'
import { errorsAreReportedHonestly } from '../../conformance/channel/network-errors.ts'
import { reportsAreApplied } from '../../conformance/channel/reporting.ts'
import { newSandboxWorld } from '../../conformance/channel/sandbox-world.ts'
import { settingsAreKept } from '../../conformance/channel/settings.ts'
import { newWhatsAppCloudWorld } from '../../conformance/channel/whatsapp-cloud-world.ts'
import { BROKEN_CHANNELS, type BrokenChannel, type Part } from './broken-channels.ts'
import { isNoticed, type SuitePart } from './is-noticed.ts'

const PARTS: Readonly<Record<Part, SuitePart<ChannelWorld>>> = {
  settings: settingsAreKept,
  'handing over': messagesAreHandedOver,
  trouble: errorsAreReportedHonestly,
  evidence: evidenceIsTrue,
  reporting: reportsAreApplied,
}

describe('the suite for channels', () => {
  it.each(Object.entries(BROKEN_CHANNELS))('fails on a channel that %s', async (_, broken) => {
    const newWorld: NewChannelWorld = () => openWorld(broken)

    assert.ok(await isNoticed([PARTS[broken.noticedBy], channelKeepsItsPromises], newWorld), 'all proofs passed')
  })
})

async function openWorld({ on, channel: broken, world: changed }: BrokenChannel): Promise<ChannelWorld> {
  const alter: Altering = (channel, world) => ({ ...channel, ...broken?.(channel, world) })
  const world = await (on === 'sandbox' ? newSandboxWorld(alter) : newWhatsAppCloudWorld(alter))
  // Changes the same object, because proofs set what becomes of its reports.
  return Object.assign(world, changed?.(world))
}
