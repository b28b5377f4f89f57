import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import { WHATSAPP_WEB } from './name.ts'

export const WHATSAPP_WEB_DESCRIPTION: ChannelDescription = {
  name: WHATSAPP_WEB,
  label: 'WhatsApp Web',
  description: 'Sends as a linked device of a phone, with an unofficial client: Meta may restrict or ban the number.',
  warning: {
    sentences: [
      'This is not a product of Meta. It logs in as WhatsApp Web does, and Meta forbids unauthorised tools.',
      'Meta may restrict or ban the number at any time, most of all when it writes to people who never wrote to it.',
      'Use a number of its own for this, begin slowly, and write only to people who expect it.',
    ],
    consent: 'I know that the number may be restricted or banned.',
  },
  abilities: { hasCallbacks: false, hasTemplates: false, isLinkedDevice: true },
  settings: [],
  secretKeys: [],
  writeSettings: () => ({}),
}
