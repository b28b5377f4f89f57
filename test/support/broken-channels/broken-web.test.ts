import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { channelKeepsItsPromises } from '../../conformance/channel/channel.ts'
import type { ChannelWorld } from '../../conformance/channel/channel-world.ts'
import { newWhatsAppWebWorld } from '../../conformance/channel/whatsapp-web-world.ts'
import { skipNote } from '../black-box/skip-note.ts'
import { whyNoLibrary } from '../whatsapp-web/library.ts'
import { openSimulator, simulator } from '../whatsapp-web/library-world.ts'
import { BROKEN_WEB, Broken, type BrokenWeb } from './broken-web.ts'
import { proofsOf } from './is-noticed.ts'

const REASON = whyNoLibrary()
// The simulator refuses with a code only, so there is no text that could repeat a secret.
const NOT_APPLICABLE = 'repeats no secret, even if the network does'

describe.skipIf(REASON)(`the suite for channels, on WhatsApp Web against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  it('has a mistake for each of its proofs', () => {
    const titles = proofsOf(channelKeepsItsPromises, () => openBroken({ mistake: 'none' })).map(({ name }) => name)

    assert.deepEqual(
      titles.filter((title) => title !== NOT_APPLICABLE),
      Object.keys(BROKEN_WEB),
    )
  })

  it.each(Object.entries(BROKEN_WEB).map(([title, broken]) => ({ title, ...broken })))(
    'finds a channel that $mistake: $title',
    async ({ title, ...broken }) => {
      const proof = proofsOf(channelKeepsItsPromises, () => openBroken(broken)).find(({ name }) => name === title)

      // Any other failure does not count as noticing the mistake.
      await assert.rejects(
        async () => proof?.prove(),
        (error) => error instanceof assert.AssertionError || error instanceof Broken,
      )

      // The simulator also complains about what a broken channel does wrong.
      simulator.takeComplaints()
    },
  )
})

async function openBroken({ channel: broken, memory, world: changed }: BrokenWeb): Promise<ChannelWorld> {
  const world = await newWhatsAppWebWorld((channel, of) => ({ ...channel, ...broken?.(channel, of) }), memory)
  // Changes the same object, because proofs set what becomes of its reports.
  return Object.assign(world, changed?.(world))
}
