import type { ChannelDescription } from '../../core/ports/channel-description.ts'
import { WHATSAPP_WEB } from './name.ts'
import { NEW_RECIPIENTS, writeWhatsAppWebSettings } from './settings.ts'

export const WHATSAPP_WEB_DESCRIPTION: ChannelDescription = {
  name: WHATSAPP_WEB,
  label: 'WhatsApp Web',
  description:
    'Sends as a linked device of a phone, with an unofficial client: Meta may restrict or ban the number. A new one waits 4 to 8 seconds between two messages; its settings change that.',
  warning: {
    sentences: [
      'This is not a product of Meta. It logs in as WhatsApp Web does, and Meta forbids unauthorised tools.',
      'Meta may restrict or ban the number at any time, most of all when it writes to people who never wrote to it.',
      'Use a number of its own for this, begin slowly, and write only to people who expect it.',
    ],
    consent: 'I know that the number may be restricted or banned.',
  },
  abilities: { hasCallbacks: false, hasTemplates: false, isLinkedDevice: true },
  // As a person would write. A number that sends faster is restricted sooner.
  laneDefaults: { leastGapMs: 4_000, gapJitterMs: 4_000 },
  settings: [
    {
      name: 'new_recipients_per_day',
      label: 'New recipients a day',
      help: `To how many people it may write for the first time within 24 hours; messages to others then wait. ${NEW_RECIPIENTS.off}: no limit.`,
      kind: 'text',
      isRequired: false,
      unset: String(NEW_RECIPIENTS.unset),
    },
    {
      name: 'typing',
      label: 'Typing',
      help: 'Before a text comes, the recipient sees “typing” for about half a second.',
      kind: 'switch',
      isRequired: false,
      unset: 'off',
    },
    {
      name: 'presence',
      label: 'Online',
      help: 'Shows the number as online from its first message on, as long as it is connected. Its phone may then show no notifications.',
      kind: 'switch',
      isRequired: false,
      unset: 'off',
    },
  ],
  secretKeys: [],
  writeSettings: writeWhatsAppWebSettings,
}
