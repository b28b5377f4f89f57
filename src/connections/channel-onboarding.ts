import { WHATSAPP_CLOUD } from '../channels/whatsapp-cloud/name.ts'
import type { Settings } from '../config/read-settings.ts'
import type { ChannelSetUp } from '../core/ports/channel-onboarding.ts'
import type { Clock } from '../core/ports/clock.ts'

/** Opens the client of a network. Loaded only on demand, because it is large. */
export type OpenSetUp = () => Promise<ChannelSetUp>

/** By channel: those that have a network of their own. */
export function createSetUps({
  settings,
  clock,
}: {
  readonly settings: Pick<Settings, 'whatsappCloudUrl'>
  readonly clock: Clock
}): ReadonlyMap<string, OpenSetUp> {
  const openWhatsAppCloud = async () => {
    const { createOnboarding } = await import('../channels/whatsapp-cloud/onboarding.ts')
    return createOnboarding({ baseUrl: settings.whatsappCloudUrl, clock })
  }
  return new Map([[WHATSAPP_CLOUD, openWhatsAppCloud]])
}
