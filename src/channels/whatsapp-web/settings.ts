import { Refusal } from '../../core/refusals.ts'

/** A connection of this channel has none: all that it needs comes with linking its phone. */
export function parseWhatsAppWebSettings(given: Readonly<Record<string, string>>): Readonly<Record<string, unknown>> {
  const [name] = Object.keys(given)
  if (name === undefined) return {}
  throw new Refusal('setting_invalid', `WhatsApp Web has no setting ${name}. It has none at all.`, name)
}
