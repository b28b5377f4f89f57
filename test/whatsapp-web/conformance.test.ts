import { describe, it } from 'vitest'
import { channelKeepsItsPromises } from '../conformance/channel/channel.ts'
import { newWhatsAppWebWorld } from '../conformance/channel/whatsapp-web-world.ts'
import { skipNote } from '../support/black-box/skip-note.ts'
import { whyNoLibrary } from '../support/whatsapp-web/library.ts'
import { openSimulator } from '../support/whatsapp-web/library-world.ts'

const REASON = whyNoLibrary()

describe.skipIf(REASON)(`WhatsApp Web, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  channelKeepsItsPromises({ it }, () => newWhatsAppWebWorld())
})
