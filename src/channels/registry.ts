import type { ChannelDescription } from '../core/ports/channel-description.ts'
import { Refusal } from '../core/refusals.ts'
import { SANDBOX_DESCRIPTION } from './sandbox/description.ts'
import { parseSandboxSettings } from './sandbox/settings.ts'
import { WHATSAPP_CLOUD_DESCRIPTION } from './whatsapp-cloud/description.ts'
import { WHATSAPP_CLOUD } from './whatsapp-cloud/name.ts'
import { parseWhatsAppCloudSettings } from './whatsapp-cloud/settings.ts'

type ParseSettings = (given: Readonly<Record<string, string>>) => Readonly<Record<string, unknown>>

const PARSERS: Readonly<Record<string, ParseSettings>> = {
  sandbox: (given) => ({ ...parseSandboxSettings(given) }),
  [WHATSAPP_CLOUD]: parseWhatsAppCloudSettings,
}

/** The channels by which a connection can be added, as people choose them. */
export const CHANNELS: readonly ChannelDescription[] = [SANDBOX_DESCRIPTION, WHATSAPP_CLOUD_DESCRIPTION]

/** Checks settings of a connection given as text. Refuses with a sentence that names the setting. */
export function parseChannelSettings(
  channel: string,
  pairs: Readonly<Record<string, string>>,
): Readonly<Record<string, unknown>> {
  const parse = PARSERS[channel]
  if (!parse) throw new Refusal('channel_unknown', `There is no channel “${channel}”.`)
  return parse(pairs)
}
