import { describe, it } from 'vitest'
import { skipNote } from '../../support/black-box/skip-note.ts'
import { whyNoLibrary } from '../../support/whatsapp-web/library.ts'
import { openSimulator } from '../../support/whatsapp-web/library-world.ts'
import { channelKeepsItsPromises } from './channel.ts'
import { newWhatsAppWebWorld } from './whatsapp-web-world.ts'

const REASON = whyNoLibrary()

describe.skipIf(REASON)(`WhatsApp Web, against the simulator${skipNote(REASON)}`, () => {
  openSimulator()

  channelKeepsItsPromises({ it }, () => newWhatsAppWebWorld())
})
