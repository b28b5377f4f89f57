import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import { WHATSAPP_WEB } from './name.ts'

export const WHATSAPP_WEB_DESCRIPTION: ChannelDescription = {
  name: WHATSAPP_WEB,
  label: 'WhatsApp Web',
  description: 'Sends as a linked device of a phone, with an unofficial client: Meta may restrict or ban the number.',
  abilities: { hasCallbacks: false, hasTemplates: false },
  settings: [],
  secretKeys: [],
  writeSettings: () => ({}),
}
